package scalar

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/target/hostcpu"
)

var everyType = append([]ir.DType{ir.Bool, ir.F16, ir.BF16, ir.F32, ir.F64}, wholeTypes...)

// inRegister is the type of a vector's lanes: 16-bit floats are f32 there.
func inRegister(t ir.DType) ir.DType {
	if half(t) {
		return ir.F32
	}
	return t
}

// lanesCall is a function applied to vectors, and what it gives.
type lanesCall struct {
	row    *Row
	result ir.DType
	from   []ir.DType
	want   *Vec
}

// addLanes is add for vectors of a register of so many bytes, whose bools are masks as wide as the widest type.
func (p *program) addLanes(c *lanesCall, register int, args []*Vec) {
	widest := inRegister(c.result).Size()
	for _, t := range c.from {
		widest = max(widest, inRegister(t).Size())
	}
	lanes := register / widest
	name := func(t ir.DType) string {
		if t == ir.Bool {
			return fmt.Sprintf("dnn_vec<int%d_t, %d>", 8*widest, lanes)
		}
		return fmt.Sprintf("dnn_vec<%s, %d>", CType(t), lanes)
	}
	access := func(t ir.DType) string {
		if t == ir.Bool {
			return "_bool"
		}
		return ""
	}
	fmt.Fprintf(&p.body, "static void f%d(int n) {\n  for (int i = 0; i < n; i += %d) {\n", p.n, lanes)
	var names []string
	n := (args[0].Len() + 63) / 64 * 64
	for k, t := range c.from {
		names = append(names, string(rune('a'+k)))
		fmt.Fprintf(&p.body, "    const auto %s = dnn_load%s<%s>(reinterpret_cast<const %s*>(in[%d]) + i);\n", names[k], access(t), name(t), CType(t), k)
		data := raw(inRegister(t), args[k])
		for size := inRegister(t).Size(); len(data) < n*size; {
			data = append(data, data[:min(len(data), n*size-len(data))]...)
		}
		p.in.Write(data)
		p.in.Write(make([]byte, n*8-len(data)))
	}
	text := c.row.CLanes(name, c.result, c.from, names)
	fmt.Fprintf(&p.body, "    dnn_store%s(reinterpret_cast<%s*>(out) + i, static_cast<%s>(%s));\n  }\n}\n", access(c.result), CType(c.result), name(c.result), text)
	fmt.Fprintf(&p.calls, "  run(f%d, %d, %d, 8, 8);\n", p.n, n, len(args))
	p.n++
}

// lanesValues are numbers of a type in all pairs, those at which conversions saturate or round among them.
func lanesValues(t ir.DType) (a, b *Vec) {
	if !t.IsFloat() {
		x, y := wholeValues(t)
		return &Vec{I64: x}, &Vec{I64: y}
	}
	fs := []float64{0, math.Copysign(0, -1), 0.5, 1.5, 2.5, -0.5, -1.5, 3.7, -3.7, 127.5, 128, -128.5, -129, 254.5, 255.5, 256, 32767.5, -32768.5, 65534.5, 65535.5, 70000,
		0x1p23 + 1, 0x1p31, -0x1p31, 0x1p31 - 128, -0x1p31 - 256, 0x1p32, 0x1p32 - 256, 0x1p63, -0x1p63, 0x1p64, 1e30, math.Inf(1), math.Inf(-1), math.NaN()}
	a, b = NewVec(t, len(fs)*len(fs)), NewVec(t, len(fs)*len(fs))
	for i := range fs {
		for j := range fs {
			x, y := Value(t, fs[i]), Value(t, fs[j])
			if a.F64 != nil {
				a.F64[i*len(fs)+j], b.F64[i*len(fs)+j] = x, y
			} else {
				a.F32[i*len(fs)+j], b.F32[i*len(fs)+j] = float32(x), float32(y)
			}
		}
	}
	return a, b
}

// lanesCalls are all functions that have vectors beside those of f32 alone, which other tests compare, for all types.
func lanesCalls(t *testing.T) (calls []*lanesCall, args [][]*Vec) {
	add := func(row *Row, result ir.DType, from []ir.DType, in ...*Vec) {
		if Check(row.Name, result, from) != nil || !row.Vectors(result, from) {
			return
		}
		f, err := Bind(row.Name, result, from)
		require.NoError(t, err)
		want := NewVec(result, in[0].Len())
		f(want, in)
		calls, args = append(calls, &lanesCall{row, result, from, want}), append(args, in)
	}
	for _, row := range Table() {
		for _, of := range everyType {
			a, b := lanesValues(of)
			switch {
			case row.Result == Quantized:
				x, _ := lanesValues(ir.F32)
				zero := NewVec(of, x.Len())
				for i := range zero.I64 {
					zero.I64[i] = int64(i*37 + i/7)
				}
				if fix := Narrow(of); fix != nil {
					fix(zero)
				}
				add(row, of, []ir.DType{ir.F32, of}, x, zero)
			case row.converts():
				for _, to := range everyType {
					add(row, to, []ir.DType{of}, a)
				}
			case row.Result == Choice:
				is := NewVec(ir.Bool, a.Len())
				for i := range is.I64 {
					is.I64[i] = int64(i*i/3) & 1
				}
				add(row, of, []ir.DType{ir.Bool, of, of}, is, a, b)
			case row.Result == Predicate:
				add(row, ir.Bool, []ir.DType{of, of}[:row.Arity], []*Vec{a, b}[:row.Arity]...)
			case ClassOf(of) != ClassF32 && row.Name != "fma": // whose product may stay unrounded
				add(row, of, []ir.DType{of, of, of}[:row.Arity], []*Vec{a, b, a}[:row.Arity]...)
			}
		}
	}
	return calls, args
}

// TestHeaderAgreesOnLanes: vectors of all types compute in C++ what numbers do in Go, by registers of 16 bytes, and of 32 where the processor has them.
func TestHeaderAgreesOnLanes(t *testing.T) {
	calls, args := lanesCalls(t)
	require.Greater(t, len(calls), 300)
	for _, c := range []struct {
		register int
		flags    []string
		features []string
	}{{16, nil, nil}, {32, []string{"-mavx2", "-mfma"}, []string{"avx2"}}, {64, []string{"-mavx512f", "-mavx512bw", "-mavx512vl", "-mavx512dq"}, []string{"avx512bw"}}} {
		if !hostcpu.Has(c.features...) {
			continue
		}
		t.Run(fmt.Sprintf("%d bytes", c.register), func(t *testing.T) {
			var p program
			for i, call := range calls {
				p.addLanes(call, c.register, args[i])
			}
			check := func(t *testing.T, res []byte) { checkLanes(t, calls, args, res) }
			p.run(t, check, append(c.flags, "-ffp-contract=fast")...)
			if c.register == 16 {
				p.runArm(t, check, "-ffp-contract=fast")
			}
		})
	}
}

func checkLanes(t *testing.T, calls []*lanesCall, args [][]*Vec, res []byte) {
	at := 0
	for k, c := range calls {
		out := inRegister(c.result)
		want := raw(out, c.want)
		size, n := out.Size(), c.want.Len()
		for i := range n {
			w, g := want[i*size:(i+1)*size], res[at+i*size:at+(i+1)*size]
			if !bytes.Equal(w, g) && !(isNaN(out, w) && isNaN(out, g)) {
				t.Fatalf("%s of %v to %s: element %d, of %v: C++ gives %x, Go %x", c.row.Name, c.from, c.result, i, element(args[k], i), g, w)
			}
		}
		at += (n + 63) / 64 * 64 * 8
	}
	require.Len(t, res, at)
}

func isNaN(t ir.DType, b []byte) bool {
	switch t {
	case ir.F32:
		x := math.Float32frombits(binary.LittleEndian.Uint32(b))
		return x != x
	case ir.F64:
		return math.IsNaN(math.Float64frombits(binary.LittleEndian.Uint64(b)))
	}
	return false
}

func element(args []*Vec, i int) (out []any) {
	for _, v := range args {
		switch {
		case v.F32 != nil:
			out = append(out, v.F32[i])
		case v.F64 != nil:
			out = append(out, v.F64[i])
		default:
			out = append(out, v.I64[i])
		}
	}
	return out
}

package scalar

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/target/hostcpu"
)

// halfFormats are the types of 16 bits.
var halfFormats = []struct {
	name   string
	widen  func(uint16) float32
	narrow func(float32) uint16
	most   float32
}{{"f16", F16ToF32, F32ToF16, 65504}, {"bf16", BF16ToF32, F32ToBF16, 0xffp120}}

// halfFloats are numbers that narrow in every way, a multiple of 16 of them: each of 16 bits, what lies between it and the
// next, around the middle, and NaNs of all payloads.
func halfFloats() []float32 {
	var out []float32
	for h := range 1 << 16 {
		b := math.Float32bits(F16ToF32(uint16(h)))
		for _, d := range []uint32{0, 1, 0xfff, 0x1000, 0x1001, 0x1fff} {
			out = append(out, math.Float32frombits(b+d))
		}
		for _, d := range []uint32{0, 1, 0x7fff, 0x8000, 0x8001, 0xffff} {
			out = append(out, math.Float32frombits(uint32(h)<<16+d))
		}
	}
	return out
}

// addHalves adds the conversions of all numbers in vectors of so many lanes, and gives the bits that they should make.
func addHalves(p *program, lanes int) (want []byte) {
	all := make([]uint16, 1<<16)
	for h := range all {
		all[h] = uint16(h)
	}
	floats, v := halfFloats(), "float"
	if lanes > 1 {
		v = fmt.Sprintf("v%d", lanes)
	}
	add := func(in, out int, expr string, data any) {
		fmt.Fprintf(&p.body, "static void f%d(int n) {\n  for (int i = 0; i < n; i += %d) %s;\n}\n", p.n, lanes, expr)
		fmt.Fprintf(&p.calls, "  run(f%d, %d, 1, %d, %d);\n", p.n, binary.Size(data)/in, in, out)
		p.n++
		_ = binary.Write(&p.in, binary.LittleEndian, data)
	}
	for _, f := range halfFormats {
		add(2, 4, fmt.Sprintf("dnn_store((float*)out + i, dnn_load_%s<%s>((const uint16_t*)in[0] + i))", f.name, v), all)
		for _, h := range all {
			want = binary.LittleEndian.AppendUint32(want, math.Float32bits(f.widen(h)))
		}
		add(4, 2, fmt.Sprintf("dnn_store_%s((uint16_t*)out + i, dnn_load<%s>((const float*)in[0] + i))", f.name, v), floats)
		for _, x := range floats {
			want = binary.LittleEndian.AppendUint16(want, f.narrow(x))
		}
		add(4, 4, fmt.Sprintf("dnn_store((float*)out + i, dnn_math::round_%s(dnn_load<%s>((const float*)in[0] + i)))", f.name, v), floats)
		for _, x := range floats {
			want = binary.LittleEndian.AppendUint32(want, math.Float32bits(f.widen(f.narrow(x))))
		}
		if p.flush && f.name == "bf16" {
			continue // its denormal numbers are those of f32, which arithmetic takes for zeros
		}
		add(4, 2, fmt.Sprintf("dnn_store_%s((uint16_t*)out + i, dnn_math::held_%s(dnn_load<%s>((const float*)in[0] + i)))", f.name, f.name, v), floats)
		for _, x := range floats {
			want = binary.LittleEndian.AppendUint16(want, f.narrow(held(x, f.most)))
		}
	}
	return want
}

// TestHeaderAgreesOnHalves: all numbers of 16 bits, and floats that become them, NaNs with their payloads too, one by one and in
// vectors, by the processor's instruction and by integers, and where denormal numbers are zeros.
func TestHeaderAgreesOnHalves(t *testing.T) {
	for _, c := range []struct {
		flags    string
		features []string
	}{{"", nil}, {"-mavx2", []string{"avx2"}}, {"-mavx2 -mf16c", []string{"f16c"}}, {"-mavx2 -mf16c -mfma", []string{"f16c"}}, {"-mavx512f -mavx512vl -mavx512bw -mf16c", []string{"avx512bw"}}} {
		for _, lanes := range []int{1, 4, 8, 16} {
			for _, flush := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s/%d lanes/flush %v", c.flags, lanes, flush), func(t *testing.T) {
					if !hostcpu.Has(c.features...) {
						t.Skipf("this processor has no %s", c.features)
					}
					p := &program{flush: flush}
					want := addHalves(p, lanes)
					check := func(t *testing.T, res []byte) { sameHalves(t, want, res) }
					p.run(t, check, strings.Fields(c.flags)...)
					if c.flags == "" && !flush {
						p.runArm(t, check)
					}
				})
			}
		}
	}
}

// sameHalves compares bytes; the first one that differs is reported.
func sameHalves(t *testing.T, want, got []byte) {
	require.Equal(t, len(want), len(got))
	for i := range want {
		if want[i] != got[i] {
			at := i &^ 3
			t.Fatalf("byte %d: % x, want % x", at, got[at:at+4], want[at:at+4])
		}
	}
}

// TestNarrow: what lies beyond a type's range ends at its greatest number, and roundings are a cast's; infinities and NaNs stay.
func TestNarrow(t *testing.T) {
	inf := float32(math.Inf(1))
	for _, f := range halfFormats {
		to := map[string]ir.DType{"f16": ir.F16, "bf16": ir.BF16}[f.name]
		narrow, err := Bind("narrow", to, []ir.DType{ir.F32})
		require.NoError(t, err)
		in := []float32{f.most, -f.most, math.Nextafter32(f.most, inf), math.MaxFloat32, -math.MaxFloat32, inf, -inf, float32(math.NaN()), 1.2345678, 0, float32(math.Copysign(0, -1))}
		want := []float32{f.most, -f.most, f.most, f.most, -f.most, inf, -inf, float32(math.NaN()), f.widen(f.narrow(1.2345678)), 0, float32(math.Copysign(0, -1))}
		got := NewVec(to, len(in))
		narrow(got, []*Vec{{F32: in}})
		assert.Equal(t, fmt.Sprint(want), fmt.Sprint(got.F32), f.name)
	}
	for _, c := range []struct{ from, to ir.DType }{{ir.F64, ir.F16}, {ir.F32, ir.F32}, {ir.I32, ir.F16}, {ir.F32, ir.U16}} {
		assert.ErrorContains(t, Check("narrow", c.to, []ir.DType{c.from}), "makes f16 or bf16 of f32")
	}
	assert.NoError(t, Check("narrow", ir.BF16, []ir.DType{ir.F32}))
}

// TestHalvesOfNaN: what is no number keeps its sign and its payload as far as there is room, and is quiet.
func TestHalvesOfNaN(t *testing.T) {
	for h, want := range map[uint16]uint32{0x7c01: 0x7fc02000, 0x7e00: 0x7fc00000, 0xfdff: 0xffffe000, 0x7fff: 0x7fffe000} {
		assert.Equal(t, fmt.Sprintf("%08x", want), fmt.Sprintf("%08x", math.Float32bits(F16ToF32(h))), "%04x", h)
	}
	for x, want := range map[uint32]uint16{0x7f800001: 0x7e00, 0x7fc02000: 0x7e01, 0xffffffff: 0xffff, 0x7f802000: 0x7e01} {
		assert.Equal(t, fmt.Sprintf("%04x", want), fmt.Sprintf("%04x", F32ToF16(math.Float32frombits(x))), "%08x", x)
	}
}

package follow

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/graph/interp"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/scalar"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/fkw"
	"rules_dnn/gen/kernel/layout/layouttest"
	"rules_dnn/gen/kernel/loop"
	"rules_dnn/gen/kernel/sched"
	"rules_dnn/gen/kernel/sched/schedtest"
	"rules_dnn/gen/program/run"
	"rules_dnn/gen/target/chips/chipstest"
)

// tensor is random elements of a value's type and shape.
func tensor(v *ir.Value, r *rand.Rand) *ir.Tensor {
	dims, _ := v.Static()
	x := ir.NewTensor(v.Type, dims...)
	for i := range x.Len() {
		switch v.Type {
		case ir.F32:
			binary.LittleEndian.PutUint32(x.Data[4*i:], math.Float32bits(r.Float32()*2-1))
		case ir.F16:
			binary.LittleEndian.PutUint16(x.Data[2*i:], scalar.F32ToF16(r.Float32()*2-1))
		default:
			x.Data[i] = byte(r.IntN(256))
		}
	}
	return x
}

// TestKernel: what a kernel computes that follows a schedule is, in the interpreter of loops, what the reference stages say.
func TestKernel(t *testing.T) {
	for _, x := range append(schedtest.Examples(), schedtest.Halves()) {
		t.Run(x.Name, func(t *testing.T) { computes(t, x) })
	}
}

func computes(t *testing.T, x schedtest.Example) {
	s, err := sched.Parse(x.Schedule)
	require.NoError(t, err)
	require.Equal(t, x.Schedule, s.String())
	k, err := Kernel(x.Work, s, chipstest.Target(t, x.Chip))
	require.NoError(t, err)
	agrees(t, x, s, k)
}

// agrees runs the kernel of an example's schedule, or of one that is equal to it up to where values lie.
func agrees(t *testing.T, x schedtest.Example, s *sched.Schedule, k *loop.Kernel) {
	t.Helper()
	require.NoError(t, loop.Verify(k))
	r := rand.New(rand.NewPCG(1, 2))
	var in []*ir.Tensor
	var buffers [][]byte
	for _, v := range x.Work.Operands {
		in = append(in, tensor(v, r))
	}
	if x.Prepare != nil {
		x.Prepare(in)
	}
	for i := range x.Work.Operands {
		buffers = append(buffers, stores(t, s.Place(x.Work, te.Source{N: i}), in[i])...)
	}
	operands := len(buffers)
	last := x.Work.Stages[len(x.Work.Stages)-1]
	dims, ok := last.Shape().Static()
	require.True(t, ok)
	for _, b := range append(k.Buffers[len(buffers):], k.Scratch...) {
		n, ok := b.Size.Const()
		require.True(t, ok)
		buffers = append(buffers, make([]byte, n*int64(b.Type.Size())))
	}
	c, err := run.Compile(k, nil)
	require.NoError(t, err)
	require.NoError(t, c.Start(buffers...))
	require.NoError(t, c.Run(0, c.Tasks()), "%s\n%s", x.Name, s)
	require.NoError(t, c.Finish())
	want, err := interp.Eval(x.Reference, []te.Source{{Stage: true, N: len(x.Reference) - 1}}, in, nil)
	require.NoError(t, err)

	got := unpacked(t, s.Place(x.Work, te.Source{Stage: true, N: len(x.Work.Stages) - 1}), last.Results[0].DType(), dims, buffers[operands])
	for i := range want[0].Len() {
		require.InDelta(t, schedtest.Float(want[0], int(i)), schedtest.Float(got, int(i)), x.Error, "element %d\n%s", i, s)
	}
}

// TestParts: values lie in any parts of their axes, of which those of operands and of what stages keep may be padded, and the kernel computes
// the same; where a tile cannot read them so, or a loop does not reach as far, the schedule is refused.
func TestParts(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	ran := map[string]int{}
	for range 12 {
		for _, x := range schedtest.Examples() {
			s, err := sched.Parse(x.Schedule)
			require.NoError(t, err)
			relaid(r, x.Work, s)
			back, err := sched.Parse(s.String())
			require.NoError(t, err)
			require.Equal(t, s, back)
			k, err := Kernel(x.Work, s, chipstest.Target(t, x.Chip))
			if err != nil {
				continue
			}
			agrees(t, x, s, k)
			ran[x.Name]++
		}
	}
	require.GreaterOrEqual(t, len(ran), len(schedtest.Examples())/2, "%v", ran)
}

// relaid gives some values of a schedule random parts: not those that are encoded, and results that are not padded.
func relaid(r *rand.Rand, w *sched.Work, s *sched.Schedule) {
	var all []te.Source
	for i := range w.Operands {
		all = append(all, te.Source{N: i})
	}
	for i := range w.Stages {
		all = append(all, te.Source{Stage: true, N: i})
	}
	for _, of := range all {
		v := s.Place(w, of)
		if r.IntN(2) == 0 || v.Encoding != "" || v.Fold.Points > 0 || len(v.Parts) == 0 {
			continue
		}
		rank := 0
		for _, x := range v.Parts {
			rank = max(rank, x.Axis+1)
		}
		v.Parts = layouttest.Parts(r, rank)
		if of.Stage && s.Stages[of.N].At == sched.Root && v.Parts.HasPads() {
			continue
		}
		s.Values = slices.DeleteFunc(s.Values, func(x sched.Value) bool { return x.Of == of })
		s.Values = append(s.Values, v)
	}
}

// stores is what a kernel reads of an operand: one buffer, or the arrays of an encoding.
func stores(t *testing.T, v sched.Value, x *ir.Tensor) [][]byte {
	t.Helper()
	if v.Encoding == "" {
		return [][]byte{packed(t, v, x)}
	}
	e, err := fkw.Parse(v.Encoding)
	require.NoError(t, err)
	one, shape := *e, x.Shape
	if one.Planes = 0; e.Planes > 0 {
		shape = shape[1:]
	}
	var out [][]byte
	for plane := range max(e.Planes, 1) {
		size := int64(len(x.Data)) / max(e.Planes, 1)
		w, err := fkw.Encode(&ir.Tensor{Type: x.Type, Shape: shape, Data: x.Data[plane*size : (plane+1)*size]}, one)
		require.NoError(t, err)
		w.Planes = e.Planes
		require.Equal(t, v.Encoding, w.String())
		for i, a := range w.Arrays() {
			data, err := a.Bytes()
			require.NoError(t, err)
			switch {
			case plane == 0:
				out = append(out, data)
			case i == len(out)-1: // weights of each plane, one after the other
				out[i] = append(out[i], data...)
			default:
				require.Equal(t, out[i], data, "planes keep the same")
			}
		}
	}
	return out
}

// packed is a tensor as it is stored.
func packed(t *testing.T, v sched.Value, x *ir.Tensor) []byte {
	t.Helper()
	n, ok := v.Parts.Elements(ir.Dims(x.Shape...)).Const()
	require.True(t, ok)
	out := make([]byte, n*int64(x.Type.Size()))
	each(v, x.Shape, n, func(stored, logical int64) {
		copy(out[stored*int64(x.Type.Size()):], x.Data[logical*int64(x.Type.Size()):(logical+1)*int64(x.Type.Size())])
	})
	return out
}

func unpacked(t *testing.T, v sched.Value, typ ir.DType, dims []int64, data []byte) *ir.Tensor {
	t.Helper()
	out := ir.NewTensor(typ, dims...)
	size := int64(typ.Size())
	padding := slices.Clone(data)
	each(v, dims, int64(len(data))/size, func(stored, logical int64) {
		copy(out.Data[logical*size:], data[stored*size:(stored+1)*size])
		clear(padding[stored*size : (stored+1)*size])
	})
	require.Equal(t, make([]byte, len(data)), padding, "what storage adds is zero: %s", v.Parts)
	return out
}

// each calls f for the elements of a value that is stored in n.
func each(v sched.Value, dims []int64, n int64, f func(stored, logical int64)) {
	extents := v.Parts.Extents(dims)
	for i := range n {
		logical, inside := int64(0), true
		for d, x := range v.Parts.At(extents, i) {
			logical, inside = logical*dims[d]+x, inside && x < dims[d]
		}
		if inside {
			f(i, logical)
		}
	}
}

// TestTiles: iterations that are written out share what they read, also in code without conditions, tiles put their sums where these are
// stored, and quotients are computed once.
func TestTiles(t *testing.T) {
	kernel := func(x schedtest.Example) string {
		s, err := sched.Parse(x.Schedule)
		require.NoError(t, err)
		k, err := Kernel(x.Work, s, chipstest.Target(t, x.Chip))
		require.NoError(t, err)
		return k.String()
	}
	text := kernel(schedtest.Tiles())
	require.Equal(t, 2*3+2, strings.Count(text, "a0["), "3 loads with conditions, 3 without, and those of whole and of other blocks of results\n%s", text)
	require.Equal(t, 2*3, strings.Count(text, "claim scratch["), text)
	require.Equal(t, 2*2, strings.Count(text, " // ")+strings.Count(text, " % "), text)
	require.Contains(t, text, "if 0 <= 4*column - 1 < 7 and 0 <= 3*row + 1 < 6 {")
	require.Contains(t, text, "for v < min(-3*ty + 7, 3)")
	require.Contains(t, kernel(schedtest.Winograd()), "tile m0 scratch_1[")
}

// TestPruned: the code of kernels that are stored has no branch, and dense loops of no kernel.
func TestPruned(t *testing.T) {
	x := schedtest.Pruned()
	s, err := sched.Parse(x.Schedule)
	require.NoError(t, err)
	k, err := Kernel(x.Work, s, chipstest.Target(t, x.Chip))
	require.NoError(t, err)
	text := k.String()
	require.NotContains(t, text, "if ")
	require.Equal(t, 3*4, strings.Count(text, "a1_values["), "each of 4 taps of 3 patterns, for all pixels")
}

// TestAnew: what a stage placed between loops of tasks stores is made by the first of the tasks that find it.
func TestAnew(t *testing.T) {
	x := schedtest.PrunedDealt()
	s, err := sched.Parse(x.Schedule)
	require.NoError(t, err)
	k, err := Kernel(x.Work, s, chipstest.Target(t, x.Chip))
	require.NoError(t, err)
	at := slices.IndexFunc(k.Body, func(s loop.Stmt) bool {
		_, is := s.(loop.If)
		return is
	})
	require.GreaterOrEqual(t, at, 0, k.String())
	first, is := k.Body[at].(loop.If).Anew()
	require.True(t, is)
	assert.Equal(t, []string{"e"}, first)
	assert.Equal(t, map[*loop.Buffer][]string{k.Scratch[0]: {"e"}}, k.KeepsScratch())
	assert.Contains(t, k.String(), "if 0 <= min(", k.String())
	parsed, err := loop.Parse(k.String())
	require.NoError(t, err)
	assert.Equal(t, k.String(), parsed.String())
}

// TestClaims: before a tile sums, the line of each row that it stores is asked for.
func TestClaims(t *testing.T) {
	x := schedtest.PrunedPixels()
	for text, want := range map[string][]string{x.Schedule: {"claim 3", "tile", "claim 2", "tile"}, strings.ReplaceAll(x.Schedule, ", claims", ""): {"tile", "tile"}} {
		s, err := sched.Parse(text)
		require.NoError(t, err)
		k, err := Kernel(x.Work, s, chipstest.Target(t, x.Chip))
		require.NoError(t, err)
		var order []string
		loop.Walk(k.Body, func(s loop.Stmt) bool {
			switch x := s.(type) {
			case loop.Tile:
				order = append(order, "tile")
			case loop.For:
				if len(x.Body) == 1 && x.Var == "r" {
					if c, ok := x.Body[0].(loop.Claim); ok {
						order = append(order, "claim "+x.Extent.String())
						assert.Equal(t, "y0", c.Buf.Name)
					}
				}
			}
			return true
		})
		assert.Equal(t, want, order)
	}
}

// TestTogether: the rows that lie together in storage are stored one right after the other, for each register of lanes.
func TestTogether(t *testing.T) {
	x := schedtest.Columns()
	s, err := sched.Parse(x.Schedule)
	require.NoError(t, err)
	k, err := Kernel(x.Work, s, chipstest.Target(t, x.Chip))
	require.NoError(t, err)
	var order []string
	loop.Walk(k.Body, func(s loop.Stmt) bool {
		if x, ok := s.(loop.For); ok && len(order) < 5 {
			order = append(order, x.Var)
		}
		return true
	})
	assert.Equal(t, []string{"p", "u", "c", "r", "l"}, order)
}

// TestAligned: where an instruction loads whole groups and registers, they lie at multiples of their size, or all registers anywhere.
func TestAligned(t *testing.T) {
	x := schedtest.Dots()
	of := func(x schedtest.Example, index string) error {
		e, err := sym.Parse(index)
		require.NoError(t, err)
		w, st := *x.Work, *x.Work.Stages[0]
		w.Operands = []*ir.Value{{Type: ir.I8, Shape: ir.Dims(100), HasShape: true}, w.Operands[1]}
		mul := st.Values[0].(te.Call)
		st.Values = []te.Expr{te.Fn(ir.I32, "mul", te.Fn(ir.I32, "cast", te.Operand(0, ir.I8, e)), mul.Args[1])}
		w.Stages = []*te.Stage{&st}
		s, err := sched.Parse(x.Schedule)
		require.NoError(t, err)
		_, err = Tiles(&w, s, chipstest.Target(t, x.Chip))
		return err
	}
	assert.NoError(t, of(x, "12*i0 + r0"))
	assert.ErrorContains(t, of(x, "13*i0 + r0"), "instruction vrmpy_i8u8 loads groups of X at multiples of 4")
	assert.ErrorContains(t, of(x, "12*i0 + r0 + 2"), "instruction vrmpy_i8u8 loads groups of X at multiples of 4")
}

package fuse

import (
	"fmt"
	"math"
	"math/rand"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/fusion/block"
	"rules_dnn/gen/graph/shape"
	"rules_dnn/gen/ir/irtest"
)

func blocks(t *testing.T, text string) *block.Graph {
	t.Helper()
	g := irtest.Parse(t, text)
	require.NoError(t, shape.Infer(g))
	b, err := block.Form(g)
	require.NoError(t, err)
	return b
}

// summary names each block by its operators, and its placed stages by their number and depth.
func summary(g *block.Graph) []string {
	var out []string
	for _, b := range g.Blocks {
		s := strings.Join(b.Ops, "+")
		if len(b.Placed) > 0 {
			s += fmt.Sprintf(" (%d placed at %d)", len(b.Placed), b.Depth)
		}
		out = append(out, s)
	}
	return out
}

func TestRun(t *testing.T) {
	always := func(*block.Block) float64 { return 0 }
	for _, c := range []struct {
		name, text string
		want       []string
	}{
		{"what follows a convolution joins it", `
  input %x f32[1, 8, 6, 6]
  input %w f32[8, 8, 3, 3]
  input %r f32[1, 8, 4, 4]
  %c ?[*] = Conv.11(%x, %w)
  %a ?[*] = Add.14(%c, %r)
  %y ?[*] = Relu.14(%a)
  output %y
`, []string{"Conv+Add+Relu"}},
		{"of two products that are quantized and added, each gives bytes", `
  input %x u8[4, 8]
  input %w i8[8, 8]
  input %v i8[8, 8]
  input %s f32[]
  input %z u8[]
  %a ?[*] = MatMulInteger.10(%x, %w)
  %af ?[*] = DequantizeLinear.13(%a, %s)
  %aq ?[*] = QuantizeLinear.13(%af, %s, %z)
  %b ?[*] = MatMulInteger.10(%x, %v)
  %bf ?[*] = DequantizeLinear.13(%b, %s)
  %bq ?[*] = QuantizeLinear.13(%bf, %s, %z)
  %ad ?[*] = DequantizeLinear.13(%aq, %s, %z)
  %bd ?[*] = DequantizeLinear.13(%bq, %s, %z)
  %c ?[*] = Add.14(%ad, %bd)
  %d ?[*] = Relu.14(%c)
  %y ?[*] = QuantizeLinear.13(%d, %s, %z)
  output %y
`, []string{"MatMulInteger+DequantizeLinear+QuantizeLinear", "MatMulInteger+DequantizeLinear+QuantizeLinear+DequantizeLinear+DequantizeLinear+Add+Relu+QuantizeLinear"}},
		{"sums that are quantized are in memory as bytes, whoever reads them", `
  input %x u8[4, 8]
  input %w i8[8, 8]
  input %s f32[]
  input %z u8[]
  %a ?[*] = MatMulInteger.10(%x, %w)
  %f ?[*] = DequantizeLinear.13(%a, %s)
  %q ?[*] = QuantizeLinear.13(%f, %s, %z)
  %y ?[*] = Transpose.13(%q) {perm = [1, 0]}
  output %y
`, []string{"MatMulInteger+DequantizeLinear+QuantizeLinear", "Transpose"}},
		{"convolutions stay apart", `
  input %x f32[1, 8, 6, 6]
  input %w f32[8, 8, 1, 1]
  %c ?[*] = Conv.11(%x, %w)
  %y ?[*] = Conv.11(%c, %w)
  output %y
`, []string{"Conv", "Conv"}},
		{"what is read twice is computed once", `
  input %x f32[1, 8, 6, 6]
  input %w f32[8, 8, 1, 1]
  %r ?[*] = Relu.14(%x)
  %c ?[*] = Conv.11(%r, %w)
  %y ?[*] = Add.14(%c, %r)
  output %y
`, []string{"Relu", "Conv+Add"}},
		{"a convolution reads an element for each of its channels", `
  input %x f32[1, 8, 6, 6]
  input %w f32[8, 8, 1, 1]
  %r ?[*] = Exp.13(%x)
  %y ?[*] = Conv.11(%r, %w)
  output %y
`, []string{"Exp", "Conv"}},
		{"windows that overlap read twice", `
  input %x f32[1, 8, 7, 7]
  %r ?[*] = Exp.13(%x)
  %y ?[*] = MaxPool.12(%r) {kernel_shape = [3, 3], strides = [2, 2]}
  output %y
`, []string{"Exp", "MaxPool"}},
		{"windows that do not, do not", `
  input %x f32[1, 8, 8, 8]
  %r ?[*] = Exp.13(%x)
  %y ?[*] = MaxPool.12(%r) {kernel_shape = [2, 2], strides = [2, 2]}
  output %y
`, []string{"Exp+MaxPool"}},
		{"an output stays", `
  input %x f32[4]
  %a ?[*] = Relu.14(%x)
  %y ?[*] = Neg.13(%a)
  output %a
  output %y
`, []string{"Relu", "Neg"}},
		{"moves join what they move to", `
  input %x f32[4, 6]
  const @to i64[2] = {3, 8}
  %a ?[*] = Transpose.13(%x) {perm = [1, 0]}
  %b ?[*] = Reshape.14(%a, @to)
  %y ?[*] = Neg.13(%b)
  output %y
`, []string{"Transpose+Reshape+Neg"}},
		{"softmax is a chain by rows", `
  symbol N 1..64
  input %x f32[N, 5, 9]
  %y ?[*] = Softmax.13(%x) {axis = -1}
  output %y
`, []string{"Softmax (3 placed at 2)"}},
		{"along another axis it has fewer common axes", `
  input %x f32[2, 5, 9]
  %y ?[*] = Softmax.13(%x) {axis = 1}
  output %y
`, []string{"Softmax (3 placed at 1)"}},
		{"along all axes it has none", `
  input %x f32[5, 9]
  %y ?[*] = Softmax.11(%x) {axis = 0}
  output %y
`, []string{"Softmax", "Softmax", "Softmax", "Softmax"}},
		{"a normalisation written out is a chain too", `
  input %x f32[2, 5, 9]
  const @e f32[] = {1e-05}
  %m ?[*] = ReduceMean.13(%x) {axes = [-1]}
  %d ?[*] = Sub.14(%x, %m)
  %q ?[*] = Mul.14(%d, %d)
  %v ?[*] = ReduceMean.13(%q) {axes = [-1]}
  %w ?[*] = Add.14(%v, @e)
  %s ?[*] = Sqrt.13(%w)
  %y ?[*] = Div.14(%d, %s)
  output %y
`, []string{"ReduceMean+Sub+Mul+ReduceMean+Add+Sqrt+Div (3 placed at 2)"}},
		{"matrix products keep their own kernels", `
  input %x f32[2, 5, 9]
  input %w f32[9, 9]
  %a ?[*] = MatMul.13(%x, %w)
  %y ?[*] = Softmax.13(%a) {axis = -1}
  output %y
`, []string{"MatMul", "Softmax (3 placed at 2)"}},
		{"an expansion does not join a product", `
  input %x f32[1, 9]
  input %w f32[9, 9]
  const @to i64[2] = {5, 9}
  %a ?[*] = Expand.13(%x, @to)
  %y ?[*] = MatMul.13(%a, %w)
  output %y
`, []string{"Expand", "MatMul"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := blocks(t, c.text)
			Run(g, Options{Estimator: prices{alone: always}})
			require.NoError(t, g.Verify())
			assert.Equal(t, c.want, summary(g))
		})
	}
}

// TestEstimatesDecide fuses what the table leaves open only where the estimates say that it pays.
func TestEstimatesDecide(t *testing.T) {
	text := `
  input %x f32[4, 6]
  const @axes i64[1] = {1}
  %a ?[*] = Transpose.13(%x) {perm = [1, 0]}
  %y ?[*] = ReduceSum.13(%a, @axes)
  output %y
`
	apart := []string{"Transpose", "ReduceSum"}
	for _, c := range []struct {
		name    string
		latency func(*block.Block) float64
		want    []string
	}{
		{"no estimates", nil, apart},
		{"together is slower", func(b *block.Block) float64 { return float64(len(b.Ops) * len(b.Ops) * len(b.Ops)) }, apart},
		{"together is faster", func(*block.Block) float64 { return 1 }, []string{"Transpose+ReduceSum"}},
		{"together has no estimate", func(b *block.Block) float64 { return map[int]float64{1: 1, 2: math.Inf(1)}[len(b.Ops)] }, apart},
		{"nothing has an estimate", func(*block.Block) float64 { return math.Inf(1) }, apart},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := blocks(t, text)
			Run(g, Options{Off: off("chains"), Estimator: prices{alone: c.latency}})
			require.NoError(t, g.Verify())
			assert.Equal(t, c.want, summary(g))
		})
	}
}

// TestEstimatesAreKept: a block is estimated once, however many others it is compared with.
func TestEstimatesAreKept(t *testing.T) {
	const moves = 40
	var text strings.Builder
	text.WriteString("  input %v0 f32[2, 3, 4]\n  const @s i64[3] = {4, 2, 3}\n")
	for i := range moves {
		node := "Transpose.13(%%v%d) {perm = [2, 0, 1]}"
		if i%2 == 1 {
			node = "Reshape.14(%%v%d, @s)"
		}
		fmt.Fprintf(&text, "  %%v%d ?[*] = "+node+"\n", i+1, i)
	}
	fmt.Fprintf(&text, "  output %%v%d\n", moves)
	estimated := map[*block.Block]int{}
	Run(blocks(t, text.String()), Options{Estimator: prices{alone: func(b *block.Block) float64 {
		estimated[b]++
		return 1
	}}})
	require.GreaterOrEqual(t, len(estimated), moves, "blocks and what they become together")
	for b, n := range estimated {
		assert.Equal(t, 1, n, b.Label())
	}
}

// TestSizeIsBounded squares a value again and again: composed, its expression would double each time.
func TestSizeIsBounded(t *testing.T) {
	var text strings.Builder
	text.WriteString("  input %v0 f32[4]\n")
	for i := range 40 {
		fmt.Fprintf(&text, "  %%v%d ?[*] = Mul.14(%%v%d, %%v%d)\n", i+1, i, i)
	}
	text.WriteString("  output %v40\n")
	g := blocks(t, text.String())
	Run(g, Options{})
	require.NoError(t, g.Verify())
	for _, b := range g.Blocks {
		assert.LessOrEqual(t, knownOf(b).size, maxSize)
	}
	assert.Less(t, len(g.Blocks), 40)
}

// TestNodesAreBounded: a long chain becomes blocks of as many nodes as one may stand for, whose size is known without a walk.
func TestNodesAreBounded(t *testing.T) {
	var text strings.Builder
	text.WriteString("  input %v0 f32[4]\n")
	for i := range 2*maxNodes + 1 {
		fmt.Fprintf(&text, "  %%v%d ?[*] = Neg.13(%%v%d)\n", i+1, i)
	}
	fmt.Fprintf(&text, "  output %%v%d\n", 2*maxNodes+1)
	g := blocks(t, text.String())
	f := newFuser(g, Options{Estimator: Unpriced{}}, 0)
	f.compose()
	require.Len(t, g.Blocks, 3)
	for _, b := range g.Blocks {
		assert.LessOrEqual(t, len(b.Origins), maxNodes)
		assert.Equal(t, knownOf(b).size, f.known(b).size)
	}
}

// TestDepthIsBounded: chains of more choices than may stand in each other become blocks of at most so many, and not of far fewer.
func TestDepthIsBounded(t *testing.T) {
	const links = 2*maxDepth + maxDepth/2
	for name, link := range map[string]func(i int) string{
		"pieces that are joined": func(i int) string { return fmt.Sprintf("Concat.13(%%v%d, %%x) {axis = 0}", i) },
		"pads of other values":   func(i int) string { return fmt.Sprintf("Pad.11(%%v%d, @one, @c%d)", i, i%2) },
	} {
		t.Run(name, func(t *testing.T) {
			text := "  input %v0 f32[1]\n  input %x f32[1]\n  const @one i64[2] = {0, 1}\n  const @c0 f32[] = {0}\n  const @c1 f32[] = {1}\n"
			for i := range links {
				text += fmt.Sprintf("  %%v%d ?[*] = %s\n", i+1, link(i))
			}
			g := blocks(t, text+fmt.Sprintf("  output %%v%d\n", links))
			Run(g, Options{})
			require.NoError(t, g.Verify())
			deepest := 0
			for _, b := range g.Blocks {
				for _, e := range exprs(b) {
					deepest = max(deepest, depthOf(e))
				}
			}
			assert.LessOrEqual(t, deepest, maxDepth)
			assert.Greater(t, deepest, maxDepth/2)
		})
	}
}

// TestBindingsAreBounded joins many rows that are looked up: in one block, the kernel would find the last one's
// place under the conditions of all others, for each element.
func TestBindingsAreBounded(t *testing.T) {
	const parts = 60
	var text, list strings.Builder
	for i := range parts {
		fmt.Fprintf(&text, "  symbol N%d 1..64\n", i)
		fmt.Fprintf(&list, ", %%g%d", i)
	}
	text.WriteString("  input %x f32[100, 4]\n")
	for i := range parts {
		fmt.Fprintf(&text, "  input %%i%d i64[N%d]\n", i, i)
	}
	for i := range parts {
		fmt.Fprintf(&text, "  %%g%d ?[*] = Gather.13(%%x, %%i%d)\n", i, i)
	}
	fmt.Fprintf(&text, "  %%y ?[*] = Concat.13(%s) {axis = 0}\n  output %%y\n", list.String()[2:])
	g := blocks(t, text.String())
	Run(g, Options{})
	require.NoError(t, g.Verify())
	last := g.Blocks[len(g.Blocks)-1]
	assert.Contains(t, last.Ops, "Concat")
	assert.Contains(t, last.Ops, "Gather")
	assert.LessOrEqual(t, knownOf(last).size, maxSize)
	assert.Greater(t, len(g.Blocks), parts/2)
	assert.Less(t, len(g.Blocks), parts)
}

// TestResumes: fusion that goes on where it was makes what fusion makes that tries all pairs again after each.
func TestResumes(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	kinds := []string{
		"Add.14(%%v%d, %%v%d)", "Mul.14(%%v%d, %%v%d)", "Relu.14(%%v%d)", "Softmax.13(%%v%d)", "Neg.13(%%v%d)", "MatMul.13(%%v%d, @w)", "Transpose.13(%%v%d) {perm = [1, 0]}",
	}
	fused := 0
	for range 60 {
		text := "  input %v0 f32[6, 6]\n  const @w f32[6, 6] = {" + strings.Repeat("1, ", 35) + "1}\n"
		for i := range 30 {
			kind := kinds[r.Intn(len(kinds))]
			near := func() any { return max(0, i-r.Intn(4)) }
			args := []any{near(), near()}[:strings.Count(kind, "%d")]
			text += fmt.Sprintf("  %%v%d ?[*] = ", i+1) + fmt.Sprintf(kind, args...) + "\n"
		}
		text += "  output %v30\n  output %v20\n"
		o := Options{Estimator: prices{alone: func(b *block.Block) float64 { return float64(len(b.Ops) * len(b.Ops)) }}}
		g, again := blocks(t, text), blocks(t, text)
		before := len(g.Blocks)
		Run(g, o)
		require.NoError(t, g.Verify())
		f := newFuser(again, o, 0)
		f.index()
		for f.once() {
			f.compact()
			next := newFuser(again, o, f.fused)
			next.index()
			next.trials = f.trials
			f = next
		}
		require.Equal(t, again.String(), g.String(), text)
		fused += before - len(g.Blocks)
	}
	assert.Greater(t, fused, 300)
}

// TestLargeNeighbours: what comes after a block of as many expressions as one may have becomes one, too, and is not compared with the first again with each
// node that it takes in.
func TestLargeNeighbours(t *testing.T) {
	allocated := func(terms int) uint64 {
		var text strings.Builder
		text.WriteString("  input %x f32[4]\n  %y ?[*] = Einsum.12(%x" + strings.Repeat(", %x", terms-1) + ") {equation = \"i" + strings.Repeat(",i", terms-1) + "->i\"}\n  output %y\n")
		g := blocks(t, text.String())
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		Run(g, Options{})
		runtime.ReadMemStats(&after)
		assert.LessOrEqual(t, len(g.Blocks), 2*terms/maxSize+1)
		return after.TotalAlloc - before.TotalAlloc
	}
	one, three := allocated(maxSize/2), allocated(3*maxSize/2)
	assert.Less(t, three, 5*one, "%d KB for one block, %d for three", one>>10, three>>10)
}

package sel

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/fusion/block"
	"rules_dnn/gen/fusion/fuse"
	"rules_dnn/gen/graph/shape"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/irtest"
	"rules_dnn/gen/kernel/layout"
	"rules_dnn/gen/propose/lower"
	"rules_dnn/gen/target/chips/chipstest"
)

var all = Options{Options: lower.Options{Contractions: true, Windows: true, Vectors: true}, Layouts: true}

// filters is a constant of the shape, in the text form.
func filters(name string, shape ...int) string {
	n := 1
	dims := make([]string, len(shape))
	for i, d := range shape {
		n *= d
		dims[i] = fmt.Sprint(d)
	}
	values := strings.TrimSuffix(strings.Repeat("0.5, ", n), ", ")
	return fmt.Sprintf("  const @%s f32[%s] = {%s}\n", name, strings.Join(dims, ", "), values)
}

func fused(t *testing.T, text string) *block.Graph {
	t.Helper()
	g := irtest.Parse(t, text)
	require.NoError(t, shape.Infer(g))
	b, err := block.Form(g)
	require.NoError(t, err)
	fuse.Run(b, fuse.Options{})
	require.NoError(t, b.Verify())
	return b
}

// steps names each block's operators, anchor and result layout.
func steps(g *block.Graph, c *Choice) []string {
	var out []string
	for _, b := range g.Blocks {
		out = append(out, fmt.Sprintf("%s: %s, %s", strings.Join(b.Ops, "+"), c.Kernels[b].Kernel.Anchor, c.Layouts[b.Results[0]]))
	}
	return out
}

func TestRun(t *testing.T) {
	convs := filters("s", 32, 3, 3, 3) + filters("a", 32, 32, 3, 3) + filters("b", 32, 32, 1, 1)
	for _, c := range []struct {
		name, text string
		options    Options
		want       []string
	}{
		{"one blocked layout flows through convolutions", convs + `
  input %x f32[1, 3, 14, 14]
  %p f32[1, 32, 14, 14] = Conv.11(%x, @s) {pads = [1, 1, 1, 1]}
  %q f32[1, 32, 14, 14] = Relu.14(%p)
  %r f32[1, 32, 14, 14] = Conv.11(%q, @b)
  %m f32[1, 32, 7, 7] = MaxPool.12(%r) {kernel_shape = [2, 2], strides = [2, 2]}
  %s f32[1, 32, 7, 7] = Conv.11(%m, @b)
  %y f32[1, 32, 1, 1] = GlobalAveragePool.1(%s)
  output %y
`, all, []string{
			"Conv+Relu: contraction, axis1/16", "Conv: contraction, axis1/16", "MaxPool: generic, axis1/16",
			"Conv: contraction, axis1/16", "GlobalAveragePool: generic, row-major",
		}},
		{"a chain's result of channels alone is row-major", `
  input %x f32[1, 32, 4, 4]
  %p f32[1, 32, 4, 4] = Softmax.13(%x) {axis = 1}
  %y f32[1, 32, 1, 1] = GlobalAveragePool.1(%p)
  output %y
`, all, []string{"Softmax+GlobalAveragePool: row chain, row-major"}},
		{"an update's result of channels alone is row-major", `
  input %x f32[1, 32, 1, 1]
  input %i i64[2, 4]
  input %u f32[2]
  %y f32[1, 32, 1, 1] = ScatterND.16(%x, %i, %u)
  output %y
`, all, []string{"ScatterND: update, row-major"}},
		{"without layouts all is row-major", convs + `
  input %x f32[1, 32, 14, 14]
  %p f32[1, 32, 14, 14] = Conv.11(%x, @b)
  %y f32[1, 32, 14, 14] = Conv.11(%p, @b)
  output %y
`, Options{Options: lower.Options{Contractions: true, Windows: true, Vectors: true}}, []string{"Conv: contraction, row-major", "Conv: contraction, row-major"}},
		{"results of two types, whole blocks of channels", `
  input %x f32[2, 16, 3]
  %y f32[2, 16, 1], %i i64[2, 16, 1] = MaxPool.12(%x) {kernel_shape = [3]}
  output %y
  output %i
`, all, []string{"Layout: generic, axis1/16", "MaxPool: generic, row-major"}},
		{"without anchors all is generic", convs + `
  input %x f32[1, 32, 14, 14]
  %p f32[1, 32, 14, 14] = Conv.11(%x, @b)
  %y f32[1, 32, 14, 14] = Conv.11(%p, @b)
  output %y
`, Options{Options: lower.Options{Vectors: true}}, []string{"Conv: generic, row-major", "Conv: generic, row-major"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := fused(t, c.text)
			choice, err := Run(g, chipstest.Target(t, "x86_64_v4"), c.options)
			require.NoError(t, err)
			require.NoError(t, g.Verify())
			assert.True(t, choice.Solution.Optimal(), choice.Solution.String())
			assert.Equal(t, c.want, steps(g, choice))
			checkLayouts(t, g, choice)
		})
	}
}

// checkLayouts reports that interfaces are row-major, and that every kernel was lowered for the
// layouts that its values have.
func checkLayouts(t *testing.T, g *block.Graph, c *Choice) {
	t.Helper()
	require.Len(t, c.Kernels, len(g.Blocks))
	for _, v := range append(append([]*ir.Value{}, g.Inputs...), g.Outputs...) {
		assert.Equal(t, layout.RowMajor, c.Layouts[v], v.Name)
	}
	for _, b := range g.Blocks {
		buffers := c.Kernels[b].Kernel.Buffers
		args, err := c.Kernels[b].Args()
		require.NoError(t, err)
		require.Len(t, args, len(buffers))
		for k, v := range args {
			assert.Equal(t, c.Layouts[v].Elements(v.Shape), buffers[k].Size, "%s of block %s", v.Name, b.Label())
		}
	}
}

// TestStoredTwice: an output that convolutions read is stored in blocks, too, where these gain more than the copy takes: two of them,
// not one. Either way the other choice is dearer.
func TestStoredTwice(t *testing.T) {
	rows, blocks, twice := "Conv: contraction, row-major", "Conv: contraction, axis1/16", "Layout: generic, row-major"
	for _, c := range []struct {
		readers int
		want    []string
	}{
		{1, []string{rows, "Conv: product, row-major"}},
		{2, []string{blocks, twice, rows, rows}},
	} {
		// Of few pixels and filters a padded copy takes about what an output's copy does.
		text, outputs := filters("w", 32, 32, 1, 1)+"  input %x f32[1, 32, 3, 3]\n  %p ?[*] = Conv.11(%x, @w)\n", "  output %p\n"
		for i := range c.readers {
			text += filters(fmt.Sprint("w", i), 4, 32, 1, 3) + fmt.Sprintf("  %%y%d ?[*] = Conv.11(%%p, @w%d) {pads = [0, 1, 0, 1]}\n", i, i)
			outputs += fmt.Sprintf("  output %%y%d\n", i)
		}
		// solve chooses with the candidates of those that read p in a layout that is allowed.
		solve := func(allowed func(layout.Layout) bool) (*block.Graph, *Choice) {
			g := fused(t, text+outputs)
			s := newSelector(g, chipstest.Target(t, "x86_64_v4"), all)
			require.NoError(t, s.enumerate())
			for i, b := range g.Blocks[1:] {
				s.candidates[i+1] = slices.DeleteFunc(s.candidates[i+1], func(k candidate) bool { return !allowed(k.layout(b.Operands[0])) })
			}
			choice, err := s.solve()
			require.NoError(t, err)
			return g, choice
		}
		g, choice := solve(func(layout.Layout) bool { return true })
		assert.Equal(t, c.want, steps(g, choice))
		checkLayouts(t, g, choice)
		_, once := solve(func(l layout.Layout) bool { return l == layout.RowMajor })
		_, copied := solve(func(l layout.Layout) bool { return l != layout.RowMajor })
		assert.Zero(t, once.Conversions)
		assert.Positive(t, copied.Conversions)
		if c.readers == 1 {
			assert.Equal(t, once.Solution.Cost, choice.Solution.Cost)
			assert.Greater(t, copied.Solution.Cost, choice.Solution.Cost)
		} else {
			assert.Equal(t, copied.Solution.Cost, choice.Solution.Cost)
			assert.Greater(t, once.Solution.Cost, choice.Solution.Cost)
		}
	}
}

// TestConversion makes the blocked layout so much better for one consumer that a value is
// stored in both: a block copies it.
func TestConversion(t *testing.T) {
	text := filters("s", 32, 3, 3, 3) + filters("a", 32, 32, 3, 3) + `
  input %x f32[1, 3, 28, 28]
  %p f32[1, 32, 28, 28] = Conv.11(%x, @s) {pads = [1, 1, 1, 1]}
  %y f32[1, 32, 28, 28] = Conv.11(%p, @a) {pads = [1, 1, 1, 1]}
  output %p
  output %y
`
	g := fused(t, text)
	s := newSelector(g, chipstest.Target(t, "x86_64_v4"), all)
	require.NoError(t, s.enumerate())
	for i, b := range g.Blocks { // only blocked operands and results, where there is a choice
		for k, c := range s.candidates[i] {
			if c.layout(b.Results[0]) == layout.RowMajor || i == 1 && c.layout(b.Operands[0]) == layout.RowMajor {
				s.candidates[i][k].cycles = 1e12
			}
		}
	}
	c, err := s.solve()
	require.NoError(t, err)
	assert.Equal(t, []string{
		"Conv: contraction, axis1/16", "Layout: generic, row-major",
		"Conv: contraction, axis1/16", "Layout: generic, row-major",
	}, steps(g, c))
	assert.Equal(t, 2, c.Conversions)
	assert.NoError(t, g.Verify())
	checkLayouts(t, g, c)
	assert.Equal(t, "p (axis1/16)", g.Blocks[0].Results[0].Name)
	assert.Same(t, g.Blocks[0].Results[0], g.Blocks[2].Operands[0], "the second convolution reads the blocked one")
}

// TestDeterminism runs twice.
func TestDeterminism(t *testing.T) {
	text := filters("a", 32, 32, 3, 3) + `
  symbol N 1..8
  input %x f32[N, 32, 14, 14]
  %p f32[N, 32, 14, 14] = Conv.11(%x, @a) {pads = [1, 1, 1, 1]}
  %y f32[N, 32, 14, 14] = Conv.11(%p, @a) {pads = [1, 1, 1, 1]}
  %z f32[N, 32, 14, 14] = Add.14(%p, %y)
  output %z
`
	var first []string
	for range 3 {
		g := fused(t, text)
		c, err := Run(g, chipstest.Target(t, "arm64"), all)
		require.NoError(t, err)
		require.NoError(t, g.Verify())
		got := append(steps(g, c), c.Solution.String())
		if first == nil {
			first = got
		}
		assert.Equal(t, first, got)
	}
}

package block

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/ir/sym"
)

// TestSweepShapeChains: the shape operand of a Reshape decides its loops and is not read by them.
func TestSweepShapeChains(t *testing.T) {
	b := form(t, `
		symbol N 1..64
		const @zero i64[1] = {0}
		const @rest i64[1] = {-1}
		input %x f32[N, 8, 4, 4]
		%s ?[*] = Shape.15(%x)
		%n ?[*] = Gather.13(%s, @zero)
		%to ?[*] = Concat.13(%n, @rest) {axis = 0}
		%y ?[*] = Reshape.14(%x, %to)
		output %y
		`)
	require.Len(t, b.Blocks, 4)
	Sweep(b)
	require.NoError(t, b.Verify())
	assert.Equal(t, text(`
			block 0: Reshape (result "y")
			  for i0 < N
			  for i1 < 128
			  reads "x" f32[N 8 4 4]
			  gives "y" f32[N 128]
			`), b.String())
}

// TestSweepKeeps: what an output depends on stays, and so does a block of which one of two
// results is read.
func TestSweepKeeps(t *testing.T) {
	b := form(t, `
		input %x f32[1, 1, 4]
		%y ?[*], %i ?[*] = MaxPool.12(%x) {kernel_shape = [2]}
		%d ?[*] = Neg.13(%i)
		%e ?[*] = Neg.13(%d)
		%z ?[*] = Abs.13(%y)
		output %z
		`)
	require.Len(t, b.Blocks, 4)
	Sweep(b)
	require.NoError(t, b.Verify())
	require.Len(t, b.Blocks, 2)
	assert.Equal(t, "MaxPool (result \"y\")", b.Blocks[0].Label())
	assert.Len(t, b.Blocks[0].Results, 2)
}

// TestSweepOperands: operands that no load reads go, and the loads of the others follow.
func TestSweepOperands(t *testing.T) {
	b := form(t, "input %x f32[3]\nconst @c f32[3] = {1, 2, 3}\nconst @d f32[3] = {4, 5, 6}\n%y ?[*] = Add.14(%x, @d)\noutput %y\n")
	block := b.Blocks[0]
	unread := block.Operands[1]
	block.Operands = append(block.Operands[:1:1], b.Inputs[0], unread) // nothing reads number 1 now
	block.Stage = block.Stage.MapExprs(renumber(map[int]int{1: 2}))
	require.NoError(t, b.Verify())
	Sweep(b)
	require.NoError(t, b.Verify())
	require.Len(t, block.Operands, 2)
	assert.Equal(t, "d", block.Operands[1].Name)
	assert.NoError(t, b.Verify())
}

// TestSweepAll: without outputs nothing stays.
func TestSweepAll(t *testing.T) {
	b := form(t, "input %x f32[3]\n%y ?[*] = Neg.13(%x)\noutput %y\n")
	b.Outputs = nil
	Sweep(b)
	require.NoError(t, b.Verify())
	assert.Empty(t, b.Blocks)
}

// TestSweepCarriedDimension: a state of which only a dimension is used stays, for it computes that; one of
// which nothing is used goes.
func TestSweepCarriedDimension(t *testing.T) {
	g := form(t, `
		const @three i64[] = {3}
		const @one f32[1] = {1}
		input %x f32[2]
		%n ?[*], %u ?[*] = Loop.16(@three, _, %x, %x) {body = region 0} "count" regions {
			graph "body" opset 17 {
				input %i ?[*]
				input %c ?[*]
				input %p ?[*]
				input %q ?[*]
				%r ?[*] = Concat.13(%p, @one) {axis = 0}
				%v ?[*] = Concat.13(%q, @one) {axis = 0}
				output %c
				output %r
				output %v
			}
		}
		%s ?[*] = Shape.15(%n)
		output %s
		`)
	states := func() []State { return g.Blocks[0].Control.Loop.States }
	require.Len(t, states(), 2)
	Sweep(g)
	require.NoError(t, g.Verify())
	require.Len(t, states(), 1)
	assert.Equal(t, []Dim{{"n_dim0", sym.Const(2), sym.Add(sym.Var("n_dim0"), sym.Const(1))}}, states()[0].Dims)
	assert.Contains(t, g.String(), "n_dim0 is 2, then n_dim0 + 1\n")

	g.Blocks[0], g.Blocks[1] = g.Blocks[1], g.Blocks[0]
	assert.EqualError(t, g.Verify(), `block Shape (result "s") uses the symbol "n_dim0" before it is computed`)
}

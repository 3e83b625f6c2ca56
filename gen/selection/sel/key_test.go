package sel

import (
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/fusion/block"
	"rules_dnn/gen/graph/shape"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/irtest"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/layout"
	calls "rules_dnn/gen/ops/opaque"
	"rules_dnn/gen/target/chips/chipstest"
)

// formed is the blocks of a graph, none of them fused.
func formed(t *testing.T, text string) *block.Graph {
	t.Helper()
	g := irtest.Parse(t, text)
	require.NoError(t, shape.Infer(g))
	b, err := block.Form(g)
	require.NoError(t, err)
	return b
}

// keyOf is the key of a block for a chip.
func keyOf(t *testing.T, b *block.Block, chipName string) string {
	t.Helper()
	k, err := newSelector(&block.Graph{Blocks: []*block.Block{b}}, chipstest.Target(t, chipName), all).key(b)
	require.NoError(t, err)
	return k
}

// chain is a block of several stages, with a constant.
func chain(t *testing.T) *block.Block {
	t.Helper()
	g := fused(t, filters("w", 1, 32, 1, 1)+`
  input %x f32[4, 32, 6, 6]
  %y ?[*] = Add.14(%x, @w)
  %r ?[*] = Softmax.13(%y) {axis = 1}
  output %r
`)
	require.Len(t, g.Blocks, 1)
	b := g.Blocks[0]
	require.NotEmpty(t, b.Placed)
	require.NotNil(t, b.Operands[1].Const)
	return b
}

// caller is a block that calls a function, all of whose fields are set.
func caller() *block.Block {
	v := func(name string) *ir.Value {
		return &ir.Value{Name: name, Type: ir.F32, Shape: ir.Dims(4), HasShape: true}
	}
	tensor := []calls.Tensor{{Type: ir.F32, Shape: ir.Dims(4)}}
	return &block.Block{Operands: []*ir.Value{v("x")}, Results: []*ir.Value{v("y")}, Call: &block.Call{Operands: []int{0}, Results: []int{0}, Call: &calls.Call{
		Name: "f", Types: []ir.DType{ir.F32}, Args: calls.Sizes(sym.Const(4)), Operands: tensor, Results: tensor,
		Scratch: []calls.Memory{{Type: ir.F32, Size: sym.Const(4)}}, Computes: []calls.Symbol{{Name: "N"}},
		Elements: map[int]sym.Expr{0: sym.Const(4)}, Work: sym.Const(4),
	}}}
}

// TestKeyIsComplete: each field of blocks, of their values and of what they call changes the key, unless no kernel depends on it.
func TestKeyIsComplete(t *testing.T) {
	call := caller().Call
	blockChanges := map[string]func(*block.Block){
		"Stage":    func(b *block.Block) { s := *b.Stage; s.Results = []te.Expr{te.Float(ir.F32, 1)}; b.Stage = &s },
		"Call":     func(b *block.Block) { b.Call = call },
		"Placed":   func(b *block.Block) { b.Placed = b.Placed[1:] },
		"Depth":    func(b *block.Block) { b.Depth++ },
		"Operands": func(b *block.Block) { b.Operands = append(b.Operands[:1:1], b.Operands...) },
		"Results":  func(b *block.Block) { b.Results = append(b.Results[:1:1], b.Results...) },
		"Control":  nil, // such a block has no kernel
		"Origins":  nil, // comments have them
		"Ops":      nil, // messages have them
		"Models":   nil, // messages have them
	}
	complete(t, block.Block{}, blockChanges, func() *block.Block { return chain(t) }, func(b *block.Block) *block.Block { return b })
	complete(t, ir.Value{}, map[string]func(*ir.Value){
		"Type":     func(v *ir.Value) { v.Type = ir.F16 },
		"Shape":    func(v *ir.Value) { v.Shape = ir.Dims(1, 32, 1, 2) },
		"Const":    func(v *ir.Value) { v.Const = nil },
		"Name":     nil, // messages have it
		"HasShape": nil, // blocks' values have one
		"Elems":    nil, // shapes were made of them
		"Declared": nil, // warnings have it
		"Def":      nil, // blocks were made of nodes
	}, func() *block.Block { return chain(t) }, func(b *block.Block) *ir.Value { return b.Operands[1] })
	complete(t, block.Call{}, map[string]func(*block.Call){
		"Call":     func(c *block.Call) { c.Call = &calls.Call{} },
		"Operands": func(c *block.Call) { c.Operands = []int{-1} },
		"Results":  func(c *block.Call) { c.Results = []int{-1} },
	}, caller, func(b *block.Block) *block.Call { return b.Call })
	complete(t, calls.Call{}, map[string]func(*calls.Call){
		"Name":     func(c *calls.Call) { c.Name = "g" },
		"Types":    func(c *calls.Call) { c.Types = nil },
		"Args":     func(c *calls.Call) { c.Args = calls.Sizes(sym.Const(5)) },
		"Operands": func(c *calls.Call) { c.Operands = []calls.Tensor{{Type: ir.F32, Shape: ir.Dims(5)}} },
		"Results":  func(c *calls.Call) { c.Results = nil },
		"Whole":    func(c *calls.Call) { c.Whole = true },
		"Scratch":  func(c *calls.Call) { c.Scratch = []calls.Memory{{Type: ir.F32, Size: sym.Const(5)}} },
		"Computes": func(c *calls.Call) { c.Computes = []calls.Symbol{{Name: "M"}} },
		"Elements": func(c *calls.Call) { c.Elements = map[int]sym.Expr{0: sym.Const(5)} },
		"Work":     func(c *calls.Call) { c.Work = sym.Const(5) },
		"Consts":   nil, // they are operands of the block
		"Run":      nil, // it computes what Name does
	}, caller, func(b *block.Block) *calls.Call { return b.Call.Call })
}

// complete changes each field of a part of a block.
func complete[T any](t *testing.T, of T, changes map[string]func(*T), fresh func() *block.Block, part func(*block.Block) *T) {
	t.Helper()
	want := keyOf(t, fresh(), "x86_64_v4")
	assert.Equal(t, want, keyOf(t, fresh(), "x86_64_v4"), "of an equal block")
	for i := range reflect.TypeOf(of).NumField() {
		name := reflect.TypeOf(of).Field(i).Name
		change, known := changes[name]
		assert.True(t, known, "%T.%s is new: does the key of a block have it?", of, name)
		if change != nil {
			b := fresh()
			change(part(b))
			assert.NotEqual(t, want, keyOf(t, b, "x86_64_v4"), "%T.%s", of, name)
		}
	}
	assert.Len(t, changes, reflect.TypeOf(of).NumField())
}

// TestKeyHasUpdates: blocks that differ in nothing but what they do to elements that are there share no estimate.
func TestKeyHasUpdates(t *testing.T) {
	keys := map[string]string{}
	for _, reduction := range []string{"none", "add", "mul"} {
		g := formed(t, `
  input %x f32[64]
  input %i i64[9]
  input %u f32[9]
  %y f32[64] = ScatterElements.18(%x, %i, %u) {reduction = "`+reduction+`"}
  output %y
`)
		k := keyOf(t, g.Blocks[0], "x86_64_v4")
		assert.Empty(t, keys[k], "%s is like this one", reduction)
		keys[k] = reduction
	}
}

// TestKeyHasWeights: whether an instruction can hold weights minus their zero point is told by the weights alone; one block
// may have that kernel where another one, of the same shapes, has not.
func TestKeyHasWeights(t *testing.T) {
	text := func(weight string) string {
		return `
  const @w u8[4, 2] = {1, 2, 3, 4, 5, 6, 7, ` + weight + `}
  const @a u8[] = {3}
  const @b u8[] = {100}
  input %x u8[3, 4]
  %y i32[3, 2] = MatMulInteger.10(%x, @w, @a, @b)
  output %y
`
	}
	small, great := formed(t, text("9")).Blocks[0], formed(t, text("250")).Blocks[0]
	assert.NotEqual(t, keyOf(t, small, "hexagon_v68"), keyOf(t, great, "hexagon_v68"))
	assert.Equal(t, keyOf(t, small, "x86_64_v4"), keyOf(t, great, "x86_64_v4"), "no instruction asks there")
	assert.NotEqual(t, keyOf(t, formed(t, text("9")).Blocks[0], "x86_64_v4"), keyOf(t, formed(t, strings.Replace(text("9"), "{100}", "{128}", 1)).Blocks[0], "x86_64_v4"),
		"a zero point may be none of what is packed")
}

// TestEstimateOfNothing: a block that cannot be lowered is no fast one.
func TestEstimateOfNothing(t *testing.T) {
	g := formed(t, `
  const @w u8[4, 2] = {1, 2, 3, 4, 5, 6, 7, 8}
  const @a u8[] = {3}
  const @b u8[] = {100}
  input %x u8[3, 4]
  %y i32[3, 2] = MatMulInteger.10(%x, @w, @a, @b)
  output %y
`)
	b := g.Blocks[0]
	estimate := Estimate(b, g.Facts, chipstest.Target(t, "hexagon_v68"), all)
	assert.Positive(t, estimate)
	assert.False(t, math.IsInf(estimate, 1))
	for _, v := range b.Operands {
		if v.Name == "w" {
			v.Const = ir.Computed(ir.U8, []int64{4, 2}, 1, func([]byte, int64) error { return errors.New("the file is gone") })
		}
	}
	assert.True(t, math.IsInf(Estimate(b, g.Facts, chipstest.Target(t, "hexagon_v68"), all), 1))
	s := newSelector(g, chipstest.Target(t, "hexagon_v68"), all)
	assert.ErrorContains(t, s.enumerate(), "the file is gone")
	_, err := s.cheapest(b, func(*ir.Value) layout.Layout { return layout.RowMajor })
	assert.ErrorContains(t, err, "the file is gone")
}

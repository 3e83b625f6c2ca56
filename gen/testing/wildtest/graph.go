package wildtest

import (
	"fmt"
	"slices"
	"strings"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ops"
)

const (
	maxNodes = 8 // of a graph; regions have graphs of their own
	maxDepth = 2 // of regions
)

// Graph is a graph of arbitrary nodes, well-formed as far as ir.Verify looks. All results that no
// node reads are outputs.
func Graph(s *Source) *ir.Graph {
	g := &ir.Graph{Name: "wild", Opset: 23}
	b := &builder{Source: s, g: g, names: map[string]bool{}}
	for i := range s.N(3) {
		g.Symbols = append(g.Symbols, ir.Symbol{Name: []string{"N", "M"}[i], Lo: Among(s, []int64{1, 0, 3}), Hi: Among(s, []int64{sym.MaxDim, 8, 64})})
	}
	for range 1 + s.N(3) {
		b.input(Among(s, types))
	}
	b.nodes(1 + s.N(maxNodes))
	b.outputs()
	b.extreme()
	b.declare()
	return g
}

// builder adds to one graph, or to a region of one.
type builder struct {
	*Source
	g     *ir.Graph
	outer *builder // of the graph around a region
	pool  []*ir.Value
	used  map[*ir.Value]bool
	names map[string]bool // shared by a graph and its regions
	depth int
}

func (b *builder) nodes(n int) {
	for ; n > 0 && !b.Empty(); n-- {
		b.node()
	}
}

func (b *builder) outputs() {
	for _, v := range b.pool {
		if v.Def != nil && !b.used[v] {
			b.g.Outputs = append(b.g.Outputs, v)
		}
	}
}

// name is a name that no other value has.
func (b *builder) name() string {
	name := fmt.Sprintf("v%d", len(b.names))
	if b.Rarely(16) {
		name = Among(b.Source, evil)
	}
	if b.names[name] {
		name = fmt.Sprintf("%s_%d", name, len(b.names))
	}
	b.names[name] = true
	return name
}

// input adds an input of the graph.
func (b *builder) input(t ir.DType) *ir.Value {
	v := &ir.Value{Name: b.name(), Type: t, HasShape: !b.Rarely(20)}
	if v.HasShape {
		v.Shape = ir.Shape{}
		for range Among(b.Source, []int{2, 1, 3, 4, 0, 2, 4, 5, 8}) {
			v.Shape = append(v.Shape, b.dim())
		}
	}
	b.g.Inputs = append(b.g.Inputs, v)
	b.pool = append(b.pool, v)
	return v
}

func (b *builder) dim() sym.Expr {
	top := b
	for top.outer != nil {
		top = top.outer
	}
	if n := len(top.g.Symbols); n > 0 && b.N(3) == 0 {
		return sym.Var(top.g.Symbols[b.N(n)].Name)
	}
	return sym.Const(Among(b.Source, extents))
}

// node appends a node of any operator.
func (b *builder) node() {
	rows := ops.Table()
	row := rows[b.N(len(rows))]
	if row.Form == ops.Control && b.depth >= maxDepth {
		return
	}
	n := &ir.Node{Op: row.Name, Version: Among(b.Source, row.Versions), Name: b.name(), Attrs: ir.Attrs{}}
	n.Origins = []string{n.Name}
	b.operands(n, row)
	results := row.MinOutputs
	if most := row.MaxOutputs; most < 0 {
		results += b.N(3)
	} else {
		results += b.N(most - results + 1)
	}
	for range results {
		if results > 1 && b.Rarely(8) {
			n.Outputs = append(n.Outputs, nil)
			continue
		}
		n.Outputs = append(n.Outputs, &ir.Value{Name: b.name(), Def: n})
	}
	b.attributes(n, row)
	b.g.Nodes = append(b.g.Nodes, n)
	for _, v := range n.Outputs {
		if v != nil {
			b.pool = append(b.pool, v)
		}
	}
}

// operands are mostly those that the operator's definition asks for.
func (b *builder) operands(n *ir.Node, row *ops.Row) {
	like := map[string]ir.DType{}
	for _, p := range row.Inputs {
		if p.Since > n.Version || p.Until != 0 && p.Until < n.Version {
			continue
		}
		count := 1
		if p.Variadic {
			count = b.N(4)
		}
		for range count {
			if (p.Optional && b.N(2) == 0) || b.Rarely(40) {
				n.Inputs = append(n.Inputs, nil)
				continue
			}
			v := b.operand(p, like)
			if p.Like != "" && like[p.Like] == ir.Invalid {
				like[p.Like] = v.Type
			}
			n.Inputs = append(n.Inputs, v)
			b.use(v)
		}
	}
	for len(n.Inputs) > 0 && n.Inputs[len(n.Inputs)-1] == nil {
		n.Inputs = n.Inputs[:len(n.Inputs)-1]
	}
}

func (b *builder) use(v *ir.Value) {
	if b.used == nil {
		b.used = map[*ir.Value]bool{}
	}
	b.used[v] = true
}

func (b *builder) operand(p ops.Param, like map[string]ir.DType) *ir.Value {
	if b.Rarely(30) && len(b.pool) > 0 {
		return Among(b.Source, b.pool) // of any type
	}
	t := like[p.Like]
	if t == ir.Invalid {
		t = Among(b.Source, p.Types)
	}
	if p.Structural && b.N(4) != 3 || b.N(6) == 5 {
		return b.constant(t, p.Structural)
	}
	for i := len(b.pool) - 1; i >= 0; i-- {
		v := b.pool[i]
		fits := v.Type == t || v.Type == ir.Invalid || like[p.Like] == ir.Invalid && slices.Contains(p.Types, v.Type)
		if fits && b.N(3) != 2 {
			return v
		}
	}
	if b.outer == nil {
		return b.input(t)
	}
	return b.constant(t, false)
}

// constant is a constant of a few elements; index reports that it is one of axes, sizes and the like.
func (b *builder) constant(t ir.DType, index bool) *ir.Value {
	shapes := [][]int64{{1}, {}, {2}, {2, 3}, {3}, {4}, {1, 1}, {0}, {2, 2, 3, 3}, {1, 3, 1, 1}, {8}, {2, 0}, {300}}
	if index {
		shapes = [][]int64{{1}, {2}, {}, {4}, {3}, {8}, {0}, {1, 1}, {5}}
	}
	x := ir.NewTensor(t, Among(b.Source, shapes)...)
	b.fill(x)
	return ir.ConstValue(b.name(), x)
}

// attributes are mostly those of the operator's definition, of the right type.
func (b *builder) attributes(n *ir.Node, row *ops.Row) {
	for _, a := range row.Attrs {
		if a.Since > n.Version || a.Until != 0 && a.Until < n.Version {
			continue
		}
		if !a.Required && b.N(2) == 0 || b.Rarely(50) {
			continue
		}
		n.Attrs[a.Name] = b.attribute(n, a)
	}
	if b.Rarely(50) {
		n.Attrs["unknown"] = int64(b.N(3))
	}
}

func (b *builder) attribute(n *ir.Node, a ops.AttrSpec) any {
	zero := a.Zero
	if b.Rarely(60) {
		zero = Among(b.Source, []any{int64(0), float32(0), "", []int64(nil), []float32(nil)})
	}
	switch zero.(type) {
	case int64:
		return Among(b.Source, numbers)
	case float32:
		return float32(Among(b.Source, reals))
	case string:
		return Among(b.Source, texts)
	case []int64:
		return list(b.Source, numbers)
	case []float32:
		out := []float32{}
		for _, x := range list(b.Source, reals) {
			out = append(out, float32(x))
		}
		return out
	case []string:
		return list(b.Source, texts)
	case *ir.Tensor:
		return b.constant(Among(b.Source, types), false).Const
	case ir.RegionRef:
		return b.region(n)
	}
	panic(fmt.Sprintf("wildtest makes no attribute of type %T", a.Zero))
}

func list[T any](s *Source, pool []T) []T {
	out := []T{}
	for range Among(s, []int{2, 1, 4, 3, 0, 6}) {
		out = append(out, Among(s, pool))
	}
	return out
}

// Text is the graph's text form, for messages.
func Text(g *ir.Graph) string {
	var t strings.Builder
	if err := ir.Dump(&t, g); err != nil {
		return err.Error()
	}
	return t.String()
}

package ops

import (
	"fmt"

	"rules_dnn/gen/base/limit"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
)

// movementRows are operators whose result's elements are elements of an operand.
func movementRows() []*Row {
	return []*Row{
		{
			Name: "Transpose", Versions: []int{1, 13, 21, 23, 24, 25}, MinOutputs: 1, MaxOutputs: 1,
			Inputs: []Param{in("data", anyType)}, Attrs: []AttrSpec{intsAttr("perm")}, Build: transpose,
		},
		{
			Name: "Concat", Versions: []int{4, 11, 13}, MinOutputs: 1, MaxOutputs: 1,
			Inputs: []Param{{Name: "inputs", Types: anyType, Like: "T", Variadic: true}},
			Attrs:  []AttrSpec{intAttr("axis").required()}, Build: concat,
		},
		{
			Name: "Split", Versions: []int{2, 11, 13, 18}, MinOutputs: 1, MaxOutputs: -1,
			Inputs: []Param{in("input", anyType), opt(since(13, structural("split", int64s)))},
			Attrs:  []AttrSpec{intAttr("axis"), intsAttr("split").until(12), intAttr("num_outputs").from(18)},
			Build:  splitAxis,
		},
		{
			Name: "Expand", Versions: []int{8, 13}, MinOutputs: 1, MaxOutputs: 1,
			Inputs: []Param{in("input", anyType), structural("shape", int64s)}, Build: expand,
		},
		{
			Name: "Tile", Versions: []int{6, 13}, MinOutputs: 1, MaxOutputs: 1,
			Inputs: []Param{in("input", anyType), structural("repeats", int64s)}, Build: tile,
		},
		{
			Name: "DepthToSpace", Versions: []int{1, 11, 13, 28}, MinOutputs: 1, MaxOutputs: 1,
			Inputs: []Param{in("input", anyType)},
			Attrs:  []AttrSpec{intAttr("blocksize").required(), strAttr("mode").from(11)}, Build: depthToSpace,
		},
		{
			Name: "SpaceToDepth", Versions: []int{1, 13, 28}, MinOutputs: 1, MaxOutputs: 1,
			Inputs: []Param{in("input", anyType)},
			Attrs:  []AttrSpec{intAttr("blocksize").required(), strAttr("mode").from(28)}, Build: spaceToDepth,
		},
		{
			Name: "Trilu", Versions: []int{14}, MinOutputs: 1, MaxOutputs: 1,
			Inputs: []Param{in("input", anyType), opt(structural("k", int64s))},
			Attrs:  []AttrSpec{intAttr("upper")}, Build: trilu,
		},
	}
}

func transpose(c *Ctx) (*Meaning, error) {
	x, err := c.Shape(0)
	if err != nil {
		return nil, err
	}
	perm := make([]int, len(x))
	for k := range perm {
		perm[k] = len(x) - 1 - k
	}
	if c.Node.Has("perm") {
		if perm, err = normAxes("an element of attribute perm", c.Node.Ints("perm"), len(x)); err != nil {
			return nil, err
		}
		if len(perm) != len(x) {
			return nil, fmt.Errorf("attribute perm is %v; the rank is %d", c.Node.Ints("perm"), len(x))
		}
	}
	to, index := make(ir.Shape, len(x)), make([]sym.Expr, len(x))
	for k, p := range perm {
		to[k] = x[p]
		index[p] = iv(k)
	}
	return one("Transpose", axes(to), c.load0(index...)), nil
}

func splitAxis(c *Ctx) (*Meaning, error) {
	x, err := c.Shape(0)
	if err != nil {
		return nil, err
	}
	axis, err := c.axisAttr("axis", 0, len(x))
	if err != nil {
		return nil, err
	}
	sizes, err := c.splitSizes(x[axis])
	if err != nil {
		return nil, err
	}
	if len(sizes) != len(c.Node.Outputs) {
		return nil, fmt.Errorf("%d sizes for %d results", len(sizes), len(c.Node.Outputs))
	}
	m, at := &Meaning{}, sym.Const(0)
	for i, size := range sizes {
		if err := c.require(AtLeast, size, sym.Const(0), "size %d of the split", i); err != nil {
			return nil, err
		}
		to := append(ir.Shape{}, x...)
		to[axis] = size
		as := axes(to)
		index := te.AxisVars(as)
		index[axis] = sym.Add(index[axis], at)
		m.Stages = append(m.Stages, &te.Stage{Name: "Split", Axes: as, Results: []te.Expr{c.load0(index...)}})
		m.Outputs = append(m.Outputs, te.Source{Stage: true, N: i})
		at = sym.Add(at, size)
	}
	return m, c.require(SameDim, at, x[axis], "the sizes of a split add up to the dimension")
}

// splitSizes are given, or the dimension in equal parts (from definition 18 on the
// last may be smaller).
func (c *Ctx) splitSizes(d sym.Expr) ([]sym.Expr, error) {
	n := int64(len(c.Node.Outputs))
	given := c.Node.Has("num_outputs")
	if want := c.Node.Int("num_outputs", n); want != n {
		return nil, fmt.Errorf("attribute num_outputs is %d; the node has %d results", want, n)
	}
	switch {
	case c.Has(1) && given:
		return nil, fmt.Errorf("attribute num_outputs and operand 1 (split) exclude each other")
	case c.Has(1):
		return c.Elems(1)
	case c.Node.Has("split"):
		var out []sym.Expr
		for _, x := range c.Node.Ints("split") {
			out = append(out, sym.Const(x))
		}
		return out, nil
	}
	each := sym.FloorDiv(d, sym.Const(n), c.Facts)
	if given {
		each = sym.CeilDiv(d, sym.Const(n), c.Facts)
	}
	out := make([]sym.Expr, n)
	for i := range out {
		out[i] = each
	}
	if given {
		out[n-1] = sym.Sub(d, sym.Scale(each, n-1))
	}
	return out, nil
}

func expand(c *Ctx) (*Meaning, error) {
	x, err := c.Shape(0)
	if err != nil {
		return nil, err
	}
	target, err := c.dimsOperand(1)
	if err != nil {
		return nil, err
	}
	to, err := c.broadcast(x, target)
	if err != nil {
		return nil, err
	}
	as := axes(to)
	return one("Expand", as, c.load0(c.broadcastIndex(x, to, te.AxisVars(as))...)), nil
}

// dimsOperand are the elements of a structural operand that are dimensions.
func (c *Ctx) dimsOperand(i int) (ir.Shape, error) {
	es, err := c.Elems(i)
	if err != nil {
		return nil, err
	}
	if len(es) > limit.Rank {
		return nil, fmt.Errorf("operand %d has %d elements for dimensions; supported are at most %d", i, len(es), limit.Rank)
	}
	for k, e := range es {
		if err := c.require(AtLeast, e, sym.Const(0), "element %d of operand %d", k, i); err != nil {
			return nil, err
		}
	}
	return es, nil
}

func tile(c *Ctx) (*Meaning, error) {
	x, err := c.Shape(0)
	if err != nil {
		return nil, err
	}
	repeats, err := c.dimsOperand(1)
	if err != nil {
		return nil, err
	}
	if len(repeats) != len(x) {
		return nil, fmt.Errorf("operand 1 (repeats) has %d elements; the rank is %d", len(repeats), len(x))
	}
	to := make(ir.Shape, len(x))
	for k, d := range x {
		to[k] = sym.Mul(d, repeats[k])
	}
	as := axes(to)
	facts := c.with(as)
	index := te.AxisVars(as)
	for k, d := range x {
		if repeats[k].Is(1) || d.Is(0) {
			continue
		}
		index[k] = sym.Mod(index[k], d, facts)
	}
	return one("Tile", as, c.load0(index...)), nil
}

// trilu keeps what lies on one side of the k-th diagonal and is 0 elsewhere.
func trilu(c *Ctx) (*Meaning, error) {
	x, err := c.Shape(0)
	if err != nil {
		return nil, err
	}
	if len(x) < 2 {
		return nil, fmt.Errorf("operand 0 has rank %d; want at least 2", len(x))
	}
	upper, err := c.flag("upper", 1)
	if err != nil {
		return nil, err
	}
	k := sym.Const(0)
	if c.Has(1) {
		if k, err = c.scalarOperand(1); err != nil {
			return nil, err
		}
	}
	k = near(k)
	as := axes(x)
	row, col := len(x)-2, len(x)-1
	above := sym.Sub(sym.Sub(iv(col), iv(row)), k) // how far above the diagonal
	keep := te.Within{E: above, Lo: sym.Const(0), Hi: sym.Sub(x[col], k)}
	if !upper {
		keep = te.Within{E: sym.Scale(above, -1), Lo: sym.Const(0), Hi: sym.Add(x[row], k)}
	}
	l := c.load0(te.AxisVars(as)...)
	l.Guard, l.Default = []te.Within{keep}, te.Number(c.Type(0), 0)
	return one("Trilu", as, l), nil
}

// beyond is above every dimension of a tensor, which has at most so many bytes.
const beyond = limit.Tensor

// near replaces a constant that is far beyond all dimensions by one that is not as far: where an index is only
// compared with dimensions, it is as good, and what is computed of it stays within 64 bits.
func near(e sym.Expr) sym.Expr {
	if x, ok := e.Const(); ok {
		return sym.Const(max(-2*beyond, min(2*beyond, x)))
	}
	return e
}

// scalarOperand is the one element of a structural operand.
func (c *Ctx) scalarOperand(i int) (sym.Expr, error) {
	es, err := c.Elems(i)
	if err != nil {
		return sym.Expr{}, err
	}
	if len(es) != 1 {
		return sym.Expr{}, fmt.Errorf("operand %d has %d elements; want 1", i, len(es))
	}
	return es[0], nil
}

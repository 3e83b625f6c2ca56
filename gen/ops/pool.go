package ops

import (
	"fmt"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
)

func poolRows() []*Row {
	ceil := intAttr("ceil_mode").from(10)
	return []*Row{
		poolRow("MaxPool", []int{1, 8, 10, 11, 12, 22}, maxPoolTypes, maxPool,
			ceil, intsAttr("dilations").from(10), intAttr("storage_order").from(8)),
		poolRow("AveragePool", []int{7, 10, 11, 19, 22}, floats, averagePool,
			ceil, intsAttr("dilations").from(19), intAttr("count_include_pad")),
		poolRow("LpPool", []int{2, 11, 18, 22}, floats, lpPool,
			intAttr("ceil_mode").from(18), intsAttr("dilations").from(18), intAttr("p")),
		globalRow("GlobalMaxPool", []int{1, 22}, globalMaxPool),
		globalRow("GlobalAveragePool", []int{1, 22}, globalAveragePool),
		globalRow("GlobalLpPool", []int{2, 22}, globalLpPool, intAttr("p")),
	}
}

var maxPoolTypes = append([]ir.DType{ir.I8, ir.U8}, floats...)

func poolRow(name string, versions []int, types []ir.DType, build func(*Ctx, *pool) (*Meaning, error), attrs ...AttrSpec) *Row {
	all := windowAttrs()
	all[1] = all[1].required()
	r := &Row{
		Name: name, Versions: versions, Inputs: []Param{in("X", types)}, Attrs: append(all, attrs...),
		MinOutputs: 1, MaxOutputs: 1,
		Build: func(c *Ctx) (*Meaning, error) {
			p, err := c.newPool()
			if err != nil {
				return nil, err
			}
			return build(c, p)
		},
	}
	if name == "MaxPool" {
		r.MaxOutputs = 2
	}
	return r
}

func globalRow(name string, versions []int, build func(*Ctx, *pool) (*Meaning, error), attrs ...AttrSpec) *Row {
	return &Row{
		Name: name, Versions: versions, Inputs: []Param{in("X", floats)}, Attrs: attrs,
		MinOutputs: 1, MaxOutputs: 1,
		Build: func(c *Ctx) (*Meaning, error) {
			p, err := c.newGlobalPool()
			if err != nil {
				return nil, err
			}
			return build(c, p)
		},
	}
}

// pool is what all pools share: the loops and what they read.
type pool struct {
	win       *window // nil for a global pool
	x         ir.Shape
	axes, red []te.Axis
	index     []sym.Expr
	guard     []te.Within
	typ       ir.DType
}

func (c *Ctx) newPool() (*pool, error) {
	p, err := c.poolOperand()
	if err != nil {
		return nil, err
	}
	ks, err := c.positives("kernel_shape", len(p.x)-2)
	if err != nil {
		return nil, err
	}
	kernel := make([]sym.Expr, len(ks))
	for i, k := range ks {
		kernel[i] = sym.Const(k)
	}
	if p.win, err = c.newWindow(p.x[2:], kernel); err != nil {
		return nil, err
	}
	p.axes = axes(append(ir.Shape{p.x[0], p.x[1]}, p.win.out...))
	p.red = reduceAxes(kernel)
	spatial, guard := p.win.read(2, 0)
	p.index, p.guard = append([]sym.Expr{iv(0), iv(1)}, spatial...), guard
	return p, nil
}

func (c *Ctx) newGlobalPool() (*pool, error) {
	p, err := c.poolOperand()
	if err != nil {
		return nil, err
	}
	out := ir.Shape{p.x[0], p.x[1]}
	for range p.x[2:] {
		out = append(out, sym.Const(1))
	}
	p.axes, p.red = axes(out), reduceAxes(p.x[2:])
	p.index = append([]sym.Expr{iv(0), iv(1)}, te.AxisVars(p.red)...)
	return p, nil
}

func (c *Ctx) poolOperand() (*pool, error) {
	x, err := c.Shape(0)
	if err != nil {
		return nil, err
	}
	if len(x) < 3 {
		return nil, fmt.Errorf("operand 0 has rank %d; want at least 3 (batch, channel, spatial axes)", len(x))
	}
	return &pool{x: x, typ: c.Type(0)}, nil
}

// load reads the operand in the window, def in the padding.
func (p *pool) load(def te.Expr) te.Expr { return guarded(0, p.typ, p.index, p.guard, def) }

// reduce is the stage that combines value over the window.
func (p *pool) reduce(name string, comb *te.Combiner, value, result te.Expr) *Meaning {
	return stages(&te.Stage{
		Name: name, Axes: p.axes, Reduce: p.red, Combine: comb,
		Values: []te.Expr{value}, Results: []te.Expr{cast(p.typ, result)},
	})
}

func globalMaxPool(_ *Ctx, p *pool) (*Meaning, error) {
	return p.reduce("GlobalMaxPool", te.Max(p.typ), p.load(nil), te.Acc{Type: p.typ}), nil
}

func globalAveragePool(_ *Ctx, p *pool) (*Meaning, error) {
	t := wide(p.typ)
	mean := div(te.Acc{Type: t}, count(t, product(p.x[2:]...)))
	return p.reduce("GlobalAveragePool", te.Sum(t), cast(t, p.load(nil)), mean), nil
}

func averagePool(c *Ctx, p *pool) (*Meaning, error) {
	include, err := c.flag("count_include_pad", 0)
	if err != nil {
		return nil, err
	}
	n := sym.Const(1)
	for k := range p.win.in {
		n = sym.Mul(n, c.elementsIn(p, k, include))
	}
	t := wide(p.typ)
	value := cast(t, p.load(te.Number(p.typ, 0)))
	return p.reduce("AveragePool", te.Sum(t), value, div(te.Acc{Type: t}, count(t, n))), nil
}

// elementsIn counts the elements of a window along axis k that take part in a mean:
// those in the operand, or also those in the padding. Beyond the padding, where
// ceil_mode lets windows reach, nothing takes part.
func (c *Ctx) elementsIn(p *pool, k int, padding bool) sym.Expr {
	w := p.win
	if !w.leaves(k) || (padding && !w.ceil) {
		return w.kernel[k]
	}
	lo, hi := sym.Const(0), w.in[k]
	if padding {
		lo, hi = sym.Scale(w.begin[k], -1), sym.Add(hi, w.end[k])
	}
	f := c.with(p.axes)
	start, d := w.start(k, iv(2+k)), sym.Const(w.dilation[k])
	first := sym.CeilDiv(sym.Max(sym.Sub(lo, start), sym.Const(0), f), d, f)
	last := sym.Min(sym.CeilDiv(sym.Sub(hi, start), d, f), w.kernel[k], f)
	n := sym.Sub(last, first)
	if w.dilation[k] > 1 || sym.AtLeast(sym.Sub(w.begin[k], w.kernel[k]), 0, f) || sym.AtLeast(sym.Sub(w.end[k], w.kernel[k]), 0, f) {
		return sym.Max(n, sym.Const(1), f) // a window may see nothing but padding, and the mean of that is 0
	}
	return n
}

// count is a number of elements as a literal, or as a value where it is symbolic.
func count(t ir.DType, n sym.Expr) te.Expr {
	if x, ok := n.Const(); ok {
		return te.Number(t, float64(x))
	}
	return cast(t, te.Index{Type: ir.I64, E: n})
}

func lpPool(c *Ctx, p *pool) (*Meaning, error)       { return c.lpOver(p, "LpPool") }
func globalLpPool(c *Ctx, p *pool) (*Meaning, error) { return c.lpOver(p, "GlobalLpPool") }

func (c *Ctx) lpOver(p *pool, name string) (*Meaning, error) {
	norm, err := c.lpNorm()
	if err != nil {
		return nil, err
	}
	value := norm.term(cast(wide(p.typ), p.load(te.Number(p.typ, 0))))
	return p.reduce(name, te.Sum(wide(p.typ)), value, norm.root(te.Acc{Type: wide(p.typ)})), nil
}

// lp is a p-norm: what is added up, and what is made of the sum.
type lp struct{ p int64 }

// lpNorm reads attribute p.
func (c *Ctx) lpNorm() (lp, error) {
	p := c.Node.Int("p", 2)
	if p < 1 {
		return lp{}, fmt.Errorf("attribute p is %d; want at least 1", p)
	}
	return lp{p}, nil
}

func (n lp) term(x te.Expr) te.Expr {
	switch n.p {
	case 1:
		return call("abs", x)
	case 2:
		return mul(x, x)
	}
	return call("pow", call("abs", x), num(x, float64(n.p)))
}

func (n lp) root(sum te.Expr) te.Expr {
	switch n.p {
	case 1:
		return sum
	case 2:
		return call("sqrt", sum)
	}
	return call("pow", sum, num(sum, 1/float64(n.p)))
}

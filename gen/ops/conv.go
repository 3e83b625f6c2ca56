package ops

import (
	"fmt"
	"slices"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
)

func convRows() []*Row {
	operands := []Param{in("X", floats), in("W", floats), opt(in("B", floats))}
	attrs := append(windowAttrs(), intsAttr("dilations"), intAttr("group"))
	return []*Row{
		{
			Name: "Conv", Versions: []int{1, 11, 22}, Attrs: attrs, MinOutputs: 1, MaxOutputs: 1,
			Inputs: operands, Weights: &Weights{Operand: 1, Bias: 2, Kernel: true, Linear: true}, Build: conv,
		},
		{
			Name: "ConvTranspose", Versions: []int{1, 11, 22}, MinOutputs: 1, MaxOutputs: 1, Inputs: operands,
			Attrs: slices.Concat(attrs, []AttrSpec{intsAttr("output_padding"), intsAttr("output_shape")}), Build: convTranspose,
			Weights: &Weights{Operand: 1, Bias: 2, Kernel: true, Linear: true, channelsFirst: always},
		},
	}
}

// convolution is what the kinds of Conv share: the loops, and where a product reads.
type convolution struct {
	as, red      []te.Axis
	data, weight []sym.Expr
	guard        []te.Within // where windows leave the data
}

// newConvolution slides weights of shape w over data of shape x.
func (c *Ctx) newConvolution(x, w ir.Shape) (*convolution, error) {
	if err := c.checkKernel(x, w); err != nil {
		return nil, err
	}
	win, err := c.newWindow(x[2:], w[2:])
	if err != nil {
		return nil, err
	}
	group, err := c.convGroups(x, w)
	if err != nil {
		return nil, err
	}
	v := &convolution{as: axes(append(ir.Shape{x[0], w[0]}, win.out...)), red: reduceAxes(append(ir.Shape{w[1]}, win.kernel...))}
	channel := rv(0)
	if group > 1 {
		f := c.with(v.as, v.red)
		each := sym.FloorDiv(w[0], sym.Const(group), f)
		channel = sym.Add(sym.Mul(sym.FloorDiv(iv(1), each, f), w[1]), channel)
	}
	index, guard := win.read(2, 1)
	v.data, v.guard = append([]sym.Expr{iv(0), channel}, index...), guard
	v.weight = append([]sym.Expr{iv(1)}, te.AxisVars(v.red)...)
	return v, nil
}

// conv is y[n, o, p...] = sum of x[n, group(o)*cg + c, p*stride + k*dilation - pad...] * w[o, c, k...] + b[o].
func conv(c *Ctx) (*Meaning, error) {
	x, w, err := c.shapes2()
	if err != nil {
		return nil, err
	}
	v, err := c.newConvolution(x, w)
	if err != nil {
		return nil, err
	}
	t, acc := c.Type(0), wide(c.Type(0))
	data, weight := guarded(0, t, v.data, v.guard, te.Number(t, 0)), te.Operand(1, t, v.weight...)
	result := te.Expr(te.Acc{N: 0, Type: acc})
	if c.Has(2) {
		if err := c.isVector(2, w[0]); err != nil {
			return nil, err
		}
		result = add(result, cast(acc, te.Operand(2, t, iv(1))))
	}
	return stages(&te.Stage{
		Name: "Conv", Axes: v.as, Reduce: v.red, Combine: te.Sum(acc),
		Values:  []te.Expr{mul(cast(acc, data), cast(acc, weight))},
		Results: []te.Expr{cast(t, result)},
	}), nil
}

// checkKernel checks the ranks, and attribute kernel_shape against the weights.
func (c *Ctx) checkKernel(x, w ir.Shape) error {
	if len(x) < 3 || len(x) != len(w) {
		return fmt.Errorf("operands have ranks %d and %d; want equal ranks of at least 3", len(x), len(w))
	}
	if !c.Node.Has("kernel_shape") {
		return nil
	}
	ks := c.Node.Ints("kernel_shape")
	if len(ks) != len(w)-2 {
		return fmt.Errorf("attribute kernel_shape is %v; the weights have %d spatial axes", ks, len(w)-2)
	}
	for k, d := range ks {
		if err := c.require(SameDim, w[2+k], sym.Const(d), "attribute kernel_shape must be the shape of the weights"); err != nil {
			return err
		}
	}
	return nil
}

// convGroups checks channels and groups.
func (c *Ctx) convGroups(x, w ir.Shape) (int64, error) {
	group := c.Node.Int("group", 1)
	if group < 1 {
		return 0, fmt.Errorf("attribute group is %d; want at least 1", group)
	}
	if err := c.divides(group, w[0], "result channels"); err != nil {
		return 0, err
	}
	return group, c.require(SameDim, x[1], sym.Scale(w[1], group), "channels of X must be group times channels of W")
}

// divides requires that attribute group divides a number of channels: more would be read beyond the last group.
func (c *Ctx) divides(group int64, channels sym.Expr, what string) error {
	if m, ok := channels.Const(); ok && m%group != 0 {
		return fmt.Errorf("attribute group is %d; it must divide the %d %s", group, m, what)
	}
	each := sym.FloorDiv(channels, sym.Const(group), c.Facts)
	return c.require(SameDim, sym.Scale(each, group), channels, "attribute group must divide the %s", what)
}

// isVector requires that operand i has one axis of the extent.
func (c *Ctx) isVector(i int, extent sym.Expr) error {
	s, err := c.Shape(i)
	if err != nil {
		return err
	}
	if len(s) != 1 {
		return fmt.Errorf("operand %d has rank %d; want rank 1", i, len(s))
	}
	return c.require(SameDim, s[0], extent, "extent of operand %d", i)
}

package onnx

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/onnx/onnxpb"
)

// helperOpset is the opset of the nodes that upgraded ones need before them.
const helperOpset = 13

// op adds a node before the one that is upgraded.
func (u *upgrading) op(op string, at ir.Attrs, in ...*ir.Value) (*ir.Value, error) {
	version, err := sinceVersion(op, max(u.opset, helperOpset))
	if err != nil {
		return nil, err
	}
	n := &ir.Node{Op: op, Version: version, Name: u.Name, Inputs: in, Attrs: at, Origins: u.Origins}
	if n.Attrs == nil {
		n.Attrs = ir.Attrs{}
	}
	v := &ir.Value{Name: u.im.unique(u.out + "." + op), Def: n}
	n.Outputs = []*ir.Value{v}
	n.MadeFor(u.Node)
	u.g.Nodes = append(u.g.Nodes, n)
	return v, nil
}

// chain is a sequence of ops of which the first that fails ends all.
type chain struct {
	*upgrading
	err error
}

func (c *chain) op(op string, at ir.Attrs, in ...*ir.Value) *ir.Value {
	if c.err != nil {
		return nil
	}
	var v *ir.Value
	v, c.err = c.upgrading.op(op, at, in...)
	return v
}

// vector is a constant.
func (c *chain) vector(xs ...int64) *ir.Value {
	return ir.ConstValue(c.im.unique(c.out+".const"), vector(ints(xs...)))
}

// ones is a vector of so many ones.
func (c *chain) ones(n *ir.Value) *ir.Value {
	return c.op("ConstantOfShape", ir.Attrs{"value": vector(ints(1))}, n)
}

// rank is the rank of v, a vector of one element.
func (c *chain) rank(v *ir.Value) *ir.Value { return c.op("Shape", nil, c.op("Shape", nil, v)) }

// take removes an attribute and gives its value, or def where it is absent.
func take[T any](u *upgrading, name string, def T) (T, error) {
	x, ok := u.Attrs[name]
	if !ok {
		return def, nil
	}
	delete(u.Attrs, name)
	value, ok := x.(T)
	if !ok {
		return def, fmt.Errorf("attribute %s has type %s, want %s", name, ir.AttrType(x), ir.AttrType(def))
	}
	return value, nil
}

// needed is take of an attribute that must be present.
func needed[T any](u *upgrading, name string) (x T, err error) {
	if !u.Has(name) {
		return x, fmt.Errorf("attribute %s is absent, but required", name)
	}
	return take(u, name, x)
}

// operands requires so many operands, all present.
func (u *upgrading) operands(n int) error {
	if len(u.Inputs) != n || slices.Contains(u.Inputs, nil) {
		return fmt.Errorf("definition of an opset before %d: want %d operands", modernOpset, n)
	}
	return nil
}

// allOnes reports whether a value is known to have one element.
func allOnes(v *ir.Value) bool {
	dims, ok := v.Static()
	return ok && !slices.ContainsFunc(dims, func(d int64) bool { return d != 1 })
}

// broadcast extends B to the shape of A. Its axes are the last ones of A, as they are in all
// newer opsets, unless an axis of A is named with which its first one is aligned. Without
// attribute broadcast the shapes are equal, and the axis says nothing.
func broadcast(u *upgrading) error {
	given := u.Has("axis")
	axis, err := take(u, "axis", int64(0))
	if err != nil {
		return err
	}
	on, err := take(u, "broadcast", int64(0))
	if err != nil || on == 0 || !given {
		return err
	}
	return u.align(axis)
}

// slopeOfChannels aligns the slope with the axis of channels.
func slopeOfChannels(u *upgrading) error { return u.align(1) }

// align gives operand 1 axes of one element, so that its first axis is one of operand 0.
func (u *upgrading) align(axis int64) error {
	if err := u.operands(2); err != nil {
		return err
	}
	if axis < 0 {
		return fmt.Errorf("attribute axis is %d; want at least 0", axis)
	}
	a, b := u.Inputs[0], u.Inputs[1]
	if allOnes(b) {
		return nil
	}
	c := &chain{upgrading: u}
	after := c.op("Sub", nil, c.op("Sub", nil, c.rank(a), c.vector(axis)), c.rank(b))
	shape := c.op("Concat", ir.Attrs{"axis": int64(0)}, c.op("Shape", nil, b), c.ones(after))
	u.Inputs[1] = c.op("Reshape", nil, b, shape)
	return c.err
}

// castByName reads the type's name.
func castByName(u *upgrading) error {
	if _, number := u.Attrs["to"].(int64); number && u.since != 1 {
		return nil
	}
	name, err := needed[string](u, "to")
	if err != nil {
		return err
	}
	t, ok := onnxpb.TensorProto_DataType_value[strings.ToUpper(name)]
	if !ok || t == 0 {
		return fmt.Errorf("attribute to is %s; want the name of an element type (FLOAT, INT64, ...)", show(name))
	}
	u.Attrs["to"] = int64(t)
	return nil
}

// clipWithoutDefaults: a bound that is absent does not even bound infinities.
func clipWithoutDefaults(u *upgrading) error {
	return defaults(ir.Attrs{"min": float32(math.Inf(-1)), "max": float32(math.Inf(1))})(u)
}

// dropoutTest refuses what draws random numbers.
func dropoutTest(u *upgrading) error {
	test, err := take(u, "is_test", int64(0))
	if ratio := u.Float("ratio", 0.5); err == nil && test == 0 && ratio != 0 {
		err = refusef("attribute is_test is 0 (training) and attribute ratio is %v: elements are dropped at random; "+
			"supported is an is_test of 1 or a ratio of 0: export the model for inference", ratio)
	}
	return err
}

// batchNormTest: of one result it is inference's, whatever is_test says; of more, training's.
func batchNormTest(u *upgrading) error {
	test, err := take(u, "is_test", int64(0))
	if err == nil && test != 0 && u.results > 1 {
		err = refusef("attribute is_test is 1 (inference), but the node has %d results, as in training; supported is 1 result", u.results)
	}
	return err
}

// wholeNorm makes p an integer.
func wholeNorm(u *upgrading) error {
	x, err := take(u, "p", float32(2))
	if err != nil {
		return err
	}
	p := float64(x)
	if p != math.Trunc(p) || math.Abs(p) > math.MaxInt32 {
		return refusef("attribute p is %v; whole numbers are supported", p)
	}
	u.Attrs["p"] = int64(p)
	return nil
}

// reshapeByAttribute makes the shape an operand.
func reshapeByAttribute(u *upgrading) error {
	if err := u.operands(1); err != nil {
		return err
	}
	shape, err := needed[[]int64](u, "shape")
	if err != nil {
		return err
	}
	u.Inputs = append(u.Inputs, (&chain{upgrading: u}).vector(shape...))
	return nil
}

// splitByOperand names no default for the axis. Lengths may be an operand, of the type of
// what is split.
func splitByOperand(u *upgrading) error {
	if !u.Has("axis") {
		return refusef("attribute axis is absent, and opset 1 has no default; add the attribute")
	}
	if len(u.Inputs) != 2 {
		return nil
	}
	if u.Has("split") {
		return fmt.Errorf("attribute split and operand 1 both set the lengths; leave out one of them")
	}
	c := &chain{upgrading: u}
	u.Inputs[1] = c.op("Cast", ir.Attrs{"to": int64(onnxpb.TensorProto_INT64)}, u.Inputs[1])
	var err error
	if u.Version, err = sinceVersion("Split", helperOpset); err != nil {
		return err
	}
	return c.err
}

// tileOneAxis makes repeats for all axes of the number of tiles along one axis. Both are
// operands of one element, of the type of what is repeated.
func tileOneAxis(u *upgrading) error {
	if err := u.operands(3); err != nil {
		return err
	}
	c := &chain{upgrading: u}
	integer := func(v *ir.Value) *ir.Value {
		whole := c.op("Cast", ir.Attrs{"to": int64(onnxpb.TensorProto_INT64)}, v)
		return c.op("Reshape", nil, whole, c.vector(1))
	}
	tiles, axis := integer(u.Inputs[1]), integer(u.Inputs[2])
	after := c.op("Sub", nil, c.op("Sub", nil, c.rank(u.Inputs[0]), axis), c.vector(1))
	repeats := c.op("Concat", ir.Attrs{"axis": int64(0)}, c.ones(axis), tiles, c.ones(after))
	u.Inputs = []*ir.Value{u.Inputs[0], repeats}
	return c.err
}

// upsampleImage makes scales of all axes of the image's.
func upsampleImage(u *upgrading) error {
	height, err := needed[float32](u, "height_scale")
	if err != nil {
		return err
	}
	width, err := needed[float32](u, "width_scale")
	if err != nil {
		return err
	}
	u.Attrs["scales"] = []float32{1, 1, height, width}
	if u.Str("mode", "") == "bilinear" {
		u.Attrs["mode"] = "linear"
	}
	return nil
}

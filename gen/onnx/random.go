package onnx

import (
	"fmt"
	"math"
	"strconv"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/onnx/onnxpb"
)

// Seed says what nodes draw random numbers from that name no seed themselves.
type Seed struct {
	// Input makes it the network's last input, called "seed", so that each run has its own.
	Input bool
	Value int64
}

// ParseSeed reads a seed: a number, or "input".
func ParseSeed(s string) (Seed, error) {
	if s == "input" {
		return Seed{Input: true}, nil
	}
	v, err := strconv.ParseUint(s, 10, 32)
	if err != nil {
		return Seed{}, fmt.Errorf("--seed=%s: want a number from 0 to 4294967295, or 'input'", s)
	}
	return Seed{Value: int64(v)}, nil
}

// randomOp is the compiler's own operator that draws (package ops).
const randomOp = "random"

// drawOpset is the opset of the nodes around it.
const drawOpset = 15

// seedName is the name of the seed's input, or begins it if the model has that name itself.
const seedName = "seed"

// draws are the operators that draw random numbers: what they become.
var draws = map[string]func(d *drawing) error{
	"RandomNormal":      func(d *drawing) error { return d.ofShape("mean", "scale", 0, 1) },
	"RandomNormalLike":  func(d *drawing) error { return d.likeOperand("mean", "scale", 0, 1) },
	"RandomUniform":     func(d *drawing) error { return d.ofShape("low", "high", 0, 1) },
	"RandomUniformLike": func(d *drawing) error { return d.likeOperand("low", "high", 0, 1) },
	"Bernoulli":         bernoulli,
	"Multinomial":       multinomial,
	"Dropout":           dropoutTraining,
}

// drawing is a node that draws random numbers, while nodes of randomOp and others take its place.
type drawing struct {
	*chain
	p    *onnxpb.NodeProto
	seed *ir.Value
	iter *ir.Value // the iteration of loops around, or nil
	made []*ir.Value
}

// draw replaces a node that draws random numbers, and reports whether it is one. Its results have the names that the model gives them.
func (s *scope) draw(p *onnxpb.NodeProto, version int, operands []*ir.Value) (bool, error) {
	build := draws[p.GetOpType()]
	if build == nil || domain(p.GetDomain()) != "" || p.GetOpType() == "Dropout" && !trains(version, operands) {
		return false, nil
	}
	n := &ir.Node{Op: p.GetOpType(), Version: version, Name: s.nodeName(p), Inputs: operands}
	if n.Name != "" {
		n.Origins = []string{n.Name}
	}
	if err := s.attributes(n, p); err != nil {
		return true, err
	}
	if len(p.Output) == 0 || p.Output[0] == "" {
		return true, fmt.Errorf("the node has no result")
	}
	u := &upgrading{scope: s, Node: n, out: s.frame.made(p.Output[0]), opset: drawOpset}
	d := &drawing{chain: &chain{upgrading: u}, p: p}
	if err := d.seeds(); err != nil {
		return true, err
	}
	if err := build(d); err != nil {
		return true, err
	}
	if d.err != nil {
		return true, d.err
	}
	for _, name := range n.Attrs.Names() {
		return true, fmt.Errorf("attribute %s is unknown to the operator", show(name))
	}
	if len(p.Output) > len(d.made) {
		return true, fmt.Errorf("%d results; the operator has %d", len(p.Output), len(d.made))
	}
	for i, out := range p.Output {
		if out == "" {
			continue
		}
		if err := s.result(out, d.made[i]); err != nil {
			return true, err
		}
	}
	return true, nil
}

// seeds finds what the node draws from: its own seed, the option, or the network's input; and the iterations around.
func (d *drawing) seeds() error {
	if d.Has("seed") {
		seed, err := take(d.upgrading, "seed", float32(0))
		if err != nil {
			return err
		}
		d.seed = d.vector(1<<32 | int64(math.Float32bits(seed))) // unlike the option's small ones
	} else if d.im.opt.Seed.Input {
		d.seed = d.seedInput()
	} else {
		d.seed = d.vector(d.im.opt.Seed.Value)
	}
	var err error
	if d.iter, err = d.iteration(d.chain); err != nil {
		return err
	}
	return d.err
}

// seedInput is the network's input for the seed, as this graph sees it.
func (s *scope) seedInput() *ir.Value {
	switch {
	case s.caller != nil:
		return s.caller.seedInput()
	case s.parent != nil:
		return s.capture(s.parent.seedInput())
	}
	if s.im.seed == nil {
		s.im.seed = &ir.Value{Name: s.im.unique(seedName), Type: ir.I64, Shape: ir.Shape{}, HasShape: true}
		s.g.Inputs = append(s.g.Inputs, s.im.seed)
	}
	return s.im.seed
}

// iteration numbers the iterations of all loops around a graph, nil outside of loops.
func (s *scope) iteration(c *chain) (*ir.Value, error) {
	switch {
	case s.caller != nil:
		return s.caller.iteration(c)
	case s.parent == nil:
		return nil, nil
	case s.of == "Scan":
		return nil, refusef("random numbers in the body of a Scan are not supported, because its steps have no number; write it as a Loop")
	}
	around, err := s.parent.iteration(&chain{upgrading: &upgrading{scope: s.parent, Node: c.Node, out: c.out, opset: drawOpset}})
	if err != nil {
		return nil, err
	}
	if around != nil {
		around = s.capture(around)
	}
	if s.of != "Loop" || len(s.g.Inputs) == 0 {
		return around, nil
	}
	own := s.g.Inputs[0]
	if around == nil {
		return own, nil
	}
	return c.op("Add", nil, c.op("Mul", nil, around, c.vector(1<<24)), own), c.err
}

// random adds a node that draws: of the type `to`, or that of a value.
func (d *drawing) random(shape *ir.Value, normal bool, a, b float32, to int64, like *ir.Value) *ir.Value {
	at := ir.Attrs{"stream": d.im.streams, "a": a, "b": b}
	d.im.streams++
	if normal {
		at["normal"] = int64(1)
	}
	in := []*ir.Value{shape, d.seed, d.iter, like}
	if like == nil {
		at["to"], in = to, in[:3]
	}
	if in[len(in)-1] == nil {
		in = in[:len(in)-1]
	}
	n := &ir.Node{Op: randomOp, Version: 1, Name: d.Name, Inputs: in, Attrs: at, Origins: d.Origins}
	v := &ir.Value{Name: d.im.unique(d.out + ".random"), Def: n}
	n.Outputs = []*ir.Value{v}
	d.g.Nodes = append(d.g.Nodes, n)
	return v
}

// spread reads the attributes of a distribution: mean and deviation, or the ends of a range.
func (d *drawing) spread(first, second string, a, b float32) (normal bool, x, y float32, err error) {
	if x, err = take(d.upgrading, first, a); err != nil {
		return false, 0, 0, err
	}
	if y, err = take(d.upgrading, second, b); err != nil {
		return false, 0, 0, err
	}
	if normal = first == "mean"; !normal {
		y -= x
	}
	return normal, x, y, nil
}

// ofShape draws a tensor of the shape that the attribute shape says.
func (d *drawing) ofShape(first, second string, a, b float32) error {
	shape, err := needed[[]int64](d.upgrading, "shape")
	if err != nil {
		return err
	}
	return d.drawn(d.vector(shape...), nil, first, second, a, b)
}

// likeOperand draws a tensor of the shape of operand 0.
func (d *drawing) likeOperand(first, second string, a, b float32) error {
	if err := d.operandsUpTo(1); err != nil {
		return err
	}
	return d.drawn(d.op("Shape", nil, d.Inputs[0]), d.Inputs[0], first, second, a, b)
}

func (d *drawing) drawn(shape, like *ir.Value, first, second string, a, b float32) error {
	to := int64(onnxpb.TensorProto_FLOAT)
	if d.Has("dtype") {
		like = nil
	}
	to, err := take(d.upgrading, "dtype", to)
	if err != nil {
		return err
	}
	normal, x, y, err := d.spread(first, second, a, b)
	if err != nil {
		return err
	}
	d.made = append(d.made, d.random(shape, normal, x, y, to, like))
	return nil
}

// operandsUpTo requires operand 0, and at most n operands.
func (d *drawing) operandsUpTo(n int) error {
	if len(d.Inputs) < 1 || len(d.Inputs) > n || d.Inputs[0] == nil {
		return fmt.Errorf("%d operands; want at least the first one and at most %d", len(d.Inputs), n)
	}
	return nil
}

// uniform are numbers of [0, 1) of a shape.
func (d *drawing) uniform(shape *ir.Value) *ir.Value {
	return d.random(shape, false, 0, 1, int64(onnxpb.TensorProto_FLOAT), nil)
}

func (d *drawing) cast(v *ir.Value, to onnxpb.TensorProto_DataType) *ir.Value {
	return d.op("Cast", ir.Attrs{"to": int64(to)}, v)
}

// bernoulli is 1 with the probability that an element of operand 0 is.
func bernoulli(d *drawing) error {
	if err := d.operandsUpTo(1); err != nil {
		return err
	}
	x := d.Inputs[0]
	hit := d.op("Less", nil, d.uniform(d.op("Shape", nil, x)), d.cast(x, onnxpb.TensorProto_FLOAT))
	if !d.Has("dtype") {
		d.made = append(d.made, d.op("CastLike", nil, hit, x))
		return nil
	}
	to, err := take(d.upgrading, "dtype", int64(0))
	d.made = append(d.made, d.op("Cast", ir.Attrs{"to": to}, hit))
	return err
}

// multinomial draws numbers of classes, whose logarithms of probabilities operand 0 has in each row, up to a constant: how many of the sums of the
// first probabilities are no more than a part of all.
func multinomial(d *drawing) error {
	if err := d.operandsUpTo(1); err != nil {
		return err
	}
	count, err := take(d.upgrading, "sample_size", int64(1))
	if err != nil {
		return err
	}
	to, err := take(d.upgrading, "dtype", int64(onnxpb.TensorProto_INT32))
	if err != nil {
		return err
	}
	if to != int64(onnxpb.TensorProto_INT32) && to != int64(onnxpb.TensorProto_INT64) {
		return fmt.Errorf("attribute dtype is %d; want 6 (int32) or 7 (int64)", to)
	}
	shape := d.op("Shape", nil, d.Inputs[0])
	part := func(i int64) *ir.Value { return d.op("Gather", ir.Attrs{"axis": int64(0)}, shape, d.vector(i)) }
	p := d.op("Softmax", ir.Attrs{"axis": int64(1)}, d.cast(d.Inputs[0], onnxpb.TensorProto_FLOAT))
	sums := d.op("Unsqueeze", nil, d.op("CumSum", nil, p, d.scalar(1)), d.vector(1))
	all := d.op("ReduceSum", ir.Attrs{"keepdims": int64(1)}, p, d.vector(1))
	u := d.uniform(d.op("Concat", ir.Attrs{"axis": int64(0)}, part(0), d.vector(count)))
	at := d.op("Unsqueeze", nil, d.op("Mul", nil, u, all), d.vector(2))
	before := d.cast(d.op("LessOrEqual", nil, sums, at), onnxpb.TensorProto_INT64)
	number := d.op("ReduceSum", ir.Attrs{"keepdims": int64(0)}, before, d.vector(2))
	last := d.op("Sub", nil, part(1), d.vector(1))
	d.made = append(d.made, d.op("Cast", ir.Attrs{"to": to}, d.op("Min", nil, number, last)))
	return nil
}

// trains reports whether a Dropout is training's, and drops: both operands that say so are constants.
func trains(version int, operands []*ir.Value) bool {
	if version < 12 || len(operands) < 3 || operands[0] == nil || operands[2] == nil || operands[2].Const == nil {
		return false
	}
	on, err := operands[2].Const.Ints()
	return err == nil && len(on) == 1 && on[0] != 0
}

// dropoutTraining keeps an element with the probability 1 - ratio, and divides by that.
func dropoutTraining(d *drawing) error {
	if err := d.operandsUpTo(3); err != nil {
		return err
	}
	x := d.Inputs[0]
	ratio := ir.ConstValue(d.im.unique(d.out+".ratio"), floats(0.5))
	if v := d.Inputs[1]; v != nil {
		if v.HasShape && len(v.Shape) > 0 {
			return fmt.Errorf("operand 1 (ratio) has shape %s; want a scalar", v.Shape)
		}
		ratio = d.cast(v, onnxpb.TensorProto_FLOAT)
	}
	keep := d.op("GreaterOrEqual", nil, d.uniform(d.op("Shape", nil, x)), ratio)
	one := ir.ConstValue(d.im.unique(d.out+".one"), floats(1))
	larger := d.op("Mul", nil, x, d.op("CastLike", nil, d.op("Div", nil, one, d.op("Sub", nil, one, ratio)), x))
	zero := d.op("CastLike", nil, ir.ConstValue(d.im.unique(d.out+".zero"), floats(0)), x)
	d.made = append(d.made, d.op("Where", nil, keep, larger, zero), keep)
	return nil
}

// scalar is a constant of one number.
func (c *chain) scalar(x int64) *ir.Value { return ir.ConstValue(c.im.unique(c.out+".const"), ints(x)) }

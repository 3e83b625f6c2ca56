package onnx

import (
	"slices"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/onnx/onnxpb"
)

// upgrade is what became of an operator's definitions that opset 7 no longer has.
type upgrade struct {
	ops  []string
	from []int // since-versions of the definitions
	// change rewrites a node for the definition of opset 7; nil where the node means the
	// same there.
	change func(u *upgrading) error
}

// upgrades are the operators whose definitions changed up to opset 7, all of them; nodes of
// the others stay as they are. What a
// definition only adds (types, attributes whose defaults are the old meaning) is no change.
var upgrades = []upgrade{
	{ops: []string{"AveragePool"}, from: []int{1}},
	{ops: []string{
		"Abs", "Ceil", "Elu", "Exp", "Floor", "HardSigmoid", "InstanceNormalization", "LeakyRelu", "Log", "Max", "Mean", "Min",
		"Neg", "Reciprocal", "Relu", "Sigmoid", "Sqrt", "Sum", "Tanh",
	}, from: []int{1}, change: drop("consumed_inputs")},
	{ops: []string{"Add", "Div", "Mul", "Sub"}, from: []int{1, 6}, change: steps(drop("consumed_inputs"), broadcast)},
	{ops: []string{"And", "Equal", "Greater", "Less", "Or", "Pow", "Xor"}, from: []int{1}, change: broadcast},
	{ops: []string{"PRelu"}, from: []int{1, 6}, change: steps(drop("consumed_inputs"), slopeOfChannels)},
	{ops: []string{"BatchNormalization"}, from: []int{1, 6}, change: steps(drop("consumed_inputs"), batchNormTest)},
	// Definition 6 wants a number; what was written at the time, ONNX's own tests too, still has names.
	{ops: []string{"Cast"}, from: []int{1, 6}, change: castByName},
	{ops: []string{"Clip"}, from: []int{1}, change: steps(drop("consumed_inputs"), clipWithoutDefaults)},
	{ops: []string{"Concat"}, from: []int{1}, change: defaults(ir.Attrs{"axis": int64(1)})},
	{ops: []string{"Dropout"}, from: []int{1, 6}, change: steps(drop("consumed_inputs"), dropoutTest)},
	// Where C may not be broadcast, it has the result's shape already.
	{ops: []string{"Gemm"}, from: []int{1, 6}, change: drop("broadcast")},
	{ops: []string{"GlobalLpPool", "LpPool"}, from: []int{1}, change: wholeNorm},
	// The result of all steps was optional, and is.
	{ops: []string{"LSTM", "RNN"}, from: []int{1}, change: drop("output_sequence")},
	{ops: []string{"GRU"}, from: []int{1, 3}, change: drop("output_sequence")},
	{ops: []string{"Pad"}, from: []int{1}, change: rename("paddings", "pads")},
	{ops: []string{"Reshape"}, from: []int{1}, change: steps(drop("consumed_inputs"), reshapeByAttribute)},
	{ops: []string{"Selu"}, from: []int{1}, change: steps(drop("consumed_inputs"),
		defaults(ir.Attrs{"alpha": float32(1.6732), "gamma": float32(1.0507)}))},
	{ops: []string{"Split"}, from: []int{1}, change: splitByOperand},
	{ops: []string{"Tile"}, from: []int{1}, change: tileOneAxis},
	{ops: []string{"Upsample"}, from: []int{1}, change: upsampleImage},
}

// upgrading is a node while it is upgraded.
type upgrading struct {
	*scope
	*ir.Node
	out     string // the model's name of the first result
	results int    // how many there are
	since   int    // the definition that the node followed
	opset   int    // of the nodes that are added, if it is newer than helperOpset
}

// upgrade makes a node follow a definition that opset 7 or a newer one has. It has no
// results yet.
func (s *scope) upgrade(n *ir.Node, p *onnxpb.NodeProto) error {
	if s.frame.opsets[""] >= modernOpset || domain(p.GetDomain()) != "" {
		return nil
	}
	current, err := sinceVersion(n.Op, modernOpset)
	if err != nil {
		return err
	}
	for _, row := range upgrades {
		if !slices.Contains(row.ops, n.Op) || !slices.Contains(row.from, n.Version) {
			continue
		}
		u := &upgrading{scope: s, Node: n, out: s.nodeName(p), results: results(p), since: n.Version}
		if n.Version = current; row.change == nil {
			return nil
		}
		if len(p.Output) > 0 {
			u.out = s.frame.made(p.Output[0])
		}
		return row.change(u)
	}
	if current == n.Version {
		return nil
	}
	return refusef("definition %d of the operator is not supported; convert the model to opset %d or newer", n.Version, modernOpset)
}

// Changes of attributes.

func steps(list ...func(*upgrading) error) func(*upgrading) error {
	return func(u *upgrading) error {
		for _, f := range list {
			if err := f(u); err != nil {
				return err
			}
		}
		return nil
	}
}

// drop removes attributes that say nothing of what is computed.
func drop(names ...string) func(*upgrading) error {
	return func(u *upgrading) error {
		for _, name := range names {
			delete(u.Attrs, name)
		}
		return nil
	}
}

func rename(old, name string) func(*upgrading) error {
	return func(u *upgrading) error {
		if x, ok := u.Attrs[old]; ok {
			u.Attrs[name] = x
			delete(u.Attrs, old)
		}
		return nil
	}
}

// defaults writes out what the old definition takes for attributes that are absent.
func defaults(attrs ir.Attrs) func(*upgrading) error {
	return func(u *upgrading) error {
		for name, x := range attrs {
			if !u.Has(name) {
				u.Attrs[name] = x
			}
		}
		return nil
	}
}

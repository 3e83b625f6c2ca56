// Package bnfold removes BatchNormalization of inference, which is a scale and a
// shift by channel: into the weights and the bias of the convolution (Conv,
// ConvTranspose) or matrix product (Gemm) whose only use it is, otherwise into a
// Mul and an Add.
//
// Statistics and weights must be constants and shapes inferred. New weights are
// computed in float64 and rounded once. A BatchNormalization whose statistics are
// operands that are not constant stays.
package bnfold

import (
	"fmt"
	"math"
	"slices"

	"rules_dnn/gen/graph/passes/edit"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ops"
)

// Run folds every BatchNormalization that it can and reports whether it changed the
// graph. The weights that it replaces are left to their other users.
func Run(g *ir.Graph) (bool, error) {
	f := &folder{graph: g, uses: edit.Uses(g), namer: edit.NewNamer(g)}
	changed := false
	var nodes []*ir.Node
	for _, n := range g.Nodes {
		keep, err := f.node(n)
		if err != nil {
			return false, err
		}
		changed = changed || len(keep) != 1 || keep[0] != n
		nodes = append(nodes, keep...)
	}
	g.Nodes = nodes
	return changed, nil
}

type folder struct {
	graph *ir.Graph
	uses  map[*ir.Value]int
	namer *ir.Names
}

// affine is y = x*scale + shift by channel.
type affine struct{ scale, shift []float64 }

// node gives the nodes that stand for n.
func (f *folder) node(n *ir.Node) ([]*ir.Node, error) {
	as, err := batchNorm(n)
	if err != nil {
		return nil, n.Errorf("folding: %w", err)
	}
	if as == nil {
		return []*ir.Node{n}, nil
	}
	x := n.Inputs[0]
	if into := x.Def; into != nil && f.uses[x] == 1 {
		done, err := f.intoWeights(into, *as)
		if err != nil {
			return nil, into.Errorf("folding %s: %w", n.Label(), err)
		}
		if done {
			into.Outputs[0] = n.Outputs[0]
			into.Outputs[0].Def = into
			into.Origins = append(append([]string{}, origins(into)...), origins(n)...)
			return nil, nil
		}
	}
	return f.scaleShift(n, *as), nil
}

func origins(n *ir.Node) []string {
	if n.Origins == nil && n.Name != "" {
		return []string{n.Name}
	}
	return n.Origins
}

// Folds reports whether a node is a BatchNormalization by constants, which folds where its operand's rank is known: into what computes that, where nothing else reads
// it. That node has its result then.
func Folds(n *ir.Node) bool {
	if !ops.NormalisesByChannel(n) || ops.NormalisesByBatch(n) || len(n.Inputs) != 5 {
		return false
	}
	for i, v := range n.Outputs {
		if v != nil && i > 0 {
			return false
		}
	}
	return n.Inputs[0] != nil && !slices.ContainsFunc(n.Inputs[1:], func(v *ir.Value) bool { return v == nil || v.Const == nil })
}

// batchNorm reads scale and shift of a BatchNormalization, or nil where n is none that folds.
func batchNorm(n *ir.Node) (*affine, error) {
	if !Folds(n) {
		return nil, nil
	}
	if x := n.Inputs[0]; !x.HasShape || len(x.Shape) < 2 {
		return nil, nil
	}
	var p [4][]float64 // scale, B, mean, var
	for i := range p {
		var err error
		if p[i], err = edit.Floats(n.Inputs[i+1].Const); err != nil {
			return nil, err
		}
		if len(p[i]) != len(p[0]) {
			return nil, fmt.Errorf("operands 1 and %d have %d and %d elements", i+1, len(p[0]), len(p[i]))
		}
	}
	if !n.Inputs[0].Shape[1].Is(int64(len(p[0]))) {
		return nil, nil
	}
	epsilon := float64(n.Float("epsilon", 1e-5))
	a := &affine{make([]float64, len(p[0])), make([]float64, len(p[0]))}
	for c := range p[0] {
		a.scale[c] = p[0][c] / math.Sqrt(p[3][c]+epsilon)
		a.shift[c] = p[1][c] - float64(p[2][c]*a.scale[c])
	}
	return a, nil
}

// scaleShift makes Mul and Add of n.
func (f *folder) scaleShift(n *ir.Node, a affine) []*ir.Node {
	x, y := n.Inputs[0], n.Outputs[0]
	shape := make([]int64, len(x.Shape)-1)
	for i := range shape {
		shape[i] = 1
	}
	shape[0] = int64(len(a.scale))
	param := func(what string, xs []float64) *ir.Value {
		return ir.ConstValue(f.namer.Name(y.Name+what), edit.FloatTensor(x.Type, xs, shape...))
	}
	scaled := &ir.Value{Name: f.namer.Name(y.Name + ".scaled"), Type: y.Type, Shape: y.Shape, HasShape: y.HasShape}
	node := func(op string, a, b, out *ir.Value) *ir.Node {
		out.Def = &ir.Node{
			Op: op, Version: edit.Version(op, f.graph), Name: n.Name,
			Inputs: []*ir.Value{a, b}, Outputs: []*ir.Value{out}, Attrs: ir.Attrs{}, Origins: n.Origins,
		}
		return out.Def
	}
	return []*ir.Node{
		node("Mul", x, param(".scale", a.scale), scaled),
		node("Add", scaled, param(".shift", a.shift), y),
	}
}

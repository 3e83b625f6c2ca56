package modeltest

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"rules_dnn/gen/emit/cpp"
	"rules_dnn/gen/graph/interp"
	"rules_dnn/gen/graph/passes/dce"
	"rules_dnn/gen/graph/passes/edit"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/irtest"
	"rules_dnn/gen/program/plan"
	"rules_dnn/gen/program/run"
)

// limits of a graph that is compared: bytes of a tensor, iterations of a loop, evaluations of a node.
var limits = interp.Interp{MaxBytes: 1 << 24, MaxTrips: 100, MaxPoints: 1 << 20}

// clone is a graph that passes may change.
func clone(g *ir.Graph) (*ir.Graph, error) {
	var b strings.Builder
	if err := ir.Print(&b, g); err != nil {
		return nil, err
	}
	return ir.Parse(strings.NewReader(b.String()), nil)
}

// trial is a graph, how it is compiled, and what it runs on.
type trial struct {
	g      *ir.Graph
	config Config
	inputs map[string]*ir.Tensor // nil: it is compiled only
	// wild reports that the compiler may refuse the graph.
	wild bool
}

// survives compiles the trial's graph and compares what it computes with the interpreter of stages.
func (t *trial) survives() (err error) {
	defer func() {
		if x := recover(); x != nil {
			err = fmt.Errorf("panic: %v\n%s", x, debug.Stack())
		}
	}()
	var want []*ir.Tensor
	var refused error
	if t.inputs != nil {
		g, err := clone(t.g)
		if err != nil {
			return err
		}
		if want, refused = limits.Graph(g, t.inputs); refused != nil && t.wild {
			// What refuses may compute nothing that is needed, in a region: the compiler does not run it.
			if g, err = clone(t.g); err != nil {
				return err
			}
			if _, err := dce.Run(g); err == nil {
				want, refused = limits.Graph(g, t.inputs)
			}
		}
	}
	g, err := clone(t.g)
	if err != nil {
		return err
	}
	p, err := Compile(g, t.config)
	var limited *interp.LimitError
	switch {
	case err != nil && (t.wild || refused != nil):
		return nil
	case err != nil:
		return err
	case t.inputs == nil || errors.As(refused, &limited):
		return nil
	}
	if !slices.Contains(Devices, t.config.Chip) { // what compiles has a text
		if _, err := cpp.Print(p, "p", 1); err != nil {
			return err
		}
	}
	in := make([]*ir.Tensor, len(p.Inputs))
	for i, v := range p.Inputs {
		in[i] = t.inputs[v.Name]
	}
	got, err := run.Program(p, in)
	if err != nil || refused != nil {
		return t.agree(err, refused)
	}
	for i, w := range want {
		if err := same(got[i], w); err != nil && !t.uses("BitCast") { // which shows a NaN's bits, and no operator says what these are
			return fmt.Errorf("output %d: %w", i, err)
		}
	}
	return nil
}

// agree reports whether a run and the interpreter had reasons to differ in whether they refuse.
func (t *trial) agree(ran, refused error) error {
	var dims *run.DimsError
	var shape *run.ShapeError
	var size *run.SizeError
	var bounds *run.BoundsError
	switch {
	case errors.As(ran, &size):
		return nil // the memory is for the greatest result that the symbols allow
	case ran != nil && refused != nil:
		return nil
	case refused != nil && (len(t.g.Symbols) > 0 || t.empty()):
		return nil // the node that refuses the dimensions or an index may compute nothing that is needed
	case errors.Is(refused, interp.ErrDivision) && t.quotientsInside():
		return nil // the element that is divided by 0 may be one that no output needs
	case errors.Is(refused, interp.ErrNeverRan):
		return nil // the compiler infers shapes first
	case refused != nil:
		return fmt.Errorf("no error, want %w", refused)
	case errors.As(ran, &dims) && t.empty():
		return nil // a dimension of 0 broadcasts with 1 only where both are known to the compiler
	case errors.As(ran, &bounds) && t.empty():
		return nil // of what has no elements, a run may make dimensions that it has memory for only
	case (errors.As(ran, &dims) || errors.As(ran, &shape)) && t.uses("Einsum"):
		return nil // a label's dimension may be 1 beside others only where the compiler knows it: else labels join symbols
	}
	return ran
}

// quotientsInside reports whether a quotient or remainder is none of the graph's outputs, which need all of theirs.
func (t *trial) quotientsInside() bool {
	inside := false
	var visit func(g *ir.Graph)
	visit = func(g *ir.Graph) {
		for _, n := range g.Nodes {
			inside = inside || (n.Op == "Div" || n.Op == "Mod") && (g != t.g || !slices.Contains(g.Outputs, n.Outputs[0]))
		}
		edit.EachRegion(g, visit)
	}
	visit(t.g)
	return inside
}

// uses reports whether a node of the trial is of the operator.
func (t *trial) uses(op string) bool {
	found := false
	var visit func(g *ir.Graph)
	visit = func(g *ir.Graph) {
		found = found || slices.ContainsFunc(g.Nodes, func(n *ir.Node) bool { return n.Op == op })
		edit.EachRegion(g, visit)
	}
	visit(t.g)
	return found
}

// empty reports whether a tensor of the trial has no elements.
func (t *trial) empty() bool {
	found := false
	for _, x := range t.inputs {
		found = found || slices.Contains(x.Shape, 0)
	}
	var visit func(g *ir.Graph)
	visit = func(g *ir.Graph) {
		for _, n := range g.Nodes {
			for _, v := range n.Inputs {
				found = found || v != nil && v.Const != nil && slices.Contains(v.Const.Shape, 0)
			}
		}
		for _, v := range g.Outputs {
			found = found || v.Const != nil && slices.Contains(v.Const.Shape, 0)
		}
		edit.EachRegion(g, visit)
	}
	visit(t.g)
	return found
}

// same is compare for tensors of any type; NaNs are equal, whatever their bits.
func same(got, want *ir.Tensor) error {
	size, digits := want.Type.Size(), tolerance
	switch want.Type {
	case ir.F16:
		digits = 1e-2
	case ir.BF16:
		digits = 1e-1
	case ir.F64:
	default:
		return compare(got, want)
	}
	if got.Type != want.Type || !slices.Equal(got.Shape, want.Shape) {
		return fmt.Errorf("%s%v, want %s%v", got.Type, got.Shape, want.Type, want.Shape)
	}
	scale := 1.0
	for at := 0; at < len(want.Data); at += size {
		if x := math.Abs(float(want, at)); !math.IsInf(x, 0) && !math.IsNaN(x) {
			scale = max(scale, x)
		}
	}
	for at := 0; at < len(want.Data); at += size {
		x, y := float(got, at), float(want, at)
		if x != y && !(math.Abs(x-y) <= digits*scale) && !(math.IsNaN(x) && math.IsNaN(y)) {
			return fmt.Errorf("element %d is %v, want %v", at/size, x, y)
		}
	}
	return nil
}

func float(t *ir.Tensor, at int) float64 {
	switch t.Type {
	case ir.F16:
		return ir.F16Float(binary.LittleEndian.Uint16(t.Data[at:]))
	case ir.BF16:
		return ir.BF16Float(binary.LittleEndian.Uint16(t.Data[at:]))
	}
	return math.Float64frombits(binary.LittleEndian.Uint64(t.Data[at:]))
}

// survivor compiles a network for a chip, after it has survived all that is tried with it of random inputs.
func survivor(t *testing.T, text, chip string) *plan.Program {
	t.Helper()
	g := irtest.Parse(t, text)
	r := &random{Rand: rand.New(rand.NewPCG(1, 2)), env: map[string]int64{"N": 7, "B": 2}}
	x := &trial{g: g, config: Config{Chip: chip}, inputs: map[string]*ir.Tensor{}}
	for _, v := range g.Inputs {
		x.inputs[v.Name] = r.floats(r.concrete(v.Shape), 1)
	}
	require.NoError(t, x.survives(), chip)
	g, err := clone(g)
	require.NoError(t, err)
	p, err := Compile(g, x.config)
	require.NoError(t, err)
	return p
}

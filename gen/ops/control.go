package ops

import (
	"fmt"
	"slices"

	"rules_dnn/gen/ir"
)

// controlRows are the operators that run regions. Their meaning is their regions':
// shape inference and the interpreter look into them, and simplification removes
// those whose course is known.
func controlRows() []*Row {
	versions := []int{1, 11, 13, 16, 19, 21, 23, 24, 25}
	ints := func(name string) AttrSpec { return intsAttr(name).from(9) }
	return []*Row{
		{
			Name: "If", Versions: versions, Form: Control, MinOutputs: 1, MaxOutputs: -1, Executed: true,
			Inputs: []Param{{Name: "cond", Types: bools}},
			Attrs:  []AttrSpec{regionAttr("then_branch").required(), regionAttr("else_branch").required()},
		},
		{
			Name: "Loop", Versions: versions, Form: Control, MinOutputs: 1, MaxOutputs: -1, Executed: true,
			Inputs: []Param{
				opt(Param{Name: "M", Types: int64s}), opt(Param{Name: "cond", Types: bools}),
				{Name: "v_initial", Types: anyType, Variadic: true},
			},
			Attrs: []AttrSpec{regionAttr("body").required()},
		},
		{
			Name: "Scan", Versions: []int{8, 9, 11, 16, 19, 21, 23, 24, 25}, Form: Control, MinOutputs: 1, MaxOutputs: -1,
			Inputs: []Param{
				until(8, opt(Param{Name: "sequence_lens", Types: int64s})),
				{Name: "initial_state_and_scan_inputs", Types: anyType, Variadic: true},
			},
			Attrs: []AttrSpec{
				regionAttr("body").required(), intAttr("num_scan_inputs").required(), intsAttr("directions").until(8),
				ints("scan_input_axes"), ints("scan_input_directions"), ints("scan_output_axes"), ints("scan_output_directions"),
			},
		},
	}
}

// IsControl reports whether a node runs regions.
func IsControl(n *ir.Node) bool {
	row := Lookup(n.Op)
	return row != nil && row.Form == Control
}

// checkControl checks a node and the region of each attribute given: its number of
// inputs, captures included, and of outputs.
func checkControl(n *ir.Node, op string, inputs, outputs int, attrs ...string) error {
	for _, a := range attrs {
		r := n.Region(a)
		switch {
		case r == nil:
			return n.Errorf("attribute %s names no region", a)
		case len(r.Inputs) != inputs+n.Captures:
			return n.Errorf("attribute %s: the graph has %d inputs; %s passes it %d", a, len(r.Inputs)-n.Captures, op, inputs)
		case len(r.Outputs) != outputs:
			return n.Errorf("attribute %s: the graph has %d outputs; the node's operands and results need %d", a, len(r.Outputs), outputs)
		}
	}
	return nil
}

// checkRow checks a node against its row.
func checkRow(n *ir.Node) (*Ctx, error) {
	c, err := newCtx(n, nil)
	if err != nil {
		return nil, n.Errorf("%w", err)
	}
	return c, nil
}

// IfSpec is an If: each branch has the captures for inputs and the results for outputs.
type IfSpec struct {
	Cond       *ir.Value
	Then, Else *ir.Graph
}

// IfOf checks an If.
func IfOf(n *ir.Node) (*IfSpec, error) {
	if _, err := checkRow(n); err != nil {
		return nil, err
	}
	if err := checkControl(n, "If", 0, len(n.Outputs), "then_branch", "else_branch"); err != nil {
		return nil, err
	}
	return &IfSpec{Cond: n.Inputs[0], Then: n.Region("then_branch"), Else: n.Region("else_branch")}, nil
}

// Branch is the branch that a condition takes.
func (s *IfSpec) Branch(cond bool) *ir.Graph {
	if cond {
		return s.Then
	}
	return s.Else
}

// LoopSpec is a Loop. Its body's inputs are the iteration's number, the condition,
// the carried values and the captures; its outputs are the condition, the carried
// values and what is stacked along a new first axis.
type LoopSpec struct {
	Max, Cond *ir.Value // nil where absent: without a Cond, the body's condition is ignored
	Carried   []*ir.Value
	Body      *ir.Graph
}

// LoopOf checks a Loop.
func LoopOf(n *ir.Node) (*LoopSpec, error) {
	if _, err := checkRow(n); err != nil {
		return nil, err
	}
	own := n.Own()
	s := &LoopSpec{Body: n.Region("body")}
	if len(own) > 0 {
		s.Max = own[0]
	}
	if len(own) > 1 {
		s.Cond = own[1]
	}
	if len(own) > 2 {
		s.Carried = own[2:]
	}
	if s.Max == nil && s.Cond == nil {
		return nil, n.Errorf("operands 0 (M) and 1 (cond) are both absent, so the loop would never end; add a number of iterations or a condition")
	}
	if err := checkPresent(n, s.Carried, 2); err != nil {
		return nil, err
	}
	if len(n.Outputs) < len(s.Carried) {
		return nil, n.Errorf("%d results for %d values that the loop carries", len(n.Outputs), len(s.Carried))
	}
	return s, checkControl(n, "Loop", 2+len(s.Carried), 1+len(n.Outputs), "body")
}

func checkPresent(n *ir.Node, vs []*ir.Value, from int) error {
	if i := slices.Index(vs, nil); i >= 0 {
		return n.Errorf("operand %d is absent, but required", from+i)
	}
	return nil
}

// ScanSpec is a Scan. Its body's inputs are the states, a slice of each scanned
// operand and the captures; its outputs are the states and what is stacked.
type ScanSpec struct {
	States, Scanned []*ir.Value
	First           int // the number of operand States[0]
	Body            *ir.Graph
	// Batch reports that all operands and results have a batch axis before the others,
	// which the body does not see (definition 8).
	Batch bool
	// In and Out say how operands are sliced and results stacked.
	In, Out []ScanAxis
}

// ScanAxis is an axis, negative from the end, and whether it is run backward.
type ScanAxis struct {
	Axis     int64
	Backward bool
}

// ScanOf checks a Scan.
func ScanOf(n *ir.Node) (*ScanSpec, error) {
	c, err := checkRow(n)
	if err != nil {
		return nil, err
	}
	s := &ScanSpec{Body: n.Region("body"), Batch: c.Version == 8}
	own := n.Own()
	if s.Batch {
		s.First = 1
		if len(own) > 0 && own[0] != nil {
			return nil, n.Errorf("operand 0 (sequence_lens) is present, which is not supported in opset 8: " +
				"convert the model to opset 9 or newer")
		}
	}
	vs := own[min(s.First, len(own)):]
	if err := checkPresent(n, vs, s.First); err != nil {
		return nil, err
	}
	k := n.Int("num_scan_inputs", 0)
	if k < 1 || k > int64(len(vs)) {
		return nil, n.Errorf("attribute num_scan_inputs is %d; want at least 1, and at most the node's %d operands", k, len(vs))
	}
	states := len(vs) - int(k)
	s.States, s.Scanned = vs[:states], vs[states:]
	if len(n.Outputs) < states {
		return nil, n.Errorf("%d results for %d states", len(n.Outputs), states)
	}
	if err := s.axes(n); err != nil {
		return nil, err
	}
	return s, checkControl(n, "Scan", len(vs), len(n.Outputs), "body")
}

// axes reads the attributes of axes and directions.
func (s *ScanSpec) axes(n *ir.Node) error {
	in, out := "scan_input_directions", "scan_output_directions"
	if s.Batch {
		in = "directions"
	}
	var err error
	if s.In, err = scanAxes(n, "scan_input_axes", in, len(s.Scanned)); err != nil {
		return err
	}
	s.Out, err = scanAxes(n, "scan_output_axes", out, len(n.Outputs)-len(s.States))
	return err
}

func scanAxes(n *ir.Node, axes, directions string, count int) ([]ScanAxis, error) {
	out := make([]ScanAxis, count)
	for _, name := range []string{axes, directions} {
		xs := n.Ints(name)
		if n.Has(name) && len(xs) != count {
			return nil, n.Errorf("attribute %s has %d numbers; want %d", name, len(xs), count)
		}
		for i, x := range xs {
			switch {
			case name == axes:
				out[i].Axis = x
			case x != 0 && x != 1:
				return nil, n.Errorf("attribute %s is %v; every number must be 0 (forward) or 1 (backward)", name, xs)
			default:
				out[i].Backward = x == 1
			}
		}
	}
	return out, nil
}

// Of is the axis among rank ones.
func (a ScanAxis) Of(rank int) (int, error) {
	x := a.Axis
	if x < 0 {
		x += int64(rank)
	}
	if x < 0 || x >= int64(rank) {
		return 0, fmt.Errorf("axis %d to scan along; the rank is %d", a.Axis, rank)
	}
	return int(x), nil
}

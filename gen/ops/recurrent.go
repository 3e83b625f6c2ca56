package ops

import (
	"fmt"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
)

// recurrentRows are the operators that hand a state from step to step of a sequence. Each
// is a Scan whose body computes what depends on the state; the rest stands around it.
func recurrentRows() []*Row {
	return []*Row{
		recurrentRow("RNN", rnnCell, nil),
		recurrentRow("GRU", gruCell, []AttrSpec{intAttr("linear_before_reset")}),
		recurrentRow("LSTM", lstmCell, []AttrSpec{intAttr("input_forget")},
			opt(in("initial_c", floats)), opt(in("P", floats))),
		quantizedLSTMRow(),
		linearAttentionRow(),
	}
}

// recurrentRow is the row of a cell.
func recurrentRow(name string, of func(*Ctx) (*cell, error), attrs []AttrSpec, more ...Param) *Row {
	states := 1
	if len(more) > 0 {
		states = 2
	}
	return &Row{
		Name: name, Versions: []int{7, 14, 22}, Form: Composition, MinOutputs: 0, MaxOutputs: 1 + states,
		Inputs: append([]Param{
			in("X", floats), in("W", floats), in("R", floats), opt(in("B", floats)),
			opt(Param{Name: "sequence_lens", Types: []ir.DType{ir.I32}}), opt(in("initial_h", floats)),
		}, more...),
		Attrs: append(attrs, floatsAttr("activation_alpha"), floatsAttr("activation_beta"), strsAttr("activations"),
			floatAttr("clip"), strAttr("direction"), intAttr("hidden_size"), intAttr("layout").from(14)),
		Weights: &Weights{Operand: 1},
		Compose: func(b *composer) ([]*ir.Value, error) {
			c, err := of(b.Ctx)
			if err != nil {
				return nil, err
			}
			r, err := newRecurrent(b, c)
			if err != nil {
				return nil, err
			}
			return r.results(), nil
		},
	}
}

// cell is what tells recurrent operators apart.
type cell struct {
	gates     int
	functions []string // the activations' defaults, of one direction
	// biasInside keeps the bias of the recurrent product apart from that of the inputs'.
	biasInside bool
	// quantized weights are integers with scales and zero points, a row for each number of a step's input or state.
	quantized bool
	// step writes a step: the next states of the states and of a step's input, which is
	// the product with the gates' weights.
	step func(s *step, x *ir.Value, states []*ir.Value) []*ir.Value
}

// Numbers of operands.
const (
	recurrentX = iota
	recurrentW
	recurrentR
	recurrentB
	recurrentLens
	recurrentH
	recurrentC
	recurrentP
)

// recurrent is a recurrent operator that is being written.
type recurrent struct {
	*composer
	*cell
	t           ir.DType // in which it computes
	hidden      sym.Expr
	directions  []direction
	time, batch int // axes of X
	clip        float64
	activations []activationOf // of all directions
	active      *ir.Value      // whether a step is within its sequence, for each step; nil without lengths
	some        *ir.Value      // whether a sequence has a step
}

// stateAxis is the axis of R that runs over a state's numbers.
func (r *recurrent) stateAxis() int {
	if r.quantized {
		return 1
	}
	return 2
}

// direction is one run over the sequence.
type direction struct{ backward bool }

func newRecurrent(b *composer, c *cell) (*recurrent, error) {
	r := &recurrent{composer: b, cell: c, t: wide(b.Type(recurrentX)), batch: 1}
	name, err := b.choice("direction", "forward", "reverse", "bidirectional")
	if err != nil {
		return nil, err
	}
	r.directions = map[string][]direction{"forward": {{false}}, "reverse": {{true}}, "bidirectional": {{false}, {true}}}[name]
	batchFirst, err := b.flag("layout", 0)
	if err != nil {
		return nil, err
	}
	if batchFirst {
		r.time, r.batch = 1, 0
	}
	if b.Node.Has("clip") {
		if r.clip = float64(b.Node.Float("clip", 0)); !(r.clip >= 0) {
			return nil, fmt.Errorf("attribute clip is %v; want at least 0", r.clip)
		}
	}
	if r.activations, err = r.readActivations(); err != nil {
		return nil, err
	}
	return r, r.checkShapes()
}

// checkShapes requires the operands' shapes to fit each other.
func (r *recurrent) checkShapes() error {
	x, err := r.Shape(recurrentX)
	if err != nil {
		return err
	}
	w, err := r.Shape(recurrentW)
	if err != nil {
		return err
	}
	rs, err := r.Shape(recurrentR)
	if err != nil {
		return err
	}
	if len(x) != 3 || len(w) != 3 || len(rs) != 3 {
		return fmt.Errorf("operands X, W and R have ranks %d, %d and %d; want rank 3", len(x), len(w), len(rs))
	}
	if r.hidden = rs[r.stateAxis()]; r.Node.Has("hidden_size") {
		n := r.Node.Int("hidden_size", 0)
		if n < 1 {
			return fmt.Errorf("attribute hidden_size is %d; want at least 1", n)
		}
		if err := r.require(SameDim, r.hidden, sym.Const(n), "the numbers of a state in R and attribute hidden_size"); err != nil {
			return err
		}
		r.hidden = sym.Const(n)
	}
	directions, all := sym.Const(int64(len(r.directions))), sym.Scale(r.hidden, int64(r.gates))
	state := ir.Shape{directions, x[r.batch], r.hidden}
	if r.batch == 0 {
		state = ir.Shape{x[r.batch], directions, r.hidden}
	}
	ofInput, ofState := ir.Shape{directions, all, x[2]}, ir.Shape{directions, all, r.hidden}
	if r.quantized {
		ofInput, ofState = ir.Shape{directions, x[2], all}, ir.Shape{directions, r.hidden, all}
	}
	for _, want := range []struct {
		operand int
		shape   ir.Shape
	}{
		{recurrentW, ofInput},
		{recurrentR, ofState},
		{recurrentB, ir.Shape{directions, sym.Scale(all, 2)}},
		{recurrentLens, ir.Shape{x[r.batch]}},
		{recurrentH, state},
		{recurrentC, state},
		{recurrentP, ir.Shape{directions, sym.Scale(r.hidden, 3)}},
	} {
		if !r.Has(want.operand) {
			continue
		}
		if err := r.hasShape(want.operand, want.shape); err != nil {
			return fmt.Errorf("%s: %w", r.Row.Inputs[want.operand].Name, err)
		}
	}
	return nil
}

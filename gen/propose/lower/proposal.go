package lower

import (
	"errors"
	"fmt"
	"slices"

	"rules_dnn/gen/fusion/block"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/follow"
	"rules_dnn/gen/kernel/sched"
	"rules_dnn/gen/propose/micro"
	"rules_dnn/gen/propose/vars"
	"rules_dnn/gen/propose/weights"
	"rules_dnn/gen/target"
)

// Proposal is what a proposer makes of a block: stages, where they are computed, and the values of the kernel's operands.
type Proposal struct {
	Work  sched.Work
	Sched sched.Schedule
	// Values are those of the work's operands, of the block or of one that is equal to it up to the elements of what is packed.
	Values []func(b *block.Block) *ir.Value
	// Packing is how the kernel reads constant weights, where it is known.
	Packing *weights.Packing
}

// NewProposal has no stages yet.
func NewProposal(symbols sym.Facts) *Proposal { return &Proposal{Work: sched.Work{Facts: symbols}} }

// AddOperand adds one, which a block's value or what is made of it stands for, and gives its number.
func (p *Proposal) AddOperand(v *ir.Value, value func(b *block.Block) *ir.Value) int {
	p.Work.Operands, p.Values = append(p.Work.Operands, v), append(p.Values, value)
	return len(p.Values) - 1
}

// AddStage adds one, and gives its number.
func (p *Proposal) AddStage(st *te.Stage, s sched.Stage) int {
	p.Work.Stages, p.Sched.Stages = append(p.Work.Stages, st), append(p.Sched.Stages, s)
	return len(p.Work.Stages) - 1
}

// Shares reports whether a device has the memory that the items of a group share.
func (p *Proposal) Shares(o *target.OpenCL) bool {
	bytes, err := p.Sched.SharedBytes(&p.Work)
	return err == nil && bytes <= o.LocalBytes
}

// Args are the values of the kernel's buffers, for a block.
func (p *Proposal) Args(b *block.Block) func() ([]*ir.Value, error) {
	return func() ([]*ir.Value, error) {
		var out []*ir.Value
		for _, f := range p.Values {
			out = append(out, f(b))
		}
		return append(out, b.Results...), nil
	}
}

// Proposed follows what an anchor proposes, with a tile if it has one.
func (e *Env) Proposed(anchor string, t micro.Tile, p *Proposal, b *block.Block) (*Lowered, error) {
	name, family := anchor, anchor
	if t.Rows > 0 {
		name, family = TiledName(anchor, t), TiledFamily(anchor, t)
	}
	l, err := e.Scheduled(anchor, name, family, b, &p.Work, &p.Sched, p.Args(b))
	if err == nil {
		l.Packing = p.Packing
	}
	return l, err
}

// Suits is the kernel of work-groups that an anchor proposes; nil where the schedule is none for the block on the device, so that others compute
// it: what they give way to is there.
func (e *Env) Suits(anchor string, p *Proposal, b *block.Block) (*Lowered, error) {
	l, err := e.Proposed(anchor, micro.Tile{}, p, b)
	switch {
	case errors.As(err, new(*follow.TileError)):
		return nil, nil // it is read in steps that no micro-kernel has
	case err != nil:
		return nil, fmt.Errorf("block %s: %w", b.Label(), err)
	case l.Check() != nil:
		return nil, nil
	}
	return l, nil
}

// LoopList is a stage's loops, outermost first.
type LoopList []sched.Loop

// Add adds a loop within those that are there.
func (l *LoopList) Add(k sched.Kind, name, axis string, size int64, e sched.Edge) {
	*l = append(*l, sched.Loop{Kind: k, Var: name, Axis: axis, Size: size, Edge: e})
}

// Has reports whether there is a loop of the name.
func (l LoopList) Has(name string) bool {
	return slices.ContainsFunc(l, func(x sched.Loop) bool { return x.Var == name })
}

// Rows are a task's tiles, so many of so many rows: all that are left if tiles is 0.
func (l *LoopList) Rows(axis string, tiles, rows int64, last, rest sched.Edge) {
	l.Add(sched.Serial, vars.Tile, axis, tiles, last)
	l.Add(sched.Rows, vars.Row, axis, rows, rest)
}

// Lanes are the registers of a tile's rows.
func (l *LoopList) Lanes(axis string, registers, lanes int64, rounded bool) {
	l.Add(sched.Columns, vars.Vec, axis, registers, EdgeIf(rounded, sched.RoundUp))
	l.Add(sched.Lanes, vars.Lane, axis, lanes, EdgeIf(rounded, sched.RoundUp))
}

// EdgeIf is e where there is one.
func EdgeIf(there bool, e sched.Edge) sched.Edge {
	if there {
		return e
	}
	return sched.Exact
}

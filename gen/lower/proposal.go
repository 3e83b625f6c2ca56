package lower

import (
	"errors"
	"fmt"
	"slices"

	"rules_dnn/gen/block"
	"rules_dnn/gen/follow"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/sched"
	"rules_dnn/gen/sym"
	"rules_dnn/gen/target"
	"rules_dnn/gen/te"
)

// proposal is what a proposer makes of a block: stages, where they are computed, and the values of the kernel's operands.
type proposal struct {
	work  sched.Work
	sched sched.Schedule
	// values are those of the work's operands, of the block or of one that is equal to it up to the elements of what is packed.
	values []func(b *block.Block) *ir.Value
	// packing is how the kernel reads constant weights, where it is known.
	packing *Packing
}

func newProposal(symbols sym.Facts) *proposal { return &proposal{work: sched.Work{Facts: symbols}} }

// addOperand adds one, which a block's value or what is made of it stands for, and gives its number.
func (p *proposal) addOperand(v *ir.Value, value func(b *block.Block) *ir.Value) int {
	p.work.Operands, p.values = append(p.work.Operands, v), append(p.values, value)
	return len(p.values) - 1
}

// addStage adds one, and gives its number.
func (p *proposal) addStage(st *te.Stage, s sched.Stage) int {
	p.work.Stages, p.sched.Stages = append(p.work.Stages, st), append(p.sched.Stages, s)
	return len(p.work.Stages) - 1
}

// shares reports whether a device has the memory that the items of a group share.
func (p *proposal) shares(o *target.OpenCL) bool {
	bytes, err := p.sched.SharedBytes(&p.work)
	return err == nil && bytes <= o.LocalBytes
}

// args are the values of the kernel's buffers, for a block.
func (p *proposal) args(b *block.Block) func() ([]*ir.Value, error) {
	return func() ([]*ir.Value, error) {
		var out []*ir.Value
		for _, f := range p.values {
			out = append(out, f(b))
		}
		return append(out, b.Results...), nil
	}
}

// proposed follows what an anchor proposes, with a tile if it has one.
func (e *Env) proposed(anchor string, t tile, p *proposal, b *block.Block) (*Lowered, error) {
	name, family := anchor, anchor
	if t.rows > 0 {
		name, family = tiledName(anchor, t), tiledFamily(anchor, t)
	}
	l, err := e.scheduled(anchor, name, family, b, &p.work, &p.sched, p.args(b))
	if err == nil {
		l.Packing = p.packing
	}
	return l, err
}

// suits is the kernel of work-groups that an anchor proposes; nil where the schedule is none for the block on the device, so that others compute
// it: what they give way to is there.
func (e *Env) suits(anchor string, p *proposal, b *block.Block) (*Lowered, error) {
	l, err := e.proposed(anchor, tile{}, p, b)
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

// loopList is a stage's loops, outermost first.
type loopList []sched.Loop

func (l *loopList) add(k sched.Kind, name, axis string, size int64, e sched.Edge) {
	*l = append(*l, sched.Loop{Kind: k, Var: name, Axis: axis, Size: size, Edge: e})
}

// has reports whether there is a loop of the name.
func (l loopList) has(name string) bool {
	return slices.ContainsFunc(l, func(x sched.Loop) bool { return x.Var == name })
}

// rows are a task's tiles, so many of so many rows: all that are left if tiles is 0.
func (l *loopList) rows(axis string, tiles, rows int64, last, rest sched.Edge) {
	l.add(sched.Serial, tileVar, axis, tiles, last)
	l.add(sched.Rows, rowVar, axis, rows, rest)
}

// lanes are the registers of a tile's rows.
func (l *loopList) lanes(axis string, registers, lanes int64, rounded bool) {
	l.add(sched.Columns, vecVar, axis, registers, edge(rounded, sched.RoundUp))
	l.add(sched.Lanes, laneVar, axis, lanes, edge(rounded, sched.RoundUp))
}

// edge is e where there is one.
func edge(there bool, e sched.Edge) sched.Edge {
	if there {
		return e
	}
	return sched.Exact
}

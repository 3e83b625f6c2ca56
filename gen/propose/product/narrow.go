package product

import (
	"math"
	"slices"

	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/sched"
	"rules_dnn/gen/propose/lower"
	"rules_dnn/gen/target/instr"
)

// narrow finds how many points' products with the weights an instruction can add in 16 bits, whatever the other factor's bytes are; false where it cannot
// add as many as it takes at a time, or where the compiler does not know the weights. Vectors are wide enough for the bytes of an activation, and
// the products of a row with weights of 127 leave room for no second one (4.3: sums of 8-bit products need 32 bits).
func (p *product) narrow(l *lower.Proposal) (bool, error) {
	if p.weights == nil {
		return false, nil
	}
	last := len(l.Sched.Stages) - 1
	c, run := &l.Sched.Stages[last], int64(0)
	for _, k := range c.Loops {
		if k.Kind != sched.Sum {
			continue
		}
		run = 0 // of the innermost one; 0 of a loop over several axes, or a part of one
		if i := slices.IndexFunc(l.Work.Stages[last].Reduce, func(a te.Axis) bool { return a.Var == k.Axis }); i >= 0 && k.Size == 0 {
			run, _ = l.Work.Stages[last].Reduce[i].Extent.Const()
		}
	}
	if run == 0 {
		return false, nil
	}
	// Most weights leave no room, which few rows of them show.
	few := p.weights.Stage
	few.Axes = slices.Clone(few.Axes)
	if n, _ := few.Axes[0].Extent.Const(); p.row.Var != "" && n > rowsFirst {
		few.Axes[0].Extent = sym.Const(rowsFirst)
	}
	n, err := p.roomOf(&few, run, instr.MostNarrow)
	if err == nil && n > 1 { // a product by itself has room
		n, err = p.roomOf(&p.weights.Stage, run, n)
	}
	c.Tile.Narrow = n
	return n > 0, err
}

// rowsFirst are looked at first.
const rowsFirst = 8

// roomOf is the most points, of at most so many, whose sums in 16 bits have room with the weights of a stage; 0: none.
func (p *product) roomOf(st *te.Stage, run, most int64) (int64, error) {
	bytes, err := evaluate(st, p.Operands)
	if err != nil {
		return 0, err
	}
	step, out := p.instr.Together(), int64(0)
	for n := step; n <= min(most, max(run, step)) && p.room(bytes.Data, run, n); n += step {
		out = n
	}
	return out, nil
}

// room reports whether sums in 16 bits of so many points of runs of weights have room for any bytes of the other factor.
func (p *product) room(weights []byte, run, points int64) bool {
	group := p.instr.Group
	for first := int64(0); first < int64(len(weights)); first += run * group {
		for k := int64(0); k < run; k += points {
			for g := range group {
				var up, down int64
				for q := k; q < min(k+points, run); q++ {
					w := int64(int8(weights[first+q*group+g]))
					up, down = up+max(w, 0), down+min(w, 0)
				}
				if up*math.MaxUint8 > math.MaxInt16 || down*math.MaxUint8 < math.MinInt16 {
					return false
				}
			}
		}
	}
	return true
}

package sel

import (
	"fmt"
	"slices"

	"rules_dnn/gen/fusion/block"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/kernel/cost"
	"rules_dnn/gen/kernel/layout"
	"rules_dnn/gen/propose"
	"rules_dnn/gen/propose/lower"
	"rules_dnn/gen/target"
)

// cheapest is the best kernel of a block in some layouts: by the tuning record, or by estimates where that does not
// know the block. It is the zero Kernel where none can have these layouts.
func (s *selector) cheapest(b *block.Block, lay lower.Layouts) (Kernel, error) {
	k, err := s.estimated(b, lay, "")
	if err != nil || k.Lowered == nil || b.Call != nil || s.sides[k.Space].times == nil {
		return k, err
	}
	return s.measured(b, lay, k)
}

// known is cheapest where the name of that kernel is known, of a block that is equal up to names.
func (s *selector) known(b *block.Block, lay lower.Layouts, name string) (Kernel, error) {
	if name != "" && !s.tuned() {
		if k, err := s.estimated(b, lay, name); err != nil || k.Lowered != nil {
			return k, err
		}
	}
	return s.cheapest(b, lay)
}

// tuned reports whether there is a tuning record of any side.
func (s *selector) tuned() bool {
	return slices.ContainsFunc(s.sides, func(d *side) bool { return d.times != nil })
}

// estimated lowers a block by every anchor, or as the kernels of one name, and keeps the best by estimates.
func (s *selector) estimated(b *block.Block, lay lower.Layouts, only string) (Kernel, error) {
	ks, err := s.kernels(b, lay, 0, only)
	return best(ks), err
}

// best is the kernel of the least estimate, as it counts, or, where several processors may run it, of the least loss on any of them; the zero Kernel of none.
func best(ks []Kernel) Kernel {
	if len(ks) == 0 {
		return Kernel{}
	}
	on := make([][]float64, max(1, len(ks[0].on)))
	for _, k := range ks {
		if k.on == nil {
			on[0] = append(on[0], float64(k.Cycles*k.counted()))
		}
		for i, c := range k.on {
			on[i] = append(on[i], float64(c*k.counted()))
		}
	}
	least := 0
	losses := cost.Losses(on)
	for i, loss := range losses {
		if loss < losses[least] {
			least = i
		}
	}
	return ks[least]
}

// kernels are those of a block in some layouts, with so many tiles of each width, or of one name only.
func (s *selector) kernels(b *block.Block, lay lower.Layouts, tiles int, only string) ([]Kernel, error) {
	d := s.sideOf(b, lay)
	env := d.env()
	env.Layouts = here(lay)
	if b.Call == nil { // an opaque operator's values are row-major
		env.Layouts = d.stored(b, env.Layouts)
	}
	env.Tiles, env.Only, env.Given, env.Space, env.Packing, env.Points = tiles, only, s.point, s.space, s.packing, s.points
	ls, err := propose.Kernels(b, env)
	if err != nil {
		return nil, err
	}
	var out []Kernel
	for _, l := range ls {
		k, err := d.estimate(l)
		if err != nil {
			return nil, fmt.Errorf("block %s: %w", b.Label(), err)
		}
		out = append(out, k)
	}
	return s.packed(b, out), nil
}

// env returns the surroundings of blocks whose values are all row-major.
func (s *side) env() *lower.Env {
	env := lower.NewEnv(s.t, s.g.Facts, s.o.Options)
	env.Fusing = s.fusing
	return env
}

// estimate is a kernel with its cycles, also on each of the processors that may run it.
func (s *side) estimate(l *lower.Lowered) (Kernel, error) {
	on := []*target.Target{s.t}
	if all := s.t.Processors(); len(all) > 1 {
		on = append(on, all...)
	}
	cycles, err := s.cyclesOn(l, on)
	if err != nil {
		return Kernel{}, err
	}
	k := Kernel{Lowered: l, Cycles: s.cycles(cycles[0]), Space: s.space}
	if len(on) > 1 {
		k.on = cycles[1:]
		k.Cycles = s.cycles(cost.Mean(k.on)) // the facts of a level are those of none of them: it has no third-level cache, say
	}
	return k, nil
}

// cyclesOn is the cycles of a kernel on each of some processors, from its schedule where that tells them: such a kernel is made when it is chosen.
func (s *side) cyclesOn(l *lower.Lowered, on []*target.Target) ([]float64, error) {
	if l.Schedule != nil {
		if cycles, ok := cost.Schedule(l.Work, l.Schedule, l.Tiles, on, s.usual); ok {
			return cycles, nil
		}
	}
	if err := l.Make(); err != nil {
		return nil, err
	}
	var out []float64
	for _, t := range on {
		out = append(out, cost.Kernel(l.Kernel, t, s.usual))
	}
	return out, nil
}

// stored are the layouts in which a kernel finds values.
func (s *side) stored(b *block.Block, lay lower.Layouts) lower.Layouts {
	writesRows := len(b.Placed) > 0 || b.Stage.Update != nil || // chains and updates
		slices.ContainsFunc(b.Results, func(v *ir.Value) bool { return !s.sameBytes(v) }) // results are stored alike
	return func(v *ir.Value) layout.Layout {
		if lay(v) == layout.RowMajor && s.sameBytes(v) && !(writesRows && slices.Contains(b.Results, v)) {
			return s.blocked // loops over blocks of channels read other values better
		}
		return lay(v)
	}
}

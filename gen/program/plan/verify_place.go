package plan

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/kernel/layout"
	"rules_dnn/gen/ops"
)

// verifyPlaces checks that each value has a place, in its space and within that's memory, and that values which live at
// one time share no byte and no image.
func (p *Program) verifyPlaces() error {
	for _, x := range p.mentioned() {
		at, placed := p.Places[x]
		switch {
		case !placed:
			return fmt.Errorf("%q has no place in memory", x.Name)
		case at.Space != p.Space(x):
			return fmt.Errorf("%q is on the %s, but its place is on the %s", x.Name, p.Space(x), at.Space)
		case at.Space != layout.Host && (at.Region == Input || at.Region == Output):
			return fmt.Errorf("%q is a caller's %s; want it on the host, where the caller's memory is", x.Name, at.within())
		}
	}
	for _, space := range p.spaces() {
		m := p.memory(space)
		own := func(x *ir.Value) bool { return p.Space(x) == space }
		ivs := p.lives(own).list
		for _, iv := range ivs {
			elements, err := p.mostElements(p.Layouts[iv.value].Elements(iv.value.Shape), iv.checks)
			if err != nil {
				return fmt.Errorf("%s: %w", valueText(iv.value), err)
			}
			iv.bytes = sym.Scale(elements, int64(iv.value.Type.Size()))
		}
		if err := p.imagesApart(m, ivs); err != nil {
			return err
		}
		for _, env := range p.samples() {
			if err := p.fitsIn(space, m, ivs, env); err != nil {
				return err
			}
			if err := p.apart(space, ivs, env); err != nil {
				return err
			}
		}
	}
	return nil
}

// imagesApart checks that each value's image is of its extents, and that what lives at one time has images of its own.
func (p *Program) imagesApart(m *Memory, ivs []*interval) error {
	last := make([]*interval, len(m.Images)) // who has each image
	for _, iv := range ivs {
		v, at := iv.value, p.Places[iv.value]
		if isImage := p.Layouts[v].Memory == layout.Image; isImage != (at.Region == Image) {
			return fmt.Errorf("%q is stored as %s, at %s", v.Name, p.Layouts[v], at)
		} else if !isImage {
			continue
		}
		if at.N < 0 || at.N >= len(m.Images) {
			return fmt.Errorf("%q is in image %d of %d", v.Name, at.N, len(m.Images))
		}
		if o := last[at.N]; o != nil && o.last >= iv.first {
			return fmt.Errorf("%q and %q are live at the same time, but both are in image %d", o.value.Name, v.Name, at.N)
		}
		last[at.N] = iv
	}
	return nil
}

// samples are values of the symbols that plans are checked at: the least, large ones, and the greatest or what is large
// beyond. Such as the program refuses are left out.
func (p *Program) samples() []map[string]int64 {
	var out []map[string]int64
	for _, pick := range []func(ir.Symbol) int64{
		func(s ir.Symbol) int64 { return s.Lo },
		func(s ir.Symbol) int64 { return max(s.Lo, min(s.Hi, 7)) },
		func(s ir.Symbol) int64 { return max(s.Lo, min(s.Hi, largeDim)) },
	} {
		env := map[string]int64{}
		for _, s := range p.Symbols {
			if !s.Computed {
				env[s.Name] = pick(s)
			}
		}
		if p.BindBounds(env) != nil || !p.takes(env) || slices.ContainsFunc(out, func(o map[string]int64) bool { return maps.Equal(o, env) }) {
			continue
		}
		out = append(out, env)
	}
	return out
}

// takes reports whether the program's checks hold.
func (p *Program) takes(env map[string]int64) bool {
	for _, c := range p.Checks {
		a, err1 := c.A.Eval(env)
		b, err2 := c.B.Eval(env)
		if err1 != nil || err2 != nil || !Holds(c.Check, a, b) {
			return false
		}
	}
	return true
}

// Holds reports whether a condition holds of the values of its sides.
func Holds(c ops.Check, a, b int64) bool {
	switch c.Kind {
	case ops.Broadcastable:
		return a == b || a == 1 && b >= 0 || b == 1 && a >= 0
	case ops.AtLeast:
		return a >= b
	}
	return a == b
}

// spanOf is a value's bytes in its region; false where they are none that a run has.
func (p *Program) spanOf(iv *interval, env map[string]int64) (from, to int64, ok bool) {
	from, err := p.Places[iv.value].Offset.Eval(env)
	n, wrong := iv.bytes.Eval(env)
	return from, from + n, err == nil && wrong == nil && n >= 0
}

// fitsIn checks that constants, values and scratch of a space end within its memory.
func (p *Program) fitsIn(space layout.Space, m *Memory, ivs []*interval, env map[string]int64) error {
	arena, err := m.ArenaBytes.Eval(env)
	if err != nil {
		return nil // no run has these dimensions
	}
	for _, iv := range ivs {
		where, size := in(space)+"arena", arena
		switch p.Places[iv.value].Region {
		case Arena:
		case Weights:
			where, size = in(space)+"weights", m.WeightsBytes
		default:
			continue
		}
		from, to, ok := p.spanOf(iv, env)
		switch {
		case !ok:
		case from < 0 || to > size:
			return fmt.Errorf("%q lies at bytes %d to %d of %s, which has %d (%v)", iv.value.Name, from, to, where, size, env)
		case from%m.align() != 0:
			return fmt.Errorf("%q is at byte %d of %s, not a multiple of %d (%v)", iv.value.Name, from, where, m.align(), env)
		}
	}
	scratch, err := m.ScratchBytes.Eval(env)
	for _, c := range p.callsIn(space) {
		_, bytes := c.Scratch()
		if n, wrong := bytes.Eval(env); err == nil && wrong == nil && n > scratch {
			return fmt.Errorf("block %s takes %d bytes of scratch memory; the plan has %d (%v)", c.Block.Label(), n, scratch, env)
		}
	}
	return nil
}

// apart checks that values which live at one time share no byte of an arena.
func (p *Program) apart(space layout.Space, ivs []*interval, env map[string]int64) error {
	type span struct {
		*interval
		from, to int64
	}
	var spans []span
	var boxes []*box
	for _, iv := range ivs {
		from, to, ok := p.spanOf(iv, env)
		if at := p.Places[iv.value]; at.Region == Arena && ok && to > from {
			spans = append(spans, span{iv, from, to})
			boxes = append(boxes, &box{first: iv.first, last: iv.last})
		}
	}
	var live []span // sorted, none in another one
	find := func(s span) (int, bool) {
		return slices.BinarySearchFunc(live, s, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	}
	var err error
	sweep(boxes, func(i int) {
		s := spans[i]
		at, _ := find(s)
		for _, o := range live[max(0, at-1):min(len(live), at+1)] {
			if err == nil && o.from < s.to && s.from < o.to {
				err = fmt.Errorf("%q and %q are live at the same time, at bytes %d to %d and %d to %d of the %sarena (%v)", o.value.Name, s.value.Name, o.from, o.to, s.from, s.to, in(space), env)
			}
		}
		live = slices.Insert(live, at, s)
	}, func(i int) {
		if at, found := find(spans[i]); found {
			live = slices.Delete(live, at, at+1)
		}
	})
	return err
}

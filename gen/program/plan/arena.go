package plan

import (
	"cmp"
	"slices"

	"rules_dnn/gen/fusion/block"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/kernel/layout"
)

// interval is a value's life: from the step that writes it to the last that reads it.
type interval struct {
	value       *ir.Value
	first, last int
	checks      []*block.Check // that hold at each step that mentions the value
	bytes       sym.Expr
}

// placeArena packs the values whose sizes are multiples of one product of symbols by constants, whatever
// the symbols' values (SoD2 5.4.4.1), and lets what lives at different times take the same memory, which is
// then as large as the greatest of it.
func (p *Program) placeArena(space layout.Space, m *Memory, u *unbounded) error {
	ivs := p.lives(p.unplaced(space)).list
	for _, iv := range ivs {
		elements, err := p.mostElements(p.Layouts[iv.value].Elements(iv.value.Shape), iv.checks)
		if err := u.note(err, valueText(iv.value)); err != nil {
			return err
		}
		if iv.bytes = bytesOf(elements, iv.value.Type, m.align()); iv.bytes.Is(0) {
			iv.bytes = sym.Const(m.align()) // apart from the others: a kernel promises that no two of its buffers are one
		}
	}
	if u.any() {
		return nil // it ends with a message: nothing is to be placed
	}
	a := &arena{facts: p.Facts, sizes: p.large()}
	a.place(ivs)
	for iv, at := range a.at {
		p.Places[iv.value] = Place{Region: Arena, Offset: at, Space: space}
	}
	m.ArenaBytes, m.LowerBoundBytes = a.bytes, a.bound(ivs)
	return nil
}

// largeDim is what plans are compared at: larger dimensions than that are alike.
const largeDim = 1024

// large gives each symbol of the inputs a value at which memory matters.
func (p *Program) large() map[string]int64 {
	env := map[string]int64{}
	for _, s := range p.Symbols {
		if !s.Computed {
			env[s.Name] = max(s.Lo, min(s.Hi, largeDim))
		}
	}
	return env
}

// arena is where values lie, chosen for some sizes and right for any.
type arena struct {
	facts sym.Facts
	sizes map[string]int64
	at    map[*interval]sym.Expr
	bytes sym.Expr
}

// slot is memory for areas that live one after the other.
type slot struct {
	areas []*area
	large int64 // bytes at the arena's sizes
}

// maxAreas is of how many areas it is tried which can take each other's memory, and of how many values which can lie
// above which others: that takes time in their square. Networks have up to a thousand values.
const maxAreas = 1 << 12

// place divides the values into areas in some ways, or stacks them, and takes what needs least at the arena's sizes.
func (a *arena) place(ivs []*interval) {
	whole := areasOf(ivs)
	best, slots := int64(-1), []*slot(nil)
	for _, divide := range []func(*area) []*area{
		func(x *area) []*area { return []*area{x} },
		(*area).connected,
		(*area).single,
	} {
		var areas []*area
		for _, x := range whole {
			areas = append(areas, divide(x)...)
		}
		if len(areas) > maxAreas && slots != nil {
			continue
		}
		if in, large := a.assign(areas); best < 0 || large < best {
			slots, best = in, large
		}
		if len(whole) < 2 { // areas can gain nothing from each other that packing has not gained
			a.useSlots(slots)
			return
		}
	}
	for _, fraction := range []int64{0, 128, 32} {
		if len(ivs) > maxAreas {
			break
		}
		big, small := a.divide(ivs, best, fraction)
		rest, large := a.assign(areasOf(small))
		if s := a.newStack(big); s != nil && s.large+large < best {
			a.useSlots(rest)
			a.useStack(s)
			return
		}
	}
	a.useSlots(slots)
}

// divide takes values that are less than a fraction of all, whose offsets may well be added up, from the others; 0: none.
func (a *arena) divide(ivs []*interval, all, fraction int64) (big, small []*interval) {
	for _, iv := range ivs {
		if fraction > 0 && a.large(iv.bytes) < all/fraction {
			small = append(small, iv)
		} else {
			big = append(big, iv)
		}
	}
	return big, small
}

// useSlots lets slots lie one after the other.
func (a *arena) useSlots(slots []*slot) {
	a.at, a.bytes = map[*interval]sym.Expr{}, sym.Const(0)
	for _, s := range slots {
		for _, x := range s.areas {
			for i, iv := range x.members {
				a.at[iv] = sym.Add(a.bytes, sym.Scale(x.unit, x.boxes[i].offset))
			}
		}
		a.bytes = sym.Add(a.bytes, a.size(s))
	}
}

// useStack lets a stack lie after what is there.
func (a *arena) useStack(s *stack) {
	for i, iv := range s.ivs {
		a.at[iv] = sym.Add(a.bytes, s.at[i])
	}
	a.bytes = sym.Add(a.bytes, s.bytes)
}

// assign packs each area and puts it, the largest first, into the smallest slot that is free while it lives.
func (a *arena) assign(areas []*area) (slots []*slot, large int64) {
	for _, x := range areas {
		a.measure(x)
	}
	slices.SortStableFunc(areas, func(x, y *area) int { return cmp.Compare(y.large, x.large) })
	for _, x := range areas {
		var in *slot
		for _, s := range slots {
			if s.free(x) && (in == nil || s.large <= in.large) {
				in = s
			}
		}
		if in == nil {
			in = &slot{large: x.large}
			slots = append(slots, in)
			large += x.large
		}
		in.areas = append(in.areas, x)
	}
	return slots, large
}

func (s *slot) free(x *area) bool {
	return !slices.ContainsFunc(s.areas, func(y *area) bool { return x.first <= y.last && y.first <= x.last })
}

// measure packs an area.
func (a *arena) measure(x *area) {
	x.peak = pack(x.boxes)
	x.first, x.last = x.boxes[0].first, x.boxes[0].last
	for _, b := range x.boxes {
		x.first, x.last = min(x.first, b.first), max(x.last, b.last)
	}
	x.large = a.large(sym.Scale(x.unit, x.peak))
}

// large is a size at the arena's sizes; one that nobody can compute counts as huge.
func (a *arena) large(size sym.Expr) int64 {
	n, err := size.Eval(a.sizes)
	if err != nil {
		return 1 << 40
	}
	return n
}

// size is the greatest of a slot's areas, each unit compared once.
func (a *arena) size(s *slot) sym.Expr {
	peaks, units := map[string]int64{}, []*area{}
	for _, x := range s.areas {
		key := x.unit.String()
		if _, known := peaks[key]; !known {
			units = append(units, x)
		}
		peaks[key] = max(peaks[key], x.peak)
	}
	size := sym.Const(0)
	for _, x := range units {
		size = sym.Max(size, sym.Scale(x.unit, peaks[x.unit.String()]), a.facts)
	}
	return size
}

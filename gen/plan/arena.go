package plan

import (
	"fmt"
	"sort"

	"rules_dnn/gen/block"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/sym"
)

// interval is a value's life: from the step that writes it to the last that reads it.
type interval struct {
	value       *ir.Value
	first, last int
	checks      []*block.Check // that hold at each step that mentions the value
	size        int64          // multiples of the group's unit, in bytes
	offset      int64
}

// group is values whose sizes are multiples of one product of symbols: they can be
// planned with constants, whatever the symbols' values (SoD2 5.4.4.1).
type group struct {
	unit sym.Expr
	ivs  []*interval
}

func (p *Program) placeArena() error {
	groups := map[string]*group{}
	for _, iv := range p.lives().list {
		elements, err := p.mostElements(p.Layouts[iv.value].Elements(iv.value.Shape), iv.checks)
		if err != nil {
			return fmt.Errorf("value %q of shape %v: %w", iv.value.Name, iv.value.Shape, err)
		}
		size := bytesOf(elements, iv.value.Type, p.align())
		unit, k := factor(size)
		iv.size = k
		g := groups[unit.String()]
		if g == nil {
			g = &group{unit: unit}
			groups[unit.String()] = g
		}
		g.ivs = append(g.ivs, iv)
	}
	keys := make([]string, 0, len(groups))
	for k := range groups {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	base, bound := sym.Const(0), sym.Const(0)
	for _, k := range keys {
		g := groups[k]
		peak := pack(g.ivs)
		for _, iv := range g.ivs {
			p.Places[iv.value] = Place{Region: Arena, Offset: sym.Add(base, sym.Scale(g.unit, iv.offset))}
		}
		base = sym.Add(base, sym.Scale(g.unit, peak))
		bound = sym.Add(bound, sym.Scale(g.unit, liveBound(g.ivs)))
	}
	p.ArenaBytes, p.LowerBoundBytes = base, bound
	return nil
}

// factor writes a size as k * unit; a size of several summands is its own unit.
func factor(size sym.Expr) (unit sym.Expr, k int64) {
	terms, c := size.Terms()
	switch {
	case len(terms) == 0:
		return sym.Const(1), c
	case len(terms) == 1 && c == 0:
		return product(terms[0].Atoms), terms[0].Coef
	}
	return size, 1
}

// pack gives each interval the lowest offset that no overlapping one takes, largest first
// (greedy by size), and returns the peak.
func pack(ivs []*interval) int64 {
	order := append([]*interval{}, ivs...)
	sort.SliceStable(order, func(i, j int) bool { return order[i].size > order[j].size })
	peak := int64(0)
	for k, iv := range order {
		var busy []*interval
		for _, o := range order[:k] {
			if o.first <= iv.last && iv.first <= o.last {
				busy = append(busy, o)
			}
		}
		iv.offset = firstGap(busy, iv.size)
		peak = max(peak, iv.offset+iv.size)
	}
	return peak
}

func firstGap(busy []*interval, size int64) int64 {
	sort.SliceStable(busy, func(i, j int) bool { return busy[i].offset < busy[j].offset })
	at := int64(0)
	for _, b := range busy {
		if b.offset-at >= size {
			break
		}
		at = max(at, b.offset+b.size)
	}
	return at
}

// liveBound is the most bytes that are live in one step.
func liveBound(ivs []*interval) int64 {
	best := int64(0)
	for _, x := range ivs {
		live := int64(0)
		for _, y := range ivs {
			if y.first <= x.first && x.first <= y.last {
				live += y.size
			}
		}
		best = max(best, live)
	}
	return best
}

package sel

import (
	"fmt"
	"math"
	"slices"

	"rules_dnn/gen/fusion/block"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/kernel/layout"
	"rules_dnn/gen/propose"
)

// enumerate makes the candidates of every block.
func (s *selector) enumerate() error {
	s.walk(s.g, 1)
	for _, d := range s.sides {
		if err := d.wantProposed(); err != nil {
			return err
		}
	}
	for _, d := range s.sides {
		d.wantImages()
		d.wantTurned()
		d.wantAsked()
	}
	for _, b := range s.blocks {
		cs, err := s.blockCandidates(b)
		if err != nil {
			return err
		}
		if len(cs) == 0 {
			return fmt.Errorf("block %s: no kernel computes it", b.Label())
		}
		s.candidates = append(s.candidates, cs)
	}
	return nil
}

// wantProposed lets values have the layouts that proposers want.
func (d *side) wantProposed() error {
	env := d.env()
	for _, b := range d.blocks {
		if b.Stage == nil {
			continue
		}
		if err := propose.Layouts(b, env, d.want); err != nil {
			return err
		}
	}
	return nil
}

// walk collects blocks and values of a graph, which runs so often, and of those that its blocks run.
func (s *selector) walk(g *block.Graph, runs float64) {
	s.findViews(g)
	s.interfaces = append(append(s.interfaces, g.Inputs...), g.Outputs...)
	for _, v := range g.Inputs {
		s.given[v], s.runs[v] = true, runs
	}
	for _, b := range g.Blocks {
		for _, v := range b.Results {
			s.runs[v] = runs
		}
		if b.Control == nil {
			s.blocks = append(s.blocks, b)
			continue
		}
		s.interfaces = append(append(s.interfaces, b.Results...), reads(b.Control)...)
		for _, v := range b.Results {
			s.given[v] = true
		}
		inner := runs
		if l := b.Control.Loop; l != nil {
			inner *= trips(l)
			for _, st := range l.States {
				s.interfaces = append(s.interfaces, st.Init)
			}
		}
		for _, r := range b.Control.Graphs() {
			s.walk(r, inner)
		}
	}
}

// reads are what the host program reads of control flow to know where to go.
func reads(c *block.Control) []*ir.Value {
	switch {
	case c.If != nil:
		return []*ir.Value{c.If.Cond}
	case c.Loop.Max != nil:
		return []*ir.Value{c.Loop.Max}
	}
	return nil
}

// usualTrips are the iterations of a loop of whose number nothing is known.
const usualTrips = 16

func trips(l *block.Loop) float64 {
	if n, ok := l.Trips.Const(); ok && n < sym.MaxDim {
		return float64(n)
	}
	return usualTrips
}

// fetching is what the bytes of inputs take that come from a device first where the processor computes a block of them: applications may have them
// there, and a block that only makes them smaller gains no more than that. Waiting does not count, as nothing is known of where they are.
func (s *selector) fetching(b *block.Block, layouts map[*ir.Value]layout.Layout) float64 {
	if len(s.sides) < 2 || b.Call != nil || layouts[b.Results[0]].Space != layout.Host {
		return 0
	}
	cycles := 0.0
	for _, v := range b.Operands {
		if slices.Contains(s.g.Inputs, v) {
			cycles += s.transferring(v) - s.sides[layout.Device].link.Transfer(0)
		}
	}
	return cycles
}

// blockCandidates estimates each assignment of layouts. Blocks that are equal up to names are
// estimated once.
func (s *selector) blockCandidates(b *block.Block) ([]candidate, error) {
	assignments := s.assignments(b)
	class, err := s.class(b)
	if err != nil {
		return nil, err
	}
	if class.best == nil {
		for _, layouts := range assignments {
			k, err := s.cheapest(b, func(v *ir.Value) layout.Layout { return layouts[v] })
			if err != nil {
				return nil, err
			}
			class.best = append(class.best, assign(k))
		}
	}
	var out []candidate
	for i, layouts := range assignments {
		if s.views[b] {
			if _, ok := s.viewsIn(b, func(v *ir.Value) layout.Layout { return layouts[v] }); ok {
				out = append(out, candidate{layouts: layouts, cycles: s.strays(b, layouts), view: true})
				continue
			}
		}
		k := class.best[i]
		if over := class.over(k, s.wantsPacked(b)); !math.IsInf(k.cycles+over, 1) {
			out = append(out, candidate{layouts: layouts, cycles: k.cycles + s.price(b, layouts) + s.fetching(b, layouts) + over, over: over, kernel: k.name})
		}
	}
	return out, nil
}

// price is what the options add to a candidate.
func (s *selector) price(b *block.Block, layouts map[*ir.Value]layout.Layout) float64 {
	p := s.strays(b, layouts)
	if s.o.Price != nil {
		p += s.o.Price(b, layouts[b.Results[0]].Space)
	}
	return p
}

// maxLayouts is the most layouts of a value; of more, the rest are left out.
const maxLayouts = 4

// want notes that an instruction reads a value in a layout.
func (s *side) want(v *ir.Value, l layout.Layout) {
	if s.o.Layouts && s.o.Contractions && v.Const == nil && l.Fits(v.Shape) && !slices.Contains(s.wanted[v], l) && len(s.wanted[v]) < maxLayouts-1 {
		s.wanted[v] = append(s.wanted[v], l)
	}
}

// mayBlock reports whether a value can be stored in blocks of channels; where there is texture
// memory, it is in texels.
func (s *side) mayBlock(v *ir.Value) bool { return s.hasBlocks(v) && !s.sameBytes(v) }

func (s *side) hasBlocks(v *ir.Value) bool {
	if !s.o.Layouts || s.t.Images != nil || v.Const != nil || !slices.Contains(s.t.BlockedTypes(), v.Type) || len(v.Shape) < 3 || !s.blocked.Fits(v.Shape) {
		return false
	}
	n, _ := v.Shape[channelAxis].Const()
	return n >= s.blocked.Along(channelAxis)
}

// sameBytes reports whether the value lies in memory alike in both layouts: whole blocks of channels,
// and nothing but channels.
func (s *side) sameBytes(v *ir.Value) bool {
	if !s.hasBlocks(v) || s.blocked.Padded(v.Shape) {
		return false
	}
	for _, d := range v.Shape[channelAxis+1:] {
		if !d.Is(1) {
			return false
		}
	}
	return true
}

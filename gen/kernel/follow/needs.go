package follow

import (
	"fmt"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/loop"
	"rules_dnn/gen/kernel/sched"
	"rules_dnn/gen/target"
)

// Tiles are the micro-kernels of whole tiles, by stage, nil where a stage has none: what can be said of a schedule without following it. It
// refuses what Unverified refuses of tiles.
func Tiles(w *sched.Work, s *sched.Schedule, t *target.Target) ([]*loop.MicroKernel, error) {
	needed := neededByTiles(w, s)
	f, err := start(w, s, t, needed)
	if err != nil {
		return nil, err
	}
	for n, c := range f.at {
		switch needed[n] {
		case computed:
			f.enter(c)
		case read:
			f.memory(c)
		case around:
			f.partRanges(c)
		}
	}
	out := make([]*loop.MicroKernel, len(w.Stages))
	for n, c := range f.at {
		if out[n], err = f.wholeTile(c); err != nil {
			return nil, fmt.Errorf("stage %d: %w", n, err)
		}
	}
	return out, nil
}

// need is what micro-kernels need of a stage.
type need uint8

// Needs, the greater ones more.
const (
	nothing  need = iota
	around        // its loops: a tile is computed in them
	read          // where its results lie
	computed      // it has a tile
)

// neededByTiles is what the micro-kernels of all tiles need of each stage.
func neededByTiles(w *sched.Work, s *sched.Schedule) []need {
	out := make([]need, len(s.Stages))
	atLeast := func(n int, x need) { out[n] = max(out[n], x) }
	for n := range s.Stages {
		if s.Stages[n].Tile == nil {
			continue
		}
		atLeast(n, computed)
		for at := s.Stages[n].At; at != sched.Root; at = s.Stages[at.Stage].At {
			atLeast(at.Stage, around)
		}
		for _, e := range w.Stages[n].Values {
			te.Walk(e, func(e te.Expr) {
				if l, ok := e.(te.Load); ok && l.Source.Stage {
					atLeast(l.Source.N, read)
				}
			})
		}
	}
	return out
}

// elements is the size of what is stored in a shape; micro-kernels need none.
func (f *follower) elements(v sched.Value, s ir.Shape) sym.Expr {
	if f.tiles {
		return sym.Expr{}
	}
	return sym.Add(v.Parts.Elements(s), sym.Const(v.Margin.Before+v.Margin.After))
}

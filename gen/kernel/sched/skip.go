package sched

import (
	"fmt"

	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
)

// CopiedZeros are conditions on the axes of stage n, which multiplies, under all of which a factor is no padding: those of the stage that copies the factor, which has
// zeros where one does not hold. There are none where no factor is such a copy.
func (w *Work) CopiedZeros(n int) []te.Within {
	var out []te.Within
	for _, v := range w.Stages[n].Values {
		te.Walk(v, func(e te.Expr) {
			if l, ok := e.(te.Load); ok && l.Source.Stage && out == nil {
				out = w.copiedZeros(l)
			}
		})
	}
	return out
}

// copiedZeros are those of a load of a stage.
func (w *Work) copiedZeros(l te.Load) []te.Within {
	if l.Source.N < 0 || l.Source.N >= len(w.Stages) {
		return nil
	}
	of := w.Stages[l.Source.N]
	if of.Combine != nil || l.Source.Part >= len(of.Results) || len(l.Index) != len(of.Axes) {
		return nil
	}
	e := of.Results[l.Source.Part]
	if cast, is := e.(te.Call); is && cast.Fn == "cast" {
		e = cast.Args[0]
	}
	x, isLoad := e.(te.Load)
	if zero, isConst := x.Default.(te.Const); !isLoad || !isConst || zero.Bits != 0 {
		return nil
	}
	at := map[string]sym.Expr{}
	for d, a := range of.Axes {
		at[a.Var] = l.Index[d]
	}
	var out []te.Within
	for _, c := range x.Guard {
		out = append(out, te.Within{E: c.E.Subst(at, w.Facts), Lo: c.Lo.Subst(at, w.Facts), Hi: c.Hi.Subst(at, w.Facts)})
	}
	return out
}

// Needed are the iterations [from, to) of a loop of n at which an index within [lo, hi) is read, one at least: an index begins at a place, as do others up to reach
// behind it, and each iteration moves them by step. They are from where the last one meets the condition to where the first one leaves it.
func Needed(lo, hi, place, reach, step, n int64) (from, to int64) {
	from = min(max(sym.CeilInt(lo-place-reach, step), 0), n-1)
	return from, max(min(sym.CeilInt(hi-place, step), n), from+1)
}

// skips checks that a tile which leaves out what is padding knows where that is.
func (v *verifier) skips(n int) error {
	t := v.s.Stages[n].Tile
	if t.Skips < 0 || t.Skips > MostSkips || t.Skips > 0 && len(v.w.CopiedZeros(n)) == 0 {
		return fmt.Errorf("padding is skipped in %d ways; want at most %d, for a factor that a stage copies with zeros around it", t.Skips, MostSkips)
	}
	return nil
}

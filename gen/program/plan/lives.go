package plan

import (
	"slices"

	"rules_dnn/gen/fusion/block"
	"rules_dnn/gen/ir"
)

// lifetimes are the intervals of all values that are asked for, in order of their first step.
// Steps count in the order of the program's text: what only one branch uses takes the memory of
// what only the other one does.
type lifetimes struct {
	p    *Program
	take func(*ir.Value) bool // which of the values that have storage of their own
	at   map[*ir.Value]*interval
	list []*interval
	step int
	// depth is how many loops are around the current step, and depths of a value around the
	// step that mentioned it first: what a loop uses of the steps around it, or keeps from one
	// iteration to the next, lives as long as the loop.
	loops  []*span
	depths map[*ir.Value]int
	// checks hold at the current step, for they were made before it in the list or in one around it.
	checks []*block.Check
}

// span is a loop's: where it begins, and the values from outside that are used in it.
type span struct {
	first int
	used  []*interval
}

func (p *Program) lives(take func(*ir.Value) bool) *lifetimes {
	l := &lifetimes{p: p, take: take, at: map[*ir.Value]*interval{}, depths: map[*ir.Value]int{}}
	l.steps(p.Steps)
	return l
}

func (l *lifetimes) steps(steps []Step) {
	around := len(l.checks)
	defer func() { l.checks = slices.Clip(l.checks[:around]) }() // what intervals keep is not overwritten
	for _, s := range steps {
		if s.Check != nil {
			l.checks = append(l.checks, s.Check)
		}
		l.step++
		for _, v := range s.values() {
			l.use(v)
		}
		if s.Loop != nil {
			l.loop(s.Loop)
			continue
		}
		for _, inner := range s.inner() { // one of which runs
			l.steps(inner)
		}
	}
}

func (l *lifetimes) loop(x *Loop) {
	in := &span{first: l.step}
	l.loops = append(l.loops, in)
	l.steps(x.Body)
	l.step++
	if x.While != nil { // read after each iteration
		l.use(x.While)
	}
	l.loops = l.loops[:len(l.loops)-1]
	for _, iv := range in.used {
		iv.first, iv.last = min(iv.first, in.first), max(iv.last, l.step)
	}
}

// use notes that the current step mentions a value. A part of another value, or a state, belongs to
// the steps around the loop that fills or changes it.
func (l *lifetimes) use(v *ir.Value) {
	r := l.p.root(v)
	of := r.of
	if !l.take(of) {
		return
	}
	iv := l.at[of]
	if iv == nil {
		iv = &interval{value: of, first: l.step, checks: l.checks}
		l.at[of] = iv
		l.list = append(l.list, iv)
		l.depths[of] = len(l.loops) - r.parts // each whole that v is a part of keeps it one loop longer
	}
	iv.last = max(iv.last, l.step)
	for n := len(iv.checks); n > 0 && (len(l.checks) < n || l.checks[n-1] != iv.checks[n-1]); n-- {
		iv.checks = iv.checks[:n-1]
	}
	l.depths[of] = min(l.depths[of], len(l.loops)) // of a constant: a loop may have been the first to read it
	for _, in := range l.loops[l.depths[of]:] {
		in.used = append(in.used, iv)
	}
}

package packed

import (
	"slices"

	"rules_dnn/gen/emit/hexagon/isa"
)

// place is a register.
type place struct {
	class isa.Class
	n     int64
}

// pool is the registers of values: vectors that are no accumulators, and scalars that are no bases.
func (s *schedule) pool() map[place]bool {
	out := map[place]bool{}
	for n := s.micro.Rows * s.micro.Vectors; n < 32; n++ {
		out[place{isa.Vector, n}] = true
	}
	for _, r := range scalars {
		if r < callers || r >= callers+kept || slices.Contains(s.saved, r&^1) {
			out[place{isa.Scalar, r}] = true
		}
	}
	for v, r := range s.register {
		if v >= basesAt {
			delete(out, place{isa.Scalar, r})
		}
	}
	return out
}

// life is a value's in straight-line code: from where it is written (-1: before) to where it is read last.
type life struct{ begin, end int }

// renamed gives the values of straight-line code registers in turn, so that few of them wait for one.
func (s *schedule) renamed(all []isa.Inst) []isa.Inst {
	pool := s.pool()
	lives, current := map[place][]life{}, map[place]int{}
	for n, i := range all {
		for _, u := range i.Reads(s.version) {
			p := place{u.Class, u.Reg}
			if !pool[p] {
				continue
			}
			if len(lives[p]) == 0 {
				lives[p] = []life{{-1, n}} // it was there before
			}
			lives[p][len(lives[p])-1].end = n
		}
		for _, w := range i.Writes(s.version) {
			if p := (place{w.Class, w.Reg}); pool[p] {
				lives[p] = append(lives[p], life{n, n})
			}
		}
	}
	busy, name := map[place]int{}, map[place]int64{} // until when a register is taken; the register of a value
	for p := range pool {
		busy[p], name[p] = -1, p.n
		if l := lives[p]; len(l) > 0 && l[0].begin < 0 {
			busy[p] = l[0].end
		}
	}
	var out []isa.Inst
	for n, i := range all {
		i.Args = slices.Clone(i.Args)
		was := i.Args
		args := slices.Clone(i.Args)
		for k, o := range i.Row.Operands {
			if o.Reads && (o.Class == isa.Vector || o.Class == isa.Scalar) && pool[place{o.Class, was[k]}] {
				args[k] = name[place{o.Class, was[k]}]
			}
		}
		for k, o := range i.Row.Operands {
			p := place{o.Class, 0}
			if o.Class == isa.Vector || o.Class == isa.Scalar {
				p.n = was[k]
			}
			if !o.Writes || !pool[p] {
				continue
			}
			for current[p] < len(lives[p]) && lives[p][current[p]].begin < n {
				current[p]++
			}
			to := s.longestFree(p.class, busy, n)
			busy[place{p.class, to}] = lives[p][current[p]].end
			name[p], args[k] = to, to
		}
		i.Args = args
		out = append(out, i)
	}
	return out
}

// longestFree is the register that has been free for longest.
func (s *schedule) longestFree(class isa.Class, busy map[place]int, now int) int64 {
	best := int64(-1)
	for n := range int64(32) {
		until, ok := busy[place{class, n}]
		if ok && until <= now && (best < 0 || until < busy[place{class, best}]) {
			best = n
		}
	}
	return best
}

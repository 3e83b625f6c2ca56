package packed

import (
	"slices"

	"rules_dnn/gen/emit/hexagon/isa"
)

// timed is an operation of an iteration at its packet.
type timed struct {
	op, iteration, time int
}

// rows are the loop's packets.
func (s *schedule) rows() [][]isa.Inst {
	out := make([][]isa.Inst, s.Interval)
	for t, row := range s.Packets() {
		for _, i := range row {
			out[t] = append(out[t], s.inst(i))
		}
	}
	return out
}

// region is what runs in the packets from one to another, without a loop, in an order that says what it means.
func (s *schedule) region(from, to int) []isa.Inst {
	var all []timed
	first := max(0, (from-slices.Max(s.Times))/s.Interval) // iterations before it are over
	for j := first; j < int(s.body.count)+s.Stages() && j*s.Interval < to; j++ {
		for i, t := range s.Times {
			// Loads of the last iterations are relative to bases that step on.
			if at := t + j*s.Interval; at >= from && at < to && (j < int(s.body.count) || s.ops[i].kind == step) {
				all = append(all, timed{i, j, at})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b timed) int { return a.time - b.time })
	var out []isa.Inst
	for len(all) > 0 {
		n := 0
		for n < len(all) && all[n].time == all[0].time {
			n++
		}
		packet, _ := s.sequence(all[:n]) // see sequential
		for _, x := range packet {
			if inst, ok := s.instance(x); ok {
				out = append(out, inst)
			}
		}
		all = all[n:]
	}
	return out
}

// sequence is a packet's operations one after the other: each reads what it does in the packet, before others write it. There may be no such order.
func (s *schedule) sequence(packet []timed) (out []timed, ok bool) {
	left := slices.Clone(packet)
	for len(left) > 0 {
		n := slices.IndexFunc(left, func(x timed) bool {
			return !slices.ContainsFunc(left, func(y timed) bool { return x != y && s.overwrites(x.op, y.op) })
		})
		if n < 0 {
			return nil, false
		}
		out = append(out, left[n])
		left = slices.Delete(left, n, n+1)
	}
	return out, true
}

// overwrites reports whether one operation writes what another reads.
func (s *schedule) overwrites(a, b int) bool { return overwrites(s.version, s.inst(a), s.inst(b)) }

func overwrites(version int, a, b isa.Inst) bool {
	for _, w := range a.Writes(version) {
		for _, u := range b.Reads(version) {
			if w.Class == u.Class && w.Reg == u.Reg {
				return true
			}
		}
	}
	return false
}

// instance is an operation in an iteration: in the first one, the first product of an accumulator is the accumulator.
func (s *schedule) instance(x timed) (isa.Inst, bool) {
	o := s.ops[x.op]
	if x.iteration > 0 || !o.first {
		return s.inst(x.op), true
	}
	if o.kind == sum {
		return isa.Inst{}, false
	}
	i := s.inst(x.op)
	return isa.New(s.form.product, int64(o.acc), i.Args[1], i.Args[2]), true
}

// used leaves out steps of bases that nothing reads any more.
func (s *schedule) used(all []isa.Inst) []isa.Inst {
	read := map[int64]bool{}
	var out []isa.Inst
	for _, i := range slices.Backward(all) {
		if (i.Row.Name == "A2_addi" || i.Row.Name == "A2_add") && !read[i.Args[0]] {
			continue
		}
		for _, u := range i.Reads(s.version) {
			if u.Class == isa.Scalar {
				read[u.Reg] = true
			}
		}
		out = append(out, i)
	}
	slices.Reverse(out)
	return out
}

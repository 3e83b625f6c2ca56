package packed

import (
	"slices"

	"rules_dnn/gen/emit/hexagon/isa"
)

// enter saves the caller's registers and sets the bases.
func (s *schedule) enter() []isa.Inst {
	var out []isa.Inst
	if n := int64(len(s.saved)); n > 0 {
		out = append(out, isa.New("A2_addi", 29, 29, -8*n))
		for i, r := range s.saved {
			out = append(out, isa.New("S2_storerd_io", 29, int64(8*i), r))
		}
	}
	var own []isa.Inst
	for _, b := range s.bases {
		from := int64(1)
		if b.x {
			from = 0
		}
		if b.reg != from {
			out = append(out, added(b.reg, from, b.begin)...)
		} else if b.begin != 0 {
			own = append(own, added(from, from, b.begin)...)
		}
	}
	for n, by := range []int64{s.body.xStep, s.body.wStep} {
		if r, ok := s.register[stepsAt+int64(n)]; ok {
			out = append(append(out, isa.New("A2_tfrsi", r, 0)), added(r, r, by)...)
		}
	}
	return append(out, own...)
}

// added is a sum with a number of more bits than an instruction takes.
func added(to, from, n int64) []isa.Inst {
	const most = 1<<15 - 1
	var out []isa.Inst
	for {
		by := max(-most, min(most, n))
		out = append(out, isa.New("A2_addi", to, from, by))
		if n -= by; n == 0 {
			return out
		}
		from = to
	}
}

// leave stores the accumulators in the order in which they are done, gives the caller's registers back and returns.
func (s *schedule) leave() []isa.Inst {
	const each = 16 // vectors that offsets of a register reach, from 8 before it
	accs := s.micro.Rows * s.micro.Vectors
	done := make([]int, accs)
	for i, o := range s.ops {
		if o.kind == product || o.kind == sum {
			done[o.acc] = max(done[o.acc], s.Times[i])
		}
	}
	order := make([]int64, accs)
	for i := range order {
		order[i] = int64(i)
	}
	slices.SortStableFunc(order, func(a, b int64) int { return done[a] - done[b] })
	var out []isa.Inst
	at := []int64{2, 28}
	begin := int64(0)
	if accs > 8 {
		begin = 8
	}
	if accs > each {
		out = append(out, isa.New("A2_addi", 28, 2, (each+begin)*isa.Bytes))
	}
	if begin > 0 {
		out = append(out, isa.New("A2_addi", 2, 2, begin*isa.Bytes))
	}
	for _, a := range order {
		out = append(out, isa.New("V6_vS32b_ai", at[a/each], a%each-begin, a))
	}
	if n := int64(len(s.saved)); n > 0 {
		for i, r := range s.saved {
			out = append(out, isa.New("L2_loadrd_io", r, 29, int64(8*i)))
		}
		out = append(out, isa.New("A2_addi", 29, 29, 8*n))
	}
	return append(out, isa.New("J2_jumpr", 31))
}

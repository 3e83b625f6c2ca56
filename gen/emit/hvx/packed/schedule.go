package packed

import (
	"slices"

	"rules_dnn/gen/emit/hexagon/isa"
	"rules_dnn/gen/emit/hexagon/sched"
)

// schedule is a body's with registers.
type schedule struct {
	*maker
	*sched.Modulo
	// register is what virtual ones became.
	register map[int64]int64
	saved    []int64 // registers that are the caller's
}

// Registers that a call may use; those from r16 on are the caller's. X, W and the accumulators are in r0, r1 and r2.
var scalars = []int64{3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 28, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27}

// callers is the first of the caller's registers, and kept how many there are.
const callers, kept = 16, 12

// schedule tries an interval, or gives nil.
func (k *maker) schedule(interval int) *schedule {
	for _, byVector := range []bool{false, true} {
		for _, narrow := range []int64{0, 4, 7, -7} {
			k.byVector, k.narrow = byVector, narrow
			order := k.make()
			body := make([]sched.Op, len(k.ops))
			for i, o := range k.ops {
				body[i] = o.Op
			}
			m := sched.Loop(k.version, body, order, interval, k.stalls)
			if m == nil {
				break // nearer bases change nothing
			}
			s := &schedule{maker: k, Modulo: m, register: map[int64]int64{}}
			if s.steps() && s.registers() {
				return s
			}
		}
	}
	return nil
}

// steps places the steps of the bases, so that all loads reach what they read from where the base is then.
func (s *schedule) steps() bool {
	for b := range s.bases {
		if !s.step(b) {
			return false
		}
	}
	return true
}

func (s *schedule) step(b int) bool {
	by := s.body.wStep
	if s.bases[b].x {
		by = s.body.xStep
	}
	inst := isa.New("A2_addi", basesAt+int64(b), basesAt+int64(b), by)
	if long(by) {
		inst = isa.New("A2_add", basesAt+int64(b), basesAt+int64(b), stepOf(s.bases[b].x))
	}
	for t := range s.Interval {
		if s.body.count > 1 && !s.Room(inst, t) {
			continue
		}
		s.bases[b].stepAt = t
		if !s.reach(b, by) {
			continue
		}
		if s.body.count > 1 {
			s.Insert(inst, t)
			s.ops = append(s.ops, op{Op: sched.Op{Inst: inst}, kind: step, base: b})
		}
		return true
	}
	return false
}

// long reports a step of more bits than an instruction takes: a register of its own has it.
func long(by int64) bool { return by < -1<<15 || by > 1<<15-1 }

// stepOf is the register of an operand's step.
func stepOf(x bool) int64 {
	if x {
		return stepsAt
	}
	return stepsAt + 1
}

// ahead is by how many steps a base is ahead of a load's iteration when the load runs.
func (s *schedule) ahead(i int) int64 {
	if s.body.count == 1 {
		return 0
	}
	d := s.Times[i] - 1 - s.bases[s.ops[i].base].stepAt
	return int64((d + s.Interval) / s.Interval)
}

// reach gives a base its begin, and loads their offsets; false where an instruction does not reach one.
func (s *schedule) reach(b int, by int64) bool {
	unit, least, most := int64(4), int64(-4096), int64(4092)
	switch {
	case s.bases[b].far:
		unit, least, most = 1, -1<<15, 1<<15-1
	case !s.bases[b].x:
		unit, least, most = isa.Bytes, -8*isa.Bytes, 7*isa.Bytes
	}
	var all []int64
	var loads []int
	for i, o := range s.ops {
		if o.base == b && o.kind != step {
			all, loads = append(all, o.at-s.ahead(i)*by), append(loads, i)
		}
	}
	begin := slices.Min(all)
	if slices.Max(all)-begin > most {
		begin -= least
	}
	for n, i := range loads {
		d := all[n] - begin
		if d%unit != 0 || d < least || d > most {
			return false
		}
		if unit == isa.Bytes {
			d /= isa.Bytes
		}
		s.ops[i].Args[2] = d
	}
	s.bases[b].begin = begin
	return true
}

// registers gives all values registers.
func (s *schedule) registers() bool {
	accs := s.micro.Rows * s.micro.Vectors
	for i := range accs {
		s.register[accumulators+i] = i
	}
	for i := range s.turns {
		s.register[turnsAt+i] = accs + i
	}
	var vectors []int64
	for i := accs + s.turns; i < 32; i++ {
		vectors = append(vectors, i)
	}
	free := slices.Clone(scalars)
	if s.body.count > longest {
		free = slices.DeleteFunc(free, func(r int64) bool { return r == counter })
	}
	own := map[bool]bool{}
	for i, b := range s.bases {
		r := int64(1)
		if b.x {
			r = 0
		}
		if own[b.x] {
			if len(free) == 0 {
				return false
			}
			r, free = free[0], free[1:]
		}
		own[b.x] = true
		s.bases[i].reg, s.register[basesAt+int64(i)] = r, r
	}
	for n, by := range []int64{s.body.xStep, s.body.wStep} {
		if s.body.count == 1 || !long(by) {
			continue
		}
		if len(free) == 0 {
			return false
		}
		s.register[stepsAt+int64(n)], free = free[0], free[1:]
	}
	for _, slack := range []int{1, 0} {
		s.saved = nil
		if s.assign(isa.Vector, vectors, slack) && s.assign(isa.Scalar, free, slack) && s.sequential() {
			return true
		}
	}
	return false
}

// sequential reports whether each packet of the loop can be said one instruction after the other: it cannot where two of them write what the
// other one reads.
func (s *schedule) sequential() bool {
	for _, row := range s.Packets() {
		var packet []timed
		for _, i := range row {
			packet = append(packet, timed{op: i})
		}
		if _, ok := s.sequence(packet); !ok {
			return false
		}
	}
	return true
}

// assign gives the values of a class registers: those that are written in the packet of another value's last use, or with some slack only later.
func (s *schedule) assign(class isa.Class, registers []int64, slack int) bool {
	lives, of := s.Lives(class, func(r int64) bool { return r >= values && r < turnsAt })
	for n, l := range lives {
		lives[n].End = max(l.End, min(l.End+slack, l.Begin+s.Interval))
	}
	got, ok := sched.Assign(lives, s.Interval, registers)
	if !ok {
		return false
	}
	for n, r := range got {
		s.register[of[n]] = r
		if class == isa.Scalar && r >= callers && r < callers+kept && !slices.Contains(s.saved, r&^1) {
			s.saved = append(s.saved, r&^1)
		}
	}
	for v, r := range s.register {
		if v >= basesAt && r >= callers && r < callers+kept && !slices.Contains(s.saved, r&^1) {
			s.saved = append(s.saved, r&^1)
		}
	}
	slices.Sort(s.saved)
	return true
}

// inst is an operation with its registers.
func (s *schedule) inst(i int) isa.Inst { return s.physical(s.ops[i].Inst) }

func (s *schedule) physical(x isa.Inst) isa.Inst {
	args := slices.Clone(x.Args)
	for n, o := range x.Row.Operands {
		if o.Class == isa.Vector || o.Class == isa.Scalar {
			if r, ok := s.register[args[n]]; ok {
				args[n] = r
			}
		}
	}
	return isa.Inst{Row: x.Row, Args: args}
}

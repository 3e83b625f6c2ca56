package packed

import (
	"fmt"
	"slices"

	"rules_dnn/gen/emit/hexagon/isa"
	"rules_dnn/gen/emit/hexagon/machine"
	"rules_dnn/gen/emit/hexagon/sched"
)

// iterated is a function that does the same a number of times: what comes first, and an iteration in an order that says what it means. Registers of the
// processor are kept from one iteration to the next, or written anew by each; values of an iteration are virtual registers, of pairs the even one.
type iterated struct {
	version     int
	enter, body []isa.Inst
	count       int
	last        int64 // of the virtual registers, from values on
	// free are the registers for values of a class, pairs beside each other, the even one first.
	free map[isa.Class][]int64
	// What follows is the schedule's.
	*sched.Modulo
	register map[int64]int64
}

// before adds an instruction to what comes first.
func (r *iterated) before(name string, args ...int64) {
	r.enter = append(r.enter, isa.New(name, args...))
}

// do adds an instruction to an iteration.
func (r *iterated) do(name string, args ...int64) { r.body = append(r.body, isa.New(name, args...)) }

// value adds an instruction to an iteration whose result is a new value, and gives its register.
func (r *iterated) value(name string, args ...int64) int64 {
	r.last += 2
	result := values + r.last
	r.do(name, append([]int64{result}, args...)...)
	return result
}

// advance adds to a register of the processor in each iteration; what no instruction has room for is in another one, which hold fills.
func (r *iterated) advance(reg, by, held int64) {
	if !long(by) {
		r.do("A2_addi", reg, reg, by)
		return
	}
	r.do("A2_add", reg, reg, held)
}

// hold fills the register that advance reads.
func (r *iterated) hold(held, by int64) {
	if long(by) {
		r.before("A2_tfrsi", held, 0)
		r.enter = append(r.enter, added(held, held, by)...)
	}
}

// Iterated is such a function in packets.
type Iterated struct {
	Program machine.Program
	// Interval is how many packets an iteration takes, and Bound the least by slots and units.
	Interval, Bound int
}

// beyond is by how much the interval exceeds the bound at most.
const beyond = 24

// pack makes the function, or says why it does not.
func (r *iterated) pack() (*Iterated, error) {
	ops, order := make([]sched.Op, len(r.body)), make([]int, len(r.body))
	for i, inst := range r.body {
		ops[i], order[i] = sched.Op{Inst: inst}, i
	}
	least := bound(r.version, r.body)
	for interval := least; interval <= least+beyond; interval++ {
		r.Modulo = sched.Loop(r.version, ops, order, interval, false)
		if r.Modulo == nil || !r.assign() || !r.sequential() {
			continue
		}
		p := r.program()
		if err := p.Check(r.version); err != nil {
			return nil, err
		}
		return &Iterated{Program: p, Interval: interval, Bound: least}, nil
	}
	return nil, fmt.Errorf("no schedule of %d instructions within %d packets of the bound", len(r.body), beyond)
}

func (r *iterated) assign() bool {
	r.register = map[int64]int64{}
	for class, registers := range r.free {
		lives, of := r.Lives(class, func(v int64) bool { return v >= values })
		for n := range lives { // a packet's reads come before its writes, in an order that there may not be
			lives[n].End = min(lives[n].End+1, lives[n].Begin+r.Interval)
		}
		got, ok := sched.Assign(lives, r.Interval, registers)
		if !ok {
			return false
		}
		for n := range got {
			r.register[of[n]] = got[n]
			if lives[n].Wide {
				r.register[of[n]+1] = got[n] + 1
			}
		}
	}
	return true
}

func (r *iterated) inst(i int) isa.Inst {
	x := r.body[i]
	args := slices.Clone(x.Args)
	for n, o := range x.Row.Operands {
		if physical, ok := r.register[args[n]]; ok && o.Class != isa.Immediate && o.Class != isa.Label {
			args[n] = physical
		}
	}
	return isa.Inst{Row: x.Row, Args: args}
}

// sequential reports whether each packet of the loop can be said one instruction after the other.
func (r *iterated) sequential() bool {
	for _, row := range r.Packets() {
		if _, ok := r.sequence(row); !ok {
			return false
		}
	}
	return true
}

// sequence is instructions of a packet, each before those that write what it reads; there may be no such order.
func (r *iterated) sequence(row []int) (out []isa.Inst, ok bool) {
	var left []isa.Inst
	for _, i := range row {
		left = append(left, r.inst(i))
	}
	for len(left) > 0 {
		n := -1
		for k := range left {
			if !slices.ContainsFunc(left, func(y isa.Inst) bool { return &left[k].Args[0] != &y.Args[0] && overwrites(r.version, left[k], y) }) {
				n = k
				break
			}
		}
		if n < 0 {
			return nil, false
		}
		out, left = append(out, left[n]), slices.Delete(left, n, n+1)
	}
	return out, true
}

// region is what runs in the packets from one to another, without a loop.
func (r *iterated) region(from, to int) []isa.Inst {
	var out []isa.Inst
	for t := from; t < min(to, slices.Max(r.Times)+(r.count-1)*r.Interval+1); t++ {
		var row []int
		for i, at := range r.Times {
			if d := t - at; d >= 0 && d%r.Interval == 0 && d/r.Interval < r.count {
				row = append(row, i)
			}
		}
		insts, _ := r.sequence(row)
		out = append(out, insts...)
	}
	return out
}

// program is the whole function: without a loop where there are too few iterations for one.
func (r *iterated) program() machine.Program {
	leave := isa.New("J2_jumpr", 31)
	begin := (r.Stages() - 1) * r.Interval
	looped := r.count - r.Stages() + 1
	if looped < 2 {
		return packets(sched.Straight(r.version, append(slices.Concat(r.enter, r.region(0, 1<<30)), leave), sched.Best, false))
	}
	before := sched.Straight(r.version, slices.Concat(r.enter, r.region(0, begin)), sched.Best, true)
	var rows [][]isa.Inst
	for _, row := range r.Packets() {
		var p []isa.Inst
		for _, i := range row {
			p = append(p, r.inst(i))
		}
		rows = append(rows, p)
	}
	loop := packets(rows)
	loop[0].Label, loop[len(loop)-1].Ends = label, true
	after := sched.Straight(r.version, append(r.region(begin+looped*r.Interval, 1<<30), leave), sched.Best, false)
	return slices.Concat(packets(started(r.version, before, int64(looped))), loop, packets(after))
}

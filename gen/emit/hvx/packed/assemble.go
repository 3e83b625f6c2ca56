package packed

import (
	"fmt"
	"slices"

	"rules_dnn/gen/emit/hexagon/isa"
	"rules_dnn/gen/emit/hexagon/machine"
	"rules_dnn/gen/emit/hexagon/packet"
	"rules_dnn/gen/emit/hexagon/sched"
	"rules_dnn/gen/kernel/loop"
)

// Kernel is a micro-kernel in packets. It is a function of X, W and the accumulators in r0 to r2, and uses what a call may.
type Kernel struct {
	Program machine.Program
	// Interval is how many packets an iteration of the loop takes, of so many points; Bound is the least by slots and units.
	// Without a loop all of them are 0.
	Interval, Bound int
	Points          int
	// Cost is the packets of a call, and those that early sources wait for.
	Cost int
}

// intervals are how many are tried.
const intervals = 10

// New makes a micro-kernel for a version of Hexagon, or says why it does not.
func New(m *loop.MicroKernel, version int, mode sched.Mode) (*Kernel, error) {
	if err := supported(m); err != nil {
		return nil, err
	}
	all, err := bodies(m)
	if err != nil {
		return nil, err
	}
	var best *Kernel
	for _, b := range all {
		k := &maker{micro: m, body: b, form: forms[m.Instr.Name], version: version}
		_, bound := k.leastApart()
		s := k.search(bound)
		if s == nil {
			continue
		}
		if x := s.kernel(mode, bound); best == nil || x.weight() < best.weight() {
			best = x
		}
	}
	if best == nil {
		return nil, fmt.Errorf("no schedule of %d x %d accumulators within %d packets of the bound", m.Rows, m.Vectors, intervals)
	}
	if err := best.Program.Check(version); err != nil {
		return nil, err
	}
	return best, nil
}

// weight is what a kernel is chosen by: what a call takes, and a little for code, which takes the place of others' in the first-level cache.
func (k *Kernel) weight() int { return 8*k.Cost + len(k.Program) }

// search is the schedule with the least interval, in the first way in which there is one.
func (k *maker) search(bound int) *schedule {
	ways := []way{{}, {far: true}}
	if free := 32 - k.micro.Rows*k.micro.Vectors; !k.form.xFirst {
		ways = append(ways, way{turns: free}, way{turns: free, far: true}, way{turns: free, stalls: true}, way{turns: free, stalls: true, far: true})
	}
	for _, w := range ways {
		k.way = w
		for interval := bound; interval < bound+intervals; interval++ {
			if s := k.schedule(interval); s != nil {
				return s
			}
		}
	}
	return nil
}

// Iteration is the code of one iteration of a micro-kernel's loop, in an order that says what it means, with a register for each value: what is
// packed where loops are not modulo scheduled.
func Iteration(m *loop.MicroKernel, version int) ([]isa.Inst, error) {
	if err := supported(m); err != nil {
		return nil, err
	}
	all, err := bodies(m)
	if err != nil {
		return nil, err
	}
	k := &maker{micro: m, body: all[0], form: forms[m.Instr.Name], version: version}
	k.leastApart()
	k.make()
	var out []isa.Inst
	for _, o := range k.ops {
		out = append(out, o.Inst)
	}
	return out, nil
}

// whole is how many iterations after the loop's may be whole at most.
const whole = 3

// kernel is the whole function. What runs before the loop has the first iteration whole, in which nothing is there to add to; what runs after it has
// some last ones whole, so that accumulators are done one after the other and stored beside products.
func (s *schedule) kernel(mode sched.Mode, bound int) *Kernel {
	begin := s.Stages() * s.Interval
	looped := int(s.body.count) - s.Stages()
	if looped < 2 {
		all := slices.Concat(s.enter(), s.used(s.region(0, 1<<30)), s.leave())
		k := &Kernel{Points: len(s.body.points), Program: packets(sched.Straight(s.version, all, mode, false))}
		k.Cost = sched.Cost(s.version, k.run(0))
		return k
	}
	before := sched.Straight(s.version, append(s.enter(), s.region(0, begin)...), mode, true)
	var best *Kernel
	for n := 0; n <= whole && looped-n >= 2 && (n == 0 || n*len(s.body.points)*int(s.micro.Rows*s.micro.Vectors) <= mostProducts/2); n++ {
		loop := packets(s.rows())
		loop[0].Label, loop[len(loop)-1].Ends = label, true
		after := append(s.renamed(s.used(s.region(begin+(looped-n)*s.Interval, 1<<30))), s.leave()...)
		k := &Kernel{Interval: s.Interval, Bound: bound, Points: len(s.body.points)}
		k.Program = slices.Concat(packets(started(s.version, slices.Clone(before), int64(looped-n))), loop, packets(sched.Straight(s.version, after, mode, false)))
		// From the second time on, each takes the same.
		two, three := sched.Cost(s.version, k.run(2)), sched.Cost(s.version, k.run(3))
		k.Cost = two + (looped-n-2)*(three-two)
		if best == nil || k.weight() < best.weight() {
			best = k
		}
	}
	return best
}

// label is where the loop begins, and forward what assemblers call the next such place.
const label, forward = "0", "0f"

// counter holds the count of a loop that is longer than an instruction says.
const counter, longest = 28, 1<<10 - 1

// reach is how many instructions lie at most between the start of a loop and its first packet.
const reach = 60

// started is the code before a loop with the loop's start in it: near its end, as the first packet is given relative to it.
func started(version int, before [][]isa.Inst, n int64) [][]isa.Inst {
	start := isa.Inst{Row: isa.Lookup("J2_loop0i"), Args: []int64{0, n}, Target: forward}
	if n > longest {
		start = isa.Inst{Row: isa.Lookup("J2_loop0r"), Args: []int64{0, counter}, Target: forward}
		before = slices.Insert(before, 0, []isa.Inst{isa.New("A2_tfrsi", counter, n)})
	}
	words := 0
	for t := len(before) - 1; t > 0; t-- {
		if words += len(before[t]); words > reach {
			break
		}
		if p := append(slices.Clone(before[t]), start); packet.Legal(version, p) {
			before[t] = p
			return before
		}
	}
	return append(before, []isa.Inst{start})
}

// run is the packets of a call whose loop runs so often, one after the other.
func (k *Kernel) run(looped int) [][]isa.Inst {
	var out [][]isa.Inst
	begin := 0
	for n, p := range k.Program {
		if p.Label != "" {
			begin = n
		}
		out = append(out, p.Insts)
		if !p.Ends {
			continue
		}
		for range looped - 1 {
			for _, q := range k.Program[begin : n+1] {
				out = append(out, q.Insts)
			}
		}
	}
	return out
}

func packets(all [][]isa.Inst) machine.Program {
	var out machine.Program
	for _, p := range all {
		out = append(out, machine.Packet{Insts: p})
	}
	return out
}

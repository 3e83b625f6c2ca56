package packed

import (
	"slices"

	"rules_dnn/gen/emit/hexagon/isa"
	"rules_dnn/gen/emit/hexagon/sched"
	"rules_dnn/gen/kernel/loop"
)

// kind is what an operation of a body is.
type kind uint8

const (
	loadW kind = iota
	loadX
	copyX // to all lanes
	product
	sum
	step    // of a base
	address // of a load that lies far from its base
)

// op is an operation of a body.
type op struct {
	sched.Op
	kind kind
	base int   // of a load, an address or a step; none of a load at an address
	at   int64 // in bytes from where the operand begins
	acc  int
	// first reports the first product of an accumulator: in the first iteration nothing is there to add to.
	first bool
}

// base is a register with an address that many loads share, apart from it by little.
type base struct {
	x, far bool
	at     int64 // of the first load, in bytes
	most   int64
	begin  int64 // what is added to the operand's address at first
	reg    int64
	stepAt int // the packet of the step
}

// Virtual registers: accumulators, then values of an iteration, vectors of W in turn, bases, and steps of X and W that are long.
const (
	accumulators = 1000
	values       = 2000
	turnsAt      = 8000
	basesAt      = 9000
	stepsAt      = 9900
)

// none is no base.
const none = -1

// way is how a body's values are kept: what is easiest to place is tried first.
type way struct {
	// turns are how many registers hold vectors of W, one after the other; 0: as many as are free, in any order.
	turns int64
	// stalls reports that products may follow right behind the load of what they read.
	stalls bool
	// far reports that addresses of W are computed for each load, where bases would take too many registers.
	far bool
}

// maker makes the operations of a body.
type maker struct {
	micro   *loop.MicroKernel
	body    body
	form    form
	version int
	ops     []op
	bases   []base
	next    int64
	// byVector reports that an iteration takes a vector of W for all rows before the next one.
	byVector bool
	// apart is how many of the products are added by an instruction of their own: that takes one multiplier where multiplying and adding takes both.
	apart  int
	narrow int64 // how much nearer loads are to a base than instructions reach, in eighths
	way
	loaded int64 // vectors of W so far
}

func (k *maker) value() int64 {
	k.next++
	return values + k.next
}

// make fills ops and is the order in which they are placed.
func (k *maker) make() []int {
	m := k.micro
	k.ops, k.bases, k.next, k.loaded = nil, nil, 0, 0
	total := len(k.body.points) * int(m.Rows*m.Vectors)
	done := 0
	started := map[int]bool{}
	for _, p := range k.body.points {
		ws, xs := map[int64]int64{}, map[int64]int64{}
		for n := range m.Rows * m.Vectors {
			r, v := n/m.Vectors, n%m.Vectors
			if k.byVector {
				r, v = n%m.Rows, n/m.Rows
			}
			if ws[v] == 0 {
				ws[v] = k.load(loadW, p.w+m.VectorAt(v))
			}
			if xs[r] == 0 {
				xs[r] = k.load(loadX, p.x+m.RowAt(r))
			}
			acc := int(r*m.Vectors + v)
			// Those apart are spread evenly.
			k.product(acc, xs[r], ws[v], !started[acc], (done+1)*k.apart/total > done*k.apart/total, float64(done)/float64(total))
			started[acc] = true
			done++
		}
	}
	var order []int
	for _, kinds := range [][]kind{{product, sum}, {copyX}, {loadW}, {loadX}, {address}} {
		for i := range k.ops {
			if slices.Contains(kinds, k.ops[i].kind) {
				order = append(order, i)
			}
		}
	}
	return order
}

func (k *maker) add(o op) {
	k.ops = append(k.ops, o)
}

func (k *maker) load(what kind, at int64) int64 {
	if what == loadX {
		to := k.value()
		b := k.baseOf(true, at)
		k.add(op{Op: sched.Op{Inst: isa.New("L2_loadri_io", to, basesAt+int64(b), 0), Late: true}, kind: what, base: b, at: at})
		if !k.form.xFirst {
			return to
		}
		copied := k.value()
		k.add(op{Op: sched.Op{Inst: isa.New("V6_lvsplatw", copied, to), Late: true}, kind: copyX, base: none})
		return copied
	}
	name, to := "V6_vL32b_ai", k.value()
	if !k.micro.WholeRegisters() {
		name = "V6_vL32Ub_ai"
	}
	if k.turns > 0 {
		to = turnsAt + k.loaded%k.turns
	}
	k.loaded++
	b := k.baseOf(false, at)
	if !k.far {
		k.add(op{Op: sched.Op{Inst: isa.New(name, to, basesAt+int64(b), 0), Late: true}, kind: what, base: b, at: at})
		return to
	}
	from := k.value()
	k.add(op{Op: sched.Op{Inst: isa.New("A2_addi", from, basesAt+int64(b), 0), Late: true}, kind: address, base: b, at: at})
	k.add(op{Op: sched.Op{Inst: isa.New(name, to, from, 0), Late: true}, kind: what, base: none})
	return to
}

// span is how far loads of a base lie apart at most: half of what offsets of instructions reach, as bases step while loads of several iterations are under way.
func (k *maker) span(x bool) int64 {
	switch {
	case x:
		return 4096
	case k.far:
		return 1 << 14
	}
	return 8 * isa.Bytes
}

func (k *maker) baseOf(x bool, at int64) int {
	for i, b := range k.bases {
		d := at - b.at
		if n := k.span(x); b.x == x && d >= 0 && d < n-k.narrow*n/8 && (x || k.far || d%isa.Bytes == 0) {
			k.bases[i].most = max(b.most, at)
			return i
		}
	}
	k.bases = append(k.bases, base{x: x, far: !x && k.far, at: at, most: at})
	return len(k.bases) - 1
}

func (k *maker) product(acc int, x, w int64, first, apart bool, at float64) {
	a, b := w, x
	if k.form.xFirst {
		a, b = x, w
	}
	if !apart {
		k.add(op{Op: sched.Op{Inst: isa.New(k.form.acc, accumulators+int64(acc), a, b), At: at}, kind: product, base: none, acc: acc, first: first})
		return
	}
	to := k.value()
	k.add(op{Op: sched.Op{Inst: isa.New(k.form.product, to, a, b), At: at}, kind: product, base: none, acc: acc, first: first})
	k.add(op{Op: sched.Op{Inst: isa.New("V6_vaddw", accumulators+int64(acc), accumulators+int64(acc), to)}, kind: sum, base: none, acc: acc, first: first})
}

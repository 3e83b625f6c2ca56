// Package run executes kernels of the loop IR on memory, so that every schedule is checked
// before a C++ compiler sees it.
//
// It checks what C++ does not: loads and stores inside their buffers, no read of what was not
// written, tasks that share no memory, vector loops whose lanes do not depend on each other,
// images written by whole texels, variables in the ranges that the kernel's facts state (printed divisions rely on them).
// Errors name the statement, the task and the variables' values.
//
// Expressions are compiled to closures over vectors. A loop whose iterations do not depend on
// each other runs as one vector, whatever the kernel says of it; the others run one after the other.
package run

import (
	"fmt"
	"math"
	"slices"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/elems"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/kernel/layout"
	"rules_dnn/gen/kernel/loop"
)

// Kernel is a kernel compiled for values of its symbols. It holds the state of a run: one
// goroutine at a time may use it.
type Kernel struct {
	loop    *loop.Kernel
	frame   *frame
	params  []*memory
	scratch []*memory
	shared  []*memory // of a task's items
	// memories are the parameters and the scratch.
	memories []*memory
	tasks    int64
	// task and began are the slots of the task's number, and of that of the first one of a run.
	task, began int
	kept        []keptMemory
	body        []action
	// computed are the values of the symbols that the kernel sets, once it has run.
	computed []int64
}

// frame is the state that compiled code works on.
type frame struct {
	// v are the index variables, at the first lane; lanes are those that are no line along the lanes.
	v     []int64
	lanes [][]int64
	// lo and hi are the lanes that are executed.
	lo, hi int
	task   int64
	at     *where
	// step numbers the steps of vector loops whose lanes are tracked, and the nests of loops over items.
	step int64
	// item is the work-item that runs, -1 outside of loops over items.
	item int16
	// bad reports that a loaded index was outside of its bounds, or a divisor 0.
	bad bool
}

// action is a compiled statement.
type action func()

// Compile compiles a kernel for values of the dimensions' symbols.
func Compile(k *loop.Kernel, symbols map[string]int64) (out *Kernel, err error) {
	c := &compiler{kernel: k, env: symbols, frame: &frame{hi: 1, item: -1}, symbols: map[string]int64{}, memories: map[*loop.Buffer]*memory{}, width: 1}
	defer c.frame.rescue(&err)
	for _, s := range k.Syms {
		v, ok := symbols[s]
		if !ok {
			c.frame.fail("symbol %q has no value", s)
		}
		c.fact(s).check(v, v)
		c.symbols[s] = v
	}
	out = &Kernel{loop: k, frame: c.frame}
	c.open()
	for _, b := range k.Buffers {
		out.params = append(out.params, c.param(b, symbols))
	}
	for _, b := range k.Scratch {
		m := c.param(b, symbols)
		m.kind = scratch
		out.scratch = append(out.scratch, m)
	}
	for _, b := range k.Shared {
		m := c.param(b, symbols)
		m.kind = scratch
		m.raw, m.mark = make([]byte, m.size*int64(b.Type.Size())), make([]int32, m.size)
		m.Buffer = elems.View(m.Type, m.raw)
		out.shared = append(out.shared, m)
	}
	out.tasks = c.size(k.Tasks(), symbols, "the number of tasks")
	if out.tasks >= math.MaxInt32 {
		c.frame.fail("%d tasks", out.tasks)
	}
	out.memories = append(slices.Clone(out.params), out.scratch...)
	out.task, out.began = c.declare(loop.TaskVar), c.declare(loop.FirstVar)
	out.keeps(c, symbols)
	out.computed = make([]int64, len(k.Sets))
	c.computed = out.computed
	out.body = c.block(k.Statements())
	c.frame.at = nil
	return out, nil
}

// param makes the memory of a parameter; Start gives it its elements.
func (c *compiler) param(b *loop.Buffer, symbols map[string]int64) *memory {
	m := &memory{name: b.Name, kind: operand, holds: b.Holds, frame: c.frame}
	if b.Write {
		m.kind = result
	}
	m.size = c.size(b.Size, symbols, "the size of "+b.Name)
	m.Buffer = &elems.Buffer{Type: b.Type}
	if b.Image != nil {
		m.width, m.height = c.size(b.Image.Width, symbols, "the width of "+b.Name), c.size(b.Image.Height, symbols, "the height of "+b.Name)
		if m.width*m.height*layout.TexelLanes != m.size {
			c.frame.fail("the image %s of %d x %d texels has %d elements", b.Name, m.width, m.height, m.size)
		}
	}
	c.name(b.Name, m)
	c.memories[b] = m
	return m
}

// size evaluates what the host program computes: it may use all of the model's symbols.
func (c *compiler) size(e sym.Expr, symbols map[string]int64, what string) int64 {
	n, err := e.Eval(symbols)
	if err != nil || n < 0 {
		c.frame.fail("%s is %s = %d (%v)", what, e, n, err)
	}
	return n
}

// Tasks is the number of tasks.
func (k *Kernel) Tasks() int64 { return k.tasks }

// Start gives the kernel its buffers, aligned to their elements: those of loop.Kernel.Buffers
// in that order, then its scratch. What is written must lie in no other buffer.
func (k *Kernel) Start(buffers ...[]byte) error {
	want := k.memories
	if len(buffers) != len(want) {
		return fmt.Errorf("%d buffers for a kernel of %d", len(buffers), len(want))
	}
	k.frame.bad = false
	for i, m := range want {
		if need := m.size * int64(m.Type.Size()); int64(len(buffers[i])) < need {
			return fmt.Errorf("buffer %s has %d bytes, the kernel needs %d", m.name, len(buffers[i]), need)
		} else {
			m.raw = buffers[i][:need]
			m.Buffer = elems.View(m.Type, m.raw)
		}
		if m.kind != operand {
			m.mark = make([]int32, m.size)
		}
	}
	return nil
}

// Run runs tasks first <= task < last. Between calls of Start no task may run twice.
func (k *Kernel) Run(first, last int64) (err error) {
	f := k.frame
	defer f.rescue(&err)
	for f.task = first; f.task < last; f.task++ {
		f.v[k.task], f.v[k.began], f.lo, f.hi = f.task, first, 0, 1
		for _, m := range k.memories {
			m.stamp = int32(f.task) + 1
		}
		for _, m := range k.kept {
			m.stamp = int32(max(first, f.task-f.task%m.tasks)) + 1
		}
		for _, m := range k.shared {
			m.stamp = int32(f.task) + 1
		}
		for _, a := range k.body {
			a()
		}
	}
	return nil
}

// BadIndex reports whether the tasks that ran since Start loaded an index outside of its bounds, or divided an integer by 0.
func (k *Kernel) BadIndex() bool { return k.frame.bad }

// Finish reports whether the tasks that ran since Start wrote every element of the results.
func (k *Kernel) Finish() error {
	for _, m := range k.params {
		if m.kind != result {
			continue
		}
		for i, w := range m.mark {
			if w == 0 {
				return fmt.Errorf("no task writes element %d of %s, which has %d", i, m.name, m.size)
			}
		}
	}
	return nil
}

// local is the type in which a local array holds elements: the half types are computed in float.
func local(t ir.DType) ir.DType {
	if t == ir.F16 || t == ir.BF16 {
		return ir.F32
	}
	return t
}

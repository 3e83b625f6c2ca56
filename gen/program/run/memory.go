package run

import (
	"rules_dnn/gen/ir/elems"
	"rules_dnn/gen/ir/scalar"
)

// kind is what a memory is to its kernel.
type kind uint8

const (
	operand kind = iota // read only
	result              // written by tasks that share none of it
	scratch             // of a worker: each task finds in it what another left
	array               // local
)

// memory is a buffer and what is known of its elements.
type memory struct {
	*elems.Buffer
	raw   []byte // of parameters
	name  string
	kind  kind
	holds bool // a result that holds an operand
	size  int64
	frame *frame
	// width and height of an image, in texels.
	width, height int64
	// mark is the stamp of each element's writer, 0 where nothing was written; nil for operands.
	// The stamp is the task's number and one, of a local array the number of its declarations.
	mark  []int32
	stamp int32
	// lane is who wrote and read each element in a step of a vector loop, while it is tracked.
	lane    []access
	tracked bool
	// grouped reports that items of a group run at once, each of which leaves alone what another one stores.
	grouped bool
}

// access is the use of an element in one step of a vector loop: the lane that wrote it and the
// last that read it, or -1.
type access struct {
	step            int64
	writer, readers int16
}

// inside checks the elements off, off+step... of lanes lo to hi.
func (m *memory) inside(off, step int64, n int) {
	last := off + step*int64(n-1)
	if min(off, last) >= 0 && max(off, last) < m.size {
		return
	}
	if off >= 0 && off < m.size {
		off = last
	}
	m.frame.fail("element %d is outside of %s, which has %d", off, m.name, m.size)
}

// read checks a load of n elements, of lanes from lo on.
func (m *memory) read(off, step int64, lo, n int) {
	m.inside(off, step, n)
	if m.mark != nil {
		for i, at := 0, off; i < n; i, at = i+1, at+step {
			if m.holds && m.mark[at] != 0 {
				m.frame.fail("element %d of %s, which holds an operand, is read after it is written", at, m.name)
			}
			if !m.holds && m.mark[at] != m.stamp {
				m.unwritten(at)
			}
		}
	}
	if m.grouped {
		for i := range n {
			m.touched(off+step*int64(i), false)
		}
	}
	if m.tracked {
		for i := range n {
			m.readBy(off+step*int64(i), int16(lo+i))
		}
	}
}

func (m *memory) unwritten(at int64) {
	if w := m.mark[at]; w != 0 && m.kind == result {
		m.frame.fail("element %d of %s is read, but task %d wrote it", at, m.name, w-1)
	}
	m.frame.fail("element %d of %s is read before it is written", at, m.name)
}

// write checks a store of n elements, of lanes from lo on, and marks them.
func (m *memory) write(off, step int64, lo, n int) {
	if m.kind == operand {
		m.frame.fail("%s is not written to", m.name)
	}
	m.inside(off, step, n)
	for i, at := 0, off; i < n; i, at = i+1, at+step {
		if m.holds && m.mark[at] != 0 {
			m.frame.fail("element %d of %s, which holds an operand, is written twice", at, m.name)
		}
		if w := m.mark[at]; w != m.stamp && w != 0 && m.kind == result {
			m.frame.fail("element %d of %s is written by task %d too", at, m.name, w-1)
		}
		m.mark[at] = m.stamp
	}
	if m.grouped {
		for i := range n {
			m.touched(off+step*int64(i), true)
		}
	}
	if m.tracked {
		for i := range n {
			m.writtenBy(off+step*int64(i), int16(lo+i))
		}
	}
}

func (m *memory) access(at int64) *access {
	a := &m.lane[at]
	if a.step != m.frame.step {
		*a = access{m.frame.step, -1, -1}
	}
	return a
}

// readBy notes a lane's read. Vectors run a statement for all lanes before the next one, so a
// lane must not read what another one has written.
func (m *memory) readBy(at int64, lane int16) {
	a := m.access(at)
	if a.writer >= 0 && a.writer != lane {
		m.frame.fail("lane %d reads element %d of %s, which lane %d wrote", lane, at, m.name, a.writer)
	}
	a.readers = max(a.readers, lane)
}

// writtenBy notes a lane's write, which must not come before later lanes' reads if it
// comes after them in the loop's order.
func (m *memory) writtenBy(at int64, lane int16) {
	a := m.access(at)
	if a.writer >= 0 && a.writer != lane {
		m.frame.fail("lanes %d and %d both write element %d of %s", a.writer, lane, at, m.name)
	}
	if a.readers > lane {
		m.frame.fail("lane %d writes element %d of %s, which lane %d has read already", lane, at, m.name, a.readers)
	}
	a.writer = lane
}

// load is a checked load of lanes lo to hi into their places of v.
func (m *memory) load(v *scalar.Vec, off, step int64, lo, hi int) {
	m.read(off, step, lo, hi-lo)
	var part scalar.Vec
	m.Load(part.Cut(v, lo, hi), off, step)
}

// store is a checked store of lanes lo to hi.
func (m *memory) store(v *scalar.Vec, off, step int64, lo, hi int) {
	m.write(off, step, lo, hi-lo)
	var part scalar.Vec
	m.Store(part.Cut(v, lo, hi), off, step)
}

package run

import (
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/scalar"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/kernel/loop"
)

// compiler compiles the statements of one kernel.
type compiler struct {
	kernel   *loop.Kernel
	frame    *frame
	symbols  map[string]int64
	env      map[string]int64 // all of the model's symbols
	computed []int64
	scopes   []*scope
	memories map[*loop.Buffer]*memory // those in scope
	// width is the most lanes of what is compiled, 1 outside of loops that run as vectors.
	width int
	// vectors reports that the kernel itself runs the loop in vectors.
	vectors bool
	// inItems reports that a loop over items is open.
	inItems bool
	// varying are the variables that differ between the lanes, by slot.
	varying map[int]along
}

// along tells how a variable varies with the lanes: by a step, or in any way.
type along struct {
	step      int64
	scattered bool
}

// scope is a block's names: slots of index variables (int), *variable and *memory.
type scope struct {
	names map[string]any
	order []string
}

// variable is a local scalar, one for each lane.
type variable struct {
	t     ir.DType
	vec   scalar.Vec
	width int
}

func (c *compiler) open()  { c.scopes = append(c.scopes, &scope{names: map[string]any{}}) }
func (c *compiler) close() { c.scopes = c.scopes[:len(c.scopes)-1] }

// name adds a name to the innermost scope; C++ refuses a second one.
func (c *compiler) name(name string, what any) {
	s := c.scopes[len(c.scopes)-1]
	if s.names[name] != nil {
		c.frame.fail("%q is declared twice in one block", name)
	}
	s.names[name] = what
	s.order = append(s.order, name)
}

func (c *compiler) lookup(name string) any {
	for i := len(c.scopes) - 1; i >= 0; i-- {
		if x := c.scopes[i].names[name]; x != nil {
			return x
		}
	}
	return nil
}

// declare makes an index variable.
func (c *compiler) declare(name string) int {
	if _, ok := c.symbols[name]; ok {
		c.frame.fail("%q is a symbol and a variable", name)
	}
	slot := len(c.frame.v)
	c.frame.v = append(c.frame.v, 0)
	c.frame.lanes = append(c.frame.lanes, nil)
	c.name(name, slot)
	return slot
}

// fact is the range in which the kernel's facts say that a variable lies: simplification and
// printing rely on it.
type fact struct {
	name  string
	frame *frame
	sym.Range
}

func (c *compiler) fact(name string) *fact {
	r, ok := c.kernel.Facts[name]
	if !ok {
		r = sym.Range{Lo: 0, Hi: sym.MaxDim}
	}
	return &fact{name, c.frame, r}
}

func (k *fact) check(lo, hi int64) {
	if lo < k.Lo || hi > k.Hi {
		k.frame.fail("%s is in [%d, %d]; the kernel's facts say [%d, %d]", k.name, lo, hi, k.Lo, k.Hi)
	}
}

// memory is the buffer's memory, if it is in scope.
func (c *compiler) memory(b *loop.Buffer) *memory {
	m := c.memories[b]
	if m == nil || c.lookup(b.Name) != any(m) {
		c.frame.fail("no buffer %q is in scope", b.Name)
	}
	return m
}

// vec makes the values of an expression, one for each lane.
func (c *compiler) vec(t ir.DType) scalar.Vec {
	if t.Kind() == ir.KindNone {
		c.frame.fail("a value of type %s", t)
	}
	return *scalar.NewVec(t, c.width)
}

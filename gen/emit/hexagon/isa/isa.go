// Package isa is the table of Hexagon instructions that micro-kernels are made of, with vectors of 128 bytes.
//
// A row has an instruction's text, from which its operands follow, what it means on registers and memory, and, from LLVM's public
// scheduling tables, which slots and HVX units it takes and when it reads and writes.
package isa

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// Class is a kind of operand.
type Class uint8

// Classes: a vector, a scalar register, a predicate, a mask of a vector's bytes, an immediate and the place that a loop begins or a jump ends at.
const (
	Vector Class = iota
	Scalar
	Predicate
	Mask
	Immediate
	Label
)

// Operand is one of a row's operands, in the order of its text.
type Operand struct {
	Class Class
	// Pair reports two neighbouring registers, of which the even one is the lower half.
	Pair bool
	// Reads and Writes are what happens to the register; New is one that the same packet writes, and of which the new value is read.
	Reads, Writes, New bool
	// Low reports a register of the first eight alone.
	Low bool
	// Least, Most and Step bound an immediate.
	Least, Most, Step int64
	name              string
}

// Memory is what an instruction does with memory.
type Memory uint8

// Kinds of Memory.
const (
	None Memory = iota
	Loads
	Stores
)

// Form is how the result of a vector load reaches others.
type Form uint8

// Forms: in a later packet; in the same packet, too; in the same packet alone.
const (
	Plain Form = iota
	Cur
	Tmp
)

// Row is an instruction.
type Row struct {
	// Name is LLVM's; Text the assembler's, with names of operands.
	Name, Text string
	Memory     Memory
	Form       Form
	Operands   []Operand
	// Compilers reports an instruction that no schedule of ours has, but compilers' code to which they are compared.
	Compilers bool
	// Number is the row's place in the table.
	Number  int
	timings [3]*Timing
	run     func(c *Context)
}

// IsVector reports whether the instruction is one of HVX.
func (r *Row) IsVector() bool { return strings.HasPrefix(r.Name, "V6_") }

// Inst is an instruction with its operands: numbers of registers, of pairs the even one, or immediates; 0 of a label.
type Inst struct {
	Row  *Row
	Args []int64
	// Target is the label.
	Target string
}

// New makes an instruction of the row of that name.
func New(name string, args ...int64) Inst {
	r := Lookup(name)
	if r == nil {
		panic("no Hexagon instruction " + name)
	}
	if len(args) != len(r.Operands) {
		panic(fmt.Sprintf("%s has %d operands, not %d", name, len(r.Operands), len(args)))
	}
	return Inst{Row: r, Args: args}
}

// Lookup is the row of that name, or nil.
func Lookup(name string) *Row { return rows().byName[name] }

// Table is all rows.
func Table() []*Row { return rows().all }

// rowSet is the rows, in order and by name.
type rowSet struct {
	all    []*Row
	byName map[string]*Row
}

var (
	// rows are made when they are first asked for: who compiles for other processors needs none.
	rows = sync.OnceValue(func() *rowSet {
		s := &rowSet{byName: map[string]*Row{}}
		for i := range table {
			r := &table[i]
			r.Operands, r.Number = operands(r.Text), i
			s.all, s.byName[r.Name] = append(s.all, r), r
		}
		s.readTimings()
		return s
	})
	// patterns are those of all rows, for Parse.
	patterns = sync.OnceValue(func() []*regexp.Regexp {
		var out []*regexp.Regexp
		for _, r := range rows().all {
			out = append(out, pattern(r))
		}
		return out
	})
	// operand finds operands in a text. A vector is Vd, Vdd, Vx, ...; Os is a new value.
	operand = regexp.MustCompile(`V(dd|xx|uu|vv|[dxuvs])\b|R(dd|xx|ss|tt|[dxstu]8?)\b|P([dstu])\b|[ON]s\b|#([suU])(\d+)(?::(\d))?|@label|Q([dstv])\b`)
)

func operands(text string) []Operand {
	var out []Operand
	for _, m := range operand.FindAllStringSubmatch(text, -1) {
		o := Operand{name: m[0], Class: Scalar}
		kind := m[1] + m[2] + m[3] + m[7]
		switch {
		case m[0] == "@label":
			o.Class = Label
		case m[4] != "":
			o.Class = Immediate
			bits, _ := strconv.Atoi(m[5])
			shift, _ := strconv.Atoi(m[6])
			o.Step = 1 << shift
			o.Most = (1<<bits - 1) * o.Step
			if m[4] == "s" {
				o.Least, o.Most = -(1<<(bits-1))*o.Step, (1<<(bits-1)-1)*o.Step
			}
		case m[0] == "Os":
			o.Class, o.Reads, o.New = Vector, true, true
		case m[0] == "Ns":
			o.Reads, o.New = true, true
		default:
			if m[1] != "" {
				o.Class = Vector
			} else if m[7] != "" {
				o.Class = Mask
			} else if m[3] != "" {
				o.Class, o.New = Predicate, strings.Contains(text, m[0]+".new")
			}
			o.Low = strings.HasSuffix(kind, "8")
			kind = strings.TrimSuffix(kind, "8")
			o.Pair = len(kind) == 2
			o.Writes = kind[0] == 'd' || kind[0] == 'x'
			o.Reads = kind[0] != 'd'
		}
		out = append(out, o)
	}
	return out
}

// String is the instruction as assemblers read it.
func (i Inst) String() string {
	n := -1
	args := i.Args
	text := operand.ReplaceAllStringFunc(i.Row.Text, func(string) string {
		n++
		o := i.Row.Operands[n]
		switch {
		case o.Class == Label:
			return i.Target
		case o.Class == Immediate:
			return fmt.Sprintf("#%d", args[n])
		case o.Pair:
			return fmt.Sprintf("%s%d:%d", o.letter(), args[n]+1, args[n])
		}
		return fmt.Sprintf("%s%d", o.letter(), args[n])
	})
	return text
}

func (o Operand) letter() string {
	return map[Class]string{Vector: "v", Scalar: "r", Predicate: "p", Mask: "q"}[o.Class]
}

// pattern matches a text without blanks, and has a group for each operand.
func pattern(r *Row) *regexp.Regexp {
	var b strings.Builder
	b.WriteString("^")
	at, text := 0, strings.ReplaceAll(r.Text, " ", "")
	for i, m := range operand.FindAllStringIndex(text, -1) {
		b.WriteString(regexp.QuoteMeta(text[at:m[0]]))
		o := r.Operands[i]
		switch {
		case o.Class == Label:
			b.WriteString(`([.\w$]+)`)
		case o.Class == Immediate:
			b.WriteString(`##?(-?(?:0x[0-9a-f]+|\d+))`)
		case o.Pair:
			b.WriteString(o.letter() + `\d+:(\d+)`)
		default:
			b.WriteString(o.letter() + `(\d+)`)
		}
		at = m[1]
	}
	b.WriteString(regexp.QuoteMeta(text[at:]) + "$")
	return regexp.MustCompile(b.String())
}

// Parse reads an instruction as assemblers and disassemblers write it.
func Parse(text string) (Inst, error) {
	plain := strings.ReplaceAll(strings.TrimSpace(text), " ", "")
	for k, r := range rows().all {
		m := patterns()[k].FindStringSubmatch(plain)
		if m == nil {
			continue
		}
		i := Inst{Row: r}
		for k, o := range r.Operands {
			if o.Class == Label {
				i.Target, i.Args = m[k+1], append(i.Args, 0)
				continue
			}
			n, err := strconv.ParseInt(m[k+1], 0, 64)
			if err != nil {
				return Inst{}, fmt.Errorf("%s: %w", text, err)
			}
			i.Args = append(i.Args, n)
		}
		return i, nil
	}
	return Inst{}, fmt.Errorf("the table of Hexagon instructions has no %q", strings.TrimSpace(text))
}

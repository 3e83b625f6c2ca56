package isa

import (
	_ "embed" // the tables
	"fmt"
	"slices"
	"strconv"
	"strings"
)

//go:embed timing.tsv
var tables string

// Units are slots of a packet and HVX's resources, as a set.
type Units uint32

// Slots 0 to 3 are the lowest bits.
const (
	Slots Units = 0xf
	Store Units = 1 << (iota + 4)
	Permute
	Shift
	Multiply0
	Multiply1
	Load
	// both is two units at a time: of permutes and shifts, of multipliers.
	permuteShift
	multipliers
)

// Timing is how an instruction uses the processor: of each group of Takes it takes one; the cycles in which results are there, then those in
// which operands are read, in the order of the row's operands.
type Timing struct {
	Takes  [][]Units
	Cycles []int
}

// Versions are those of Hexagon that the tables know.
var Versions = []int{66, 67, 68, 69, 71, 73}

// known are the versions of which there is a table. Those of v71 and v73 are not published: they are assumed to be v69's.
var known = [3]int{66, 68, 69}

// Timing is the row's on a version of Hexagon.
func (r *Row) Timing(version int) *Timing {
	n := 0
	for n+1 < len(known) && version >= known[n+1] {
		n++
	}
	return r.timings[n]
}

// readTimings gives rows their timings.
func (s *rowSet) readTimings() {
	for _, line := range strings.Split(tables, "\n") {
		if line == "" || line[0] == '#' {
			continue
		}
		f := strings.Split(line, "\t")
		version, err := strconv.Atoi(f[1][1:])
		if err != nil {
			panic(err) // the table is part of the program
		}
		t := &Timing{}
		for _, stage := range strings.Fields(f[2]) {
			bits, err := strconv.ParseUint(strings.Split(stage, "/")[0], 16, 32)
			if err != nil {
				panic(err)
			}
			t.Takes = append(t.Takes, choices(Units(bits)))
		}
		if len(f) > 3 {
			for _, c := range strings.Fields(f[3]) {
				n, err := strconv.Atoi(c)
				if err != nil {
					panic(err)
				}
				t.Cycles = append(t.Cycles, n)
			}
		}
		s.byName[f[0]].timings[slices.Index(known[:], version)] = t
	}
	for _, r := range s.all {
		for n, t := range r.timings {
			if t == nil {
				panic(fmt.Sprintf("no timing of %s on v%d", r.Name, known[n]))
			}
		}
	}
}

// choices are the ways to take one of a stage's units.
func choices(all Units) []Units {
	var out []Units
	for bit := Units(1); bit <= all; bit <<= 1 {
		switch {
		case all&bit == 0:
		case bit == permuteShift:
			out = append(out, Permute|Shift)
		case bit == multipliers:
			out = append(out, Multiply0|Multiply1)
		default:
			out = append(out, bit)
		}
	}
	return out
}

// Access is one register that an instruction reads or writes.
type Access struct {
	Class Class
	Reg   int64
	// Cycle is when it is read, or when it is there; New says that the value is the packet's own.
	Cycle int
	New   bool
	// Operand is the row's.
	Operand Operand
}

// Writes are the registers that an instruction writes; Reads those that it reads.
func (i Inst) Writes(version int) []Access { return i.accesses(version, true) }

// Reads are the registers that an instruction reads.
func (i Inst) Reads(version int) []Access { return i.accesses(version, false) }

func (i Inst) accesses(version int, writes bool) []Access {
	t := i.Row.Timing(version)
	// LLVM's cycles are of results first, then of what is read, immediates among it.
	at := 0
	var out []Access
	add := func(n int, o Operand) {
		cycle := 0
		if at < len(t.Cycles) {
			cycle = t.Cycles[at]
		}
		at++
		if o.Class == Immediate || o.Class == Label {
			return
		}
		a := Access{Class: o.Class, Reg: i.Args[n], Cycle: cycle, New: o.New, Operand: o}
		out = append(out, a)
		if o.Pair {
			a.Reg++
			out = append(out, a)
		}
	}
	defs := 0
	for n, o := range i.Row.Operands {
		if o.Writes {
			defs++
			if writes {
				add(n, o)
			}
		}
	}
	if writes {
		return out
	}
	at = defs
	for n, o := range i.Row.Operands {
		if o.Reads || o.Class == Immediate || o.Class == Label {
			add(n, o)
		}
	}
	return out
}

// String names a register.
func (a Access) String() string {
	return fmt.Sprintf("%s%d", Operand{Class: a.Class}.letter(), a.Reg)
}

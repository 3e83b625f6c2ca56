// Package packet says which instructions of Hexagon may share a packet, and what stalls between packets.
//
// All of a packet's instructions read registers as they were before it, so that an instruction and its consumer share one only where
// the value is handed over in it: by a load's .cur or .tmp, or a store's .new.
package packet

import (
	"fmt"
	"slices"
	"sync"

	"rules_dnn/gen/emit/hexagon/isa"
)

// Most is how many instructions a packet has.
const Most = 4

// Check says why instructions may not share a packet, or is nil. Order among them has no meaning.
func Check(version int, packet []isa.Inst) error {
	if len(packet) == 0 || len(packet) > Most {
		return fmt.Errorf("a packet has 1 to %d instructions, not %d", Most, len(packet))
	}
	if err := registers(packet); err != nil {
		return err
	}
	if !Fits(version, packet) {
		return fmt.Errorf("no slots and units for all of %v", packet)
	}
	return nil
}

// Legal reports whether Check finds nothing.
func Legal(version int, packet []isa.Inst) bool {
	return len(packet) <= Most && Fits(version, packet) && registers(packet) == nil
}

type register struct {
	class isa.Class
	n     int64
}

// touched is a register that an instruction of a packet reads or writes.
type touched struct {
	register
	by int
	*isa.Operand
}

// of gives the registers of a packet, read or written.
func of(packet []isa.Inst, writes bool, out []touched) []touched {
	for n, i := range packet {
		for k := range i.Row.Operands {
			o := &i.Row.Operands[k]
			if o.Class == isa.Immediate || o.Class == isa.Label || writes && !o.Writes || !writes && !o.Reads {
				continue
			}
			out = append(out, touched{register{o.Class, i.Args[k]}, n, o})
			if o.Pair {
				out = append(out, touched{register{o.Class, i.Args[k] + 1}, n, o})
			}
		}
	}
	return out
}

// registers checks that no register is written twice, and that values are handed over where they are said to be.
func registers(packet []isa.Inst) error {
	var w, r [3 * 2 * Most]touched
	writes, reads := of(packet, true, w[:0]), of(packet, false, r[:0])
	stays := func(w touched) bool { return packet[w.by].Row.Form != isa.Tmp || w.Class != isa.Vector } // nothing writes what .tmp gives
	for n, a := range writes {
		for _, b := range writes[:n] {
			if a.register == b.register && stays(a) && stays(b) {
				return fmt.Errorf("%s is written twice", a.register)
			}
		}
		if packet[a.by].Row.Form == isa.Plain || a.Class != isa.Vector {
			continue
		}
		used := false
		for _, u := range reads {
			if u.register != a.register {
				continue
			}
			used = true
			if packet[a.by].Row.Form == isa.Tmp && u.Writes {
				return fmt.Errorf("%s.tmp is added to", u.register)
			}
		}
		if !used {
			return fmt.Errorf("%s is not used in the packet of %s", a.register, packet[a.by])
		}
	}
	for _, u := range reads {
		if !u.New {
			continue
		}
		given := false
		for _, a := range writes {
			given = given || a.register == u.register && packet[a.by].Row.Memory != isa.Loads
		}
		if !given {
			return fmt.Errorf("no instruction of the packet sets %s.new", u.register)
		}
	}
	return nil
}

// String names a register.
func (r register) String() string { return isa.Access{Class: r.class, Reg: r.n}.String() }

// fitting remembers what Fits found: packets of the same instructions are asked about again and again.
var fitting sync.Map

type fittingKey struct {
	version int
	rows    [Most]int
}

// Fits reports whether there are slots and units for all, four at most.
func Fits(version int, packet []isa.Inst) bool {
	key := fittingKey{version: version}
	for n, i := range packet {
		key.rows[n] = i.Row.Number + 1
	}
	slices.Sort(key.rows[:])
	if found, ok := fitting.Load(key); ok {
		return found.(bool)
	}
	found := fits(version, packet)
	fitting.Store(key, found)
	return found
}

func fits(version int, packet []isa.Inst) bool {
	stores := false
	for _, i := range packet {
		stores = stores || i.Row.Memory == isa.Stores
	}
	var takes [][]isa.Units
	for _, i := range packet {
		for _, t := range i.Row.Timing(version).Takes {
			if stores && i.Row.Memory == isa.Loads && t[0]&isa.Slots != 0 {
				t = without(t, 1) // the store has slot 0
			}
			takes = append(takes, t)
		}
	}
	return assign(takes, 0)
}

func without(all []isa.Units, unit isa.Units) []isa.Units {
	var out []isa.Units
	for _, u := range all {
		if u != unit {
			out = append(out, u)
		}
	}
	return out
}

// assign gives each stage one of its units.
func assign(takes [][]isa.Units, taken isa.Units) bool {
	if len(takes) == 0 {
		return true
	}
	// The stage with the fewest choices first.
	least, choices := 0, 0
	for i, t := range takes {
		n := 0
		for _, u := range t {
			if u&taken == 0 {
				n++
			}
		}
		if i == 0 || n < choices {
			least, choices = i, n
		}
	}
	if choices == 0 {
		return false
	}
	rest := append(append([][]isa.Units{}, takes[:least]...), takes[least+1:]...)
	for _, u := range takes[least] {
		if u&taken == 0 && assign(rest, taken|u) {
			return true
		}
	}
	return false
}

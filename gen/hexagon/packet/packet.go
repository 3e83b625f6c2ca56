// Package packet says which instructions of Hexagon may share a packet, and what stalls between packets.
//
// All of a packet's instructions read registers as they were before it, so that an instruction and its consumer share one only where
// the value is handed over in it: by a load's .cur or .tmp, or a store's .new.
package packet

import (
	"fmt"

	"rules_dnn/gen/hexagon/isa"
)

// Most is how many instructions a packet has.
const Most = 4

// Check says why instructions may not share a packet, or is nil. Order among them has no meaning.
func Check(version int, packet []isa.Inst) error {
	if len(packet) == 0 || len(packet) > Most {
		return fmt.Errorf("a packet has 1 to %d instructions, not %d", Most, len(packet))
	}
	if err := registers(version, packet); err != nil {
		return err
	}
	if !Fits(version, packet) {
		return fmt.Errorf("no slots and units for all of %v", packet)
	}
	return nil
}

// Legal reports whether Check finds nothing.
func Legal(version int, packet []isa.Inst) bool {
	return len(packet) <= Most && Fits(version, packet) && registers(version, packet) == nil
}

type register struct {
	class isa.Class
	n     int64
}

// registers checks that no register is written twice, and that values are handed over where they are said to be.
func registers(version int, packet []isa.Inst) error {
	// handed are what .cur and .tmp loads give, one of a packet.
	writer, handed, used := map[register]int{}, map[register]int{}, map[register]bool{}
	for n, i := range packet {
		for _, w := range i.Writes(version) {
			r := register{w.Class, w.Reg}
			if i.Row.Form != isa.Plain && w.Class == isa.Vector {
				handed[r] = n
			}
			if i.Row.Form == isa.Tmp && w.Class == isa.Vector {
				continue // nothing is written
			}
			if _, twice := writer[r]; twice {
				return fmt.Errorf("%s is written twice", w)
			}
			writer[r] = n
		}
	}
	for _, i := range packet {
		for _, u := range i.Reads(version) {
			r := register{u.Class, u.Reg}
			from, written := writer[r]
			if u.New && (!written || packet[from].Row.Memory == isa.Loads) {
				return fmt.Errorf("no instruction of the packet gives %s.new", u)
			}
			if from, ok := handed[r]; ok && packet[from].Row.Form == isa.Tmp && u.Operand.Writes {
				return fmt.Errorf("%s.tmp is added to", u)
			}
			used[r] = true
		}
	}
	for r, n := range handed {
		if !used[r] {
			return fmt.Errorf("v%d is not used in the packet of %s", r.n, packet[n])
		}
	}
	return nil
}

// Fits reports whether there are slots and units for all.
func Fits(version int, packet []isa.Inst) bool {
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

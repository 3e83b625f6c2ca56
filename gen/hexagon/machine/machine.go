// Package machine runs programs of packets in Go and counts what they take: the judge of schedules, which knows nothing of how they were made.
package machine

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"rules_dnn/gen/hexagon/isa"
	"rules_dnn/gen/hexagon/packet"
)

// Packet is instructions that run at once, and what follows them.
type Packet struct {
	Insts []isa.Inst
	// Label is where loops begin, "" where none does.
	Label string
	// Ends reports the last packet of a hardware loop (loop0).
	Ends bool
}

// Program is a function: it ends where a packet jumps to the register of the return address.
type Program []Packet

// String is the program as assemblers read it.
func (p Program) String() string {
	var b strings.Builder
	for _, k := range p {
		if k.Label != "" {
			fmt.Fprintf(&b, "%s:\n", k.Label)
		}
		var lines []string
		for _, i := range k.Insts {
			lines = append(lines, i.String())
		}
		end := ""
		if k.Ends {
			end = ":endloop0"
		}
		fmt.Fprintf(&b, "{ %s }%s\n", strings.Join(lines, "; "), end)
	}
	return b.String()
}

// Parse reads what String writes.
func Parse(text string) (Program, error) {
	var out Program
	label := ""
	for _, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		switch {
		case line == "":
		case strings.HasSuffix(line, ":"):
			label = strings.TrimSuffix(line, ":")
		default:
			p, err := parsePacket(line)
			if err != nil {
				return nil, err
			}
			p.Label, label = label, ""
			out = append(out, p)
		}
	}
	return out, nil
}

var braces = regexp.MustCompile(`^\{(.*)\}\s*(:endloop0)?$`)

func parsePacket(line string) (Packet, error) {
	m := braces.FindStringSubmatch(line)
	if m == nil {
		return Packet{}, fmt.Errorf("no packet: %q", line)
	}
	p := Packet{Ends: m[2] != ""}
	for _, text := range strings.FieldsFunc(m[1], func(r rune) bool { return r == ';' || r == '\n' }) {
		if strings.TrimSpace(text) == "" {
			continue
		}
		i, err := isa.Parse(text)
		if err != nil {
			return Packet{}, err
		}
		p.Insts = append(p.Insts, i)
	}
	return p, nil
}

var listed = regexp.MustCompile(`^\s*([0-9a-f]+):\s*(.*)$`)

// ParseListing reads a function from what llvm-objdump -d --no-show-raw-insn prints of it.
func ParseListing(text string) (Program, error) {
	var out Program
	at, parts := "", ""
	for _, line := range strings.Split(text, "\n") {
		m := listed.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		if strings.Contains(m[2], "{") {
			n, err := strconv.ParseUint(m[1], 16, 32)
			if err != nil {
				return nil, err
			}
			at, parts = fmt.Sprintf("%#x", n), ""
		}
		parts += strings.TrimSpace(m[2]) + "\n"
		if !strings.Contains(m[2], "}") {
			continue
		}
		p, err := parsePacket(strings.ReplaceAll(strings.TrimSpace(parts), "\n", ";"))
		if err != nil {
			return nil, err
		}
		p.Label = at
		out = append(out, p)
	}
	return out, nil
}

// Check says which packet is not legal, and that loops are whole.
func (p Program) Check(version int) error {
	for n, k := range p {
		if err := packet.Check(version, k.Insts); err != nil {
			return fmt.Errorf("packet %d, %v: %w", n, k.Insts, err)
		}
	}
	return nil
}

// Count is what a run took. Stalls are packets for which early sources waited.
type Count struct{ Packets, Instructions, Stalls int }

// Return is the address that a function returns to.
const Return = 0xfffffffc

// most is how many packets a run may take.
const most = 10_000_000

// Run runs the program until it returns.
func (p Program) Run(version int, s *isa.State) (Count, error) {
	labels := map[string]int{}
	for n, k := range p {
		if k.Label != "" {
			labels[k.Label] = n
		}
	}
	s.R[31] = Return
	var c Count
	stalls := packet.NewStalls(version)
	begin, left := 0, int64(0)
	for at := 0; ; {
		if at >= len(p) {
			return c, fmt.Errorf("the program runs past its end")
		}
		if c.Packets++; c.Packets > most {
			return c, fmt.Errorf("the program does not end")
		}
		c.Instructions += len(p[at].Insts)
		stalls.Step(p[at].Insts)
		o, err := s.Step(p[at].Insts)
		if err != nil {
			return c, fmt.Errorf("packet %d: %w", at, err)
		}
		if o.Jumped {
			if o.Jump != Return {
				return c, fmt.Errorf("packet %d jumps to %#x, where nothing is", at, o.Jump)
			}
			c.Stalls = stalls.Count
			return c, nil
		}
		if o.Loop != "" {
			n, ok := labels[o.Loop]
			if next, numeric := strings.CutSuffix(o.Loop, "f"); !ok && numeric && len(next) == 1 {
				n, ok = labels[next] // the next label of that number
			}
			if !ok {
				return c, fmt.Errorf("no packet at %s", o.Loop)
			}
			begin, left = n, o.Count
		}
		if p[at].Ends && left > 1 {
			left--
			at = begin
			continue
		}
		at++
	}
}

// Package machine runs programs of packets in Go and counts what they take: the judge of schedules, which knows nothing of how they were made.
package machine

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"rules_dnn/gen/emit/hexagon/isa"
	"rules_dnn/gen/emit/hexagon/packet"
)

// Packet is instructions that run at once, and what follows them.
type Packet struct {
	Insts []isa.Inst
	// Label is where loops begin, "" where none does.
	Label string
	// Ends reports the last packet of a hardware loop (loop0), OuterEnds of the loop around it (loop1).
	Ends, OuterEnds bool
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
		switch {
		case k.Ends && k.OuterEnds:
			end = ":endloop01"
		case k.Ends:
			end = ":endloop0"
		case k.OuterEnds:
			end = ":endloop1"
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

var braces = regexp.MustCompile(`^\{(.*)\}\s*(:endloop0|:endloop1|:endloop01)?$`)

func parsePacket(line string) (Packet, error) {
	m := braces.FindStringSubmatch(line)
	if m == nil {
		return Packet{}, fmt.Errorf("no packet: %q", line)
	}
	p := Packet{Ends: strings.HasPrefix(m[2], ":endloop0"), OuterEnds: strings.HasSuffix(m[2], "1")}
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

// symbol is what disassemblers write behind an address.
var symbol = regexp.MustCompile(`\s*<[^>]*>`)

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
		parts += symbol.ReplaceAllString(strings.TrimSpace(m[2]), "") + "\n"
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

// Check says which packet is not legal, or is nil.
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
	r := &run{Program: p, labels: map[string]int{}, stalls: packet.NewStalls(version)}
	for n, k := range p {
		if k.Label != "" {
			r.labels[k.Label] = n
		}
	}
	s.R[31] = Return
	for !r.returned {
		if err := r.step(s); err != nil {
			return r.Count, fmt.Errorf("packet %d: %w", r.at, err)
		}
	}
	r.Stalls = r.stalls.Count
	return r.Count, nil
}

// loops are where a hardware loop begins, and how often it still runs.
type loops struct {
	begin int
	left  int64
}

type run struct {
	Program
	Count
	labels       map[string]int
	stalls       *packet.Stalls
	at           int
	inner, outer loops
	returned     bool
}

func (r *run) step(s *isa.State) error {
	if r.at >= len(r.Program) {
		return fmt.Errorf("the program runs past its end")
	}
	if r.Packets++; r.Packets > most {
		return fmt.Errorf("the program does not end")
	}
	p := r.Program[r.at]
	r.Instructions += len(p.Insts)
	r.stalls.Step(p.Insts)
	o, err := s.Step(p.Insts)
	if err != nil {
		return err
	}
	if o.Jumped && o.Jump != Return {
		return fmt.Errorf("a jump to %#x, where there is no packet", o.Jump)
	}
	r.returned = o.Jumped
	if o.Loop != "" {
		r.inner.left = o.Count
		if r.inner.begin, err = r.find(o.Loop); err != nil {
			return err
		}
	}
	if o.Outer != "" {
		r.outer.left = o.OuterCount
		if r.outer.begin, err = r.find(o.Outer); err != nil {
			return err
		}
	}
	switch {
	case o.Goto != "":
		r.at, err = r.find(o.Goto)
	case p.Ends && r.inner.left > 1:
		r.inner.left--
		r.at = r.inner.begin
	case p.OuterEnds && r.outer.left > 1:
		r.outer.left--
		r.at = r.outer.begin
	default:
		r.at++
	}
	return err
}

// find is the packet at a label.
func (r *run) find(label string) (int, error) {
	if n, ok := r.labels[label]; ok {
		return n, nil
	}
	// "0f" is the next label 0, of which there is one.
	if n, ok := r.labels[strings.TrimSuffix(label, "f")]; ok {
		return n, nil
	}
	return 0, fmt.Errorf("no packet at %s", label)
}

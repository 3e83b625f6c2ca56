package plan

import (
	"fmt"
	"strings"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/kernel/layout"
	"rules_dnn/gen/kernel/loop"
)

// String is the program for dumps: each step with its kernel's anchor, its tasks, and where
// its values lie.
func (p *Program) String() string {
	t := &text{p: p}
	t.steps(p.Steps, "")
	if p.Places != nil {
		for _, s := range p.spaces() {
			t.memory(s)
		}
	}
	return t.out.String()
}

// memory is the plan of a space.
func (t *text) memory(s layout.Space) {
	name := in(s)
	m := t.p.memory(s)
	for i, x := range m.Images {
		fmt.Fprintf(&t.out, "%simage %d: %s[%s][%s][%d]\n", name, i, x.Type, x.Height, x.Width, layout.TexelLanes)
	}
	fmt.Fprintf(&t.out, "%sarena %s (at least %s), scratch %s, weights %d bytes\n", name, m.ArenaBytes, m.LowerBoundBytes, m.ScratchBytes, m.WeightsBytes)
}

// in is what stands before something of a space, nothing for the host.
func in(s layout.Space) string {
	if s == layout.Host {
		return ""
	}
	return s.String() + " "
}

// KernelTexts are the kernels of the program's steps for dumps.
func (p *Program) KernelTexts() string {
	var l loop.Listing
	n := 0
	walk(p.Steps, func(s Step) {
		if c, _ := s.call(); c != nil {
			l.Add(c.Kernel, fmt.Sprintf("step %d: %s", n, c.Block.Label()))
		}
		n++
	})
	return l.String()
}

type text struct {
	p   *Program
	out strings.Builder
	n   int // steps so far
}

func (t *text) steps(steps []Step, indent string) {
	for _, s := range steps {
		fmt.Fprintf(&t.out, "%sstep %d: ", indent, t.n)
		t.n++
		switch {
		case s.Call != nil:
			t.call(s.Call, indent)
		case s.Launch != nil:
			t.launch(s.Launch, indent)
		case s.Transfer != nil:
			t.transfer(s.Transfer, indent)
		case s.Choose != nil:
			t.choose(s.Choose, indent)
		case s.Copy != nil:
			t.out.WriteString("copy\n")
			t.value("reads", s.Copy.From, indent)
			t.value("writes", s.Copy.To, indent)
		case s.Check != nil:
			fmt.Fprintf(&t.out, "check %s\n", s.Check)
		case s.Set != nil:
			fmt.Fprintf(&t.out, "%s = %s\n", s.Set.Name, s.Set.Value)
		case s.Carry != nil:
			t.carry(s.Carry, indent)
		case s.If != nil:
			fmt.Fprintf(&t.out, "%s\n%s  if %q\n", s.If.Label, indent, s.If.Cond.Name)
			t.steps(s.If.Then, indent+"    ")
			fmt.Fprintf(&t.out, "%s  else\n", indent)
			t.steps(s.If.Else, indent+"    ")
		default:
			t.loop(s.Loop, indent)
		}
	}
}

func (t *text) call(s *Call, indent string) {
	fmt.Fprintf(&t.out, "%s\n%s  %s, tasks %s\n", s.Block.Label(), indent, s.Kernel.Anchor, s.Kernel.Tasks())
	t.args(s, indent)
}

func (t *text) args(s *Call, indent string) {
	for _, v := range s.Over {
		t.value("takes the place of", v, indent)
	}
	for k, v := range s.Args {
		verb := "reads"
		if s.Kernel.Buffers[k].Write {
			verb = "writes"
		}
		t.value(verb, v, indent)
	}
}

func (t *text) carry(s *Carry, indent string) {
	t.out.WriteString("carry\n")
	for _, c := range s.Copies {
		t.value("reads", c.From, indent)
		t.value("writes", c.To, indent)
	}
	for _, x := range s.Sets {
		fmt.Fprintf(&t.out, "%s  then %s = %s", indent, x.Name, x.Value)
		if x.Once != "" {
			fmt.Fprintf(&t.out, ", the same for every %s", x.Once)
		}
		t.out.WriteString("\n")
	}
}

func (t *text) loop(s *Loop, indent string) {
	fmt.Fprintf(&t.out, "%s\n%s  repeat %s < %s", s.Label, indent, s.Counter, s.Trips)
	if s.Max != nil {
		fmt.Fprintf(&t.out, ", at most %q", s.Max.Name)
	}
	if s.While != nil {
		fmt.Fprintf(&t.out, ", while %q", s.While.Name)
	}
	if s.Made != "" {
		fmt.Fprintf(&t.out, ", %s times", s.Made)
	}
	t.out.WriteString("\n")
	t.steps(s.Body, indent+"    ")
}

func (t *text) value(verb string, v *ir.Value, indent string) {
	fmt.Fprintf(&t.out, "%s  %s %q %s%v %s", indent, verb, v.Name, v.Type, v.Shape, t.p.Layouts[v])
	if at, ok := t.p.Places[v]; ok {
		fmt.Fprintf(&t.out, " at %s", at)
	}
	t.out.WriteString("\n")
}

// String is the place for people: "arena + 64*N".
func (at Place) String() string { return in(at.Space) + at.within() }

// within is the place in its space.
func (at Place) within() string {
	switch at.Region {
	case Image:
		return fmt.Sprintf("image %d", at.N)
	case Input, Output:
		name := fmt.Sprintf("%s %d", map[Region]string{Input: "input", Output: "output"}[at.Region], at.N)
		if at.Offset.Is(0) {
			return name
		}
		return name + " + " + at.Offset.String()
	case Weights:
		return "weights + " + at.Offset.String()
	}
	return "arena + " + at.Offset.String()
}

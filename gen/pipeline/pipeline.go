// Package pipeline is the list of passes, in order, with the reasons for the
// order. Dumping, stopping, timing and switching off hang on the list, never
// inside passes.
package pipeline

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"rules_dnn/gen/block"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/plan"
	"rules_dnn/gen/sel"
	"rules_dnn/gen/target"
)

// State is what passes work on: the graph, later its blocks, at last the program.
type State struct {
	Graph   *ir.Graph
	Blocks  *block.Graph
	Choice  *sel.Choice
	Program *plan.Program
	Target  *target.Target
	off     map[string]bool
}

// Enabled tells whether a pass, or a part of one that can be switched off, is on.
func (s *State) Enabled(name string) bool { return !s.off[name] }

// Pass is a row of the list.
type Pass struct {
	Name string
	Doc  string
	// Required passes cannot be switched off.
	Required bool
	Run      func(*State) error
}

// Options say which passes run and what is told about them.
type Options struct {
	Disable   []string
	StopAfter string
	Dump      []string // names of passes, or "all"
	// Emit receives the dump after a pass: its number, its name, the text.
	Emit func(n int, pass, text string) error
	// Time, when not nil, receives a line for each pass.
	Time io.Writer
}

// Run runs the passes in order. It returns false when StopAfter ended it early.
func Run(passes []Pass, s *State, o Options) (bool, error) {
	if err := o.check(passes); err != nil {
		return false, err
	}
	s.off = map[string]bool{}
	for _, d := range o.Disable {
		s.off[d] = true
	}
	for i, p := range passes {
		if s.off[p.Name] {
			continue
		}
		if err := runOne(p, s, o.Time); err != nil {
			return false, err
		}
		if slices.Contains(o.Dump, p.Name) || slices.Contains(o.Dump, "all") {
			if err := o.Emit(i, p.Name, s.text()); err != nil {
				return false, err
			}
		}
		if p.Name == o.StopAfter {
			return false, nil
		}
	}
	return true, nil
}

// runOne names the pass in what a bug of ours makes it panic with.
func runOne(p Pass, s *State, w io.Writer) (err error) {
	defer func() {
		if x := recover(); x != nil {
			panic(fmt.Sprintf("pass %s: %v", p.Name, x))
		}
	}()
	start := time.Now()
	if err := p.Run(s); err != nil {
		return fmt.Errorf("pass %s: %w", p.Name, err)
	}
	if s.Graph != nil && s.Blocks == nil {
		if err := ir.Verify(s.Graph); err != nil {
			return fmt.Errorf("after pass %s: %w", p.Name, err)
		}
	}
	if w != nil {
		fmt.Fprintf(w, "%-12s %8.1f ms\n", p.Name, float64(time.Since(start).Microseconds())/1e3)
	}
	return nil
}

func (o Options) check(passes []Pass) error {
	known := map[string]bool{"all": true}
	for _, a := range Switches {
		known[a.Name] = true
	}
	for _, p := range append(slices.Clone(GraphPasses), CompilePasses...) {
		known[p.Name] = true
		if p.Required && slices.Contains(o.Disable, p.Name) {
			return fmt.Errorf("pass %q is required and cannot be disabled", p.Name)
		}
	}
	for _, n := range append(append(slices.Clone(o.Disable), o.Dump...), o.StopAfter) {
		if n != "" && !known[n] {
			return fmt.Errorf("no pass %q; known: %s", n, strings.Join(names(passes), ", "))
		}
	}
	return nil
}

func names(passes []Pass) []string {
	var out []string
	for _, p := range passes {
		out = append(out, p.Name)
	}
	for _, s := range Switches {
		out = append(out, s.Name)
	}
	return out
}

func (s *State) text() string {
	var b strings.Builder
	switch {
	case s.Blocks != nil:
		b.WriteString(s.Blocks.String())
	case s.Graph != nil:
		if err := ir.Dump(&b, s.Graph); err != nil {
			return err.Error()
		}
	}
	return b.String()
}

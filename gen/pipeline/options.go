package pipeline

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// Options say which passes run and what is told about them. They may speak of the passes of
// both commands: one list of options serves both.
type Options struct {
	Disable   []string // names of passes that are not required, and of switches
	StopAfter string
	Dump      []string // names of passes, or "all"
	// Emit receives the dump after a pass: its number, its name, the text.
	Emit func(n int, pass, text string) error
	// Time, when not nil, receives a line for each pass.
	Time io.Writer
}

// all stands for every pass that runs, in Options.Dump.
const all = "all"

// Check refuses names that nothing has and requests that nothing would come of.
func (o Options) Check() error {
	optional, passes := names()
	for _, n := range o.Disable {
		if slices.Contains(passes, n) && !slices.Contains(optional, n) {
			return fmt.Errorf("pass %q is required and cannot be disabled; these can: %s", n, strings.Join(optional, ", "))
		}
		if !slices.Contains(optional, n) {
			return fmt.Errorf("there is no %q to disable; there are: %s", n, strings.Join(optional, ", "))
		}
	}
	wanted := slices.Clone(o.Dump)
	if o.StopAfter != "" {
		wanted = append(wanted, o.StopAfter)
	}
	for i, n := range wanted {
		switch {
		case n == all && i < len(o.Dump):
		case !slices.Contains(passes, n):
			return fmt.Errorf("there is no pass %q; there are: %s", n, strings.Join(passes, ", "))
		case slices.Contains(o.Disable, n):
			return fmt.Errorf("pass %q is disabled; dnnc can neither dump nor stop after it", n)
		}
	}
	return nil
}

// names are what can be disabled, and all passes.
func names() (optional, passes []string) {
	for _, p := range append(slices.Clone(GraphPasses), CompilePasses...) {
		passes = append(passes, p.Name)
		if !p.Required {
			optional = append(optional, p.Name)
		}
	}
	for _, s := range Switches {
		optional = append(optional, s.Name)
	}
	return optional, passes
}

package nodetest

import (
	"errors"
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"rules_dnn/gen/graph/shape"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/testing/modeltest"
)

var (
	chip    = flag.String("chip", "x86_64_v3", "facts of which TestNodeLoops compiles for")
	disable = flag.String("disable", "", "passes, by commas, that TestNodeLoops switches off")
)

// givens are the ways in which a case is compiled, and how many cases must pass: what is
// constant decides which kernels are chosen, and symbols which code is printed.
var givens = []struct {
	name  string
	all   bool // of all releases, not only the newest of each name
	bind  func(g *ir.Graph, c *Case, inputs map[string]*ir.Tensor)
	least int
}{
	{"operands at run time", true, func(*ir.Graph, *Case, map[string]*ir.Tensor) {}, 2695},
	{"all operands but the first constant", false, bindWeights, 1609},
	{"dimensions as symbols", false, func(g *ir.Graph, c *Case, _ map[string]*ir.Tensor) { symbolize(g, c) }, 1581},
}

// TestNodeLoops compiles the cases that TestNodes runs and runs the programs in the interpreter of loops.
func TestNodeLoops(t *testing.T) {
	s := cases(t)
	for _, given := range givens {
		t.Run(given.name, func(t *testing.T) {
			o := &outcome{known: len(s.Cases) + len(s.Left), skipped: map[string]int{}}
			for _, l := range s.Left {
				o.skipped["not vendored: "+l.Reason]++
			}
			for i, c := range s.Cases {
				if !given.all && !*every && slices.ContainsFunc(s.Cases[i+1:], func(later *Case) bool { return later.Name == c.Name }) {
					o.skipped["of an older release than another"]++
					continue
				}
				t.Run(c.Label(), func(t *testing.T) { o.compile(t, c, given.bind) })
			}
			t.Log(o)
			require.Equal(t, o.run, o.passed)
			atLeast(t, given.least, o.run)
		})
	}
}

// bindWeights makes all inputs but the first constants of the case's values.
func bindWeights(g *ir.Graph, _ *Case, inputs map[string]*ir.Tensor) {
	for _, v := range g.Inputs[min(1, len(g.Inputs)):] {
		*v = *ir.ConstValue(v.Name, inputs[v.Name])
	}
	g.Inputs = g.Inputs[:min(1, len(g.Inputs))]
}

func (o *outcome) compile(t *testing.T, c *Case, bind func(*ir.Graph, *Case, map[string]*ir.Tensor)) {
	err := bounding(c, func(bounds map[string]sym.Range) error {
		g, err := c.Graph()
		if err != nil {
			return err
		}
		g.Bounded = bounds
		return o.compiled(g, c, bind)
	})
	var skip *Skip
	if errors.As(err, &skip) {
		o.skipped[skip.Reason]++
		t.Skip(err)
	}
	o.run++
	if err != nil {
		o.failed = append(o.failed, c.Label())
		t.Fatal(err)
	}
	o.passed++
}

// compiled compares the compiled case with the expected outputs.
func (o *outcome) compiled(g *ir.Graph, c *Case, bind func(*ir.Graph, *Case, map[string]*ir.Tensor)) error {
	bound, inputs := c.Bind(g)
	bind(g, c, inputs)
	config := modeltest.Config{Chip: *chip}
	if *disable != "" {
		config.Disable = strings.Split(*disable, ",")
	}
	if len(g.Nodes) == 0 {
		return &Skip{"nothing to compile: the output is a constant"}
	}
	how := o.how
	if how == nil {
		how = modeltest.Run
	}
	got, err := how(g, config, inputs)
	var unknown *shape.UnknownError
	if errors.As(err, &unknown) {
		return &Skip{"shapes depend on values of inputs"}
	}
	if err != nil {
		return err
	}
	o.bound.Structural += bound.Structural
	o.bound.Runtime += bound.Runtime
	for i, want := range c.Outputs {
		if err := Compare(got[i], want); err != nil {
			return fmt.Errorf("output %q: %w", g.Outputs[i].Name, err)
		}
	}
	return nil
}

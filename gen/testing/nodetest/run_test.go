package nodetest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"rules_dnn/gen/graph/interp"
	"rules_dnn/gen/graph/shape"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/testing/modeltest"
)

// outcome counts what became of the cases.
type outcome struct {
	known, run, passed int
	bound              Bound
	skipped            map[string]int
	failed             []string
	// how compiles and runs a case; nil: modeltest.Run.
	how func(*ir.Graph, modeltest.Config, map[string]*ir.Tensor) ([]*ir.Tensor, error)
}

func (o *outcome) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "known %d, run %d, passed %d, failed %d; operands of those run: %d structural (bound to the values), %d at run time",
		o.known, o.run, o.passed, len(o.failed), o.bound.Structural, o.bound.Runtime)
	reasons := make([]string, 0, len(o.skipped))
	skipped := 0
	for r, n := range o.skipped {
		reasons = append(reasons, fmt.Sprintf("%5d %s", n, r))
		skipped += n
	}
	slices.Sort(reasons)
	slices.Reverse(reasons)
	fmt.Fprintf(&b, "\nskipped %d:\n%s", skipped, strings.Join(reasons, "\n"))
	return b.String()
}

// TestNodes runs every case whose operators the table defines in the interpreter.
func TestNodes(t *testing.T) {
	s := cases(t)
	o := &outcome{known: len(s.Cases) + len(s.Left), skipped: map[string]int{}}
	for _, l := range s.Left {
		o.skipped["not vendored: "+l.Reason]++
	}
	for _, c := range s.Cases {
		t.Run(c.Label(), func(t *testing.T) { o.runCase(t, c) })
	}
	t.Log(o)
	require.Equal(t, o.run, o.passed)
	atLeast(t, leastRun, o.run)
}

// leastRun guards against operators that vanish from the table.
const leastRun = 2700

// TestRunnerFails breaks an expected output, an input and a declared shape.
func TestRunnerFails(t *testing.T) {
	s, err := Load()
	require.NoError(t, err)
	i := slices.IndexFunc(s.Cases, func(c *Case) bool { return c.Name == "test_relu" })
	for _, c := range []struct {
		name string
		harm func(c *Case, g *ir.Graph)
		want string
	}{
		{"nothing", func(*Case, *ir.Graph) {}, ""},
		{"output", func(c *Case, _ *ir.Graph) { c.Outputs[0].Data[3] ^= 0x40 }, "elements differ"},
		{"shape", func(c *Case, _ *ir.Graph) { c.Outputs[0].Shape[0]++ }, "want f32[4 4 5]"},
		{"operator", func(_ *Case, g *ir.Graph) { g.Nodes[0].Op = "Neg" }, "elements differ"},
	} {
		t.Run(c.name, func(t *testing.T) {
			broken := *s.Cases[i]
			out := *broken.Outputs[0]
			out.Data, out.Shape = slices.Clone(out.Data), slices.Clone(out.Shape)
			broken.Outputs = []*ir.Tensor{&out}
			g, err := broken.Graph()
			require.NoError(t, err)
			c.harm(&broken, g)
			err = (&outcome{}).check(g, &broken)
			if c.want == "" {
				require.NoError(t, err)
			} else {
				require.ErrorContains(t, err, c.want)
			}
		})
	}
}

func (o *outcome) runCase(t *testing.T, c *Case) {
	g, err := c.Graph()
	var skip *Skip
	if errors.As(err, &skip) {
		o.skipped[skip.Reason]++
		t.Skip(err)
	}
	o.run++
	if err == nil {
		err = o.check(g, c)
	}
	if err != nil {
		o.failed = append(o.failed, c.Label())
		t.Fatal(err)
	}
	o.passed++
}

// check infers the case's shapes, runs it, and compares both with the expected outputs.
func (o *outcome) check(g *ir.Graph, c *Case) error {
	bound, inputs := c.Bind(g)
	o.bound.Structural += bound.Structural
	o.bound.Runtime += bound.Runtime
	if err := inferred(g, c); err != nil {
		return fmt.Errorf("inference: %w", err)
	}
	got, err := interp.Graph(g, inputs)
	if err != nil {
		return err
	}
	for i, want := range c.Outputs {
		if err := Compare(got[i], want); err != nil {
			return fmt.Errorf("output %q: %w", g.Outputs[i].Name, err)
		}
	}
	return nil
}

// inferred checks inferred shapes and types against the expected outputs'. What
// depends on values that only a run knows is left to the run.
func inferred(g *ir.Graph, c *Case) error {
	var unknown *shape.UnknownError
	if err := shape.Infer(g); errors.As(err, &unknown) {
		return nil
	} else if err != nil {
		return err
	}
	for i, want := range c.Outputs {
		v := g.Outputs[i]
		if v.Type != want.Type || !fits(v.Shape, want.Shape, g.Symbols) {
			return fmt.Errorf("output %q is %s%v, want %s%v", v.Name, v.Type, v.Shape, want.Type, want.Shape)
		}
	}
	return nil
}

// fits reports whether a shape has these dimensions, where those that a run computes are at most
// their bounds, if they have any.
func fits(s ir.Shape, dims []int64, symbols []ir.Symbol) bool {
	if len(s) != len(dims) {
		return false
	}
	for i, d := range s {
		if c, ok := d.Const(); ok {
			if c != dims[i] {
				return false
			}
			continue
		}
		most, bounded := ir.Most(d, symbols, nil)
		if !bounded {
			continue // the run alone knows
		}
		if c, static := most.Const(); !static || dims[i] > c {
			return false
		}
	}
	return true
}

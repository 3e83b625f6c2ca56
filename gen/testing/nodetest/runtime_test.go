package nodetest

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"rules_dnn/gen/emit/cpp/cpptest"
	"rules_dnn/gen/graph/shape"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/pipeline"
	"rules_dnn/gen/program/plan"
	"rules_dnn/gen/program/run"
	"rules_dnn/gen/target"
	"rules_dnn/gen/testing/modeltest"
)

// atRun compiles a case all of whose inputs are given at run time, as ONNX's models have them: shapes,
// repeats and sizes too. What nothing bounds is bounded.
func atRun(c *Case, chip *target.Target) (s *pipeline.State, err error) {
	err = bounding(c, func(bounds map[string]sym.Range) error {
		s, err = atRunIn(c, chip, bounds)
		return err
	})
	return s, err
}

func atRunIn(c *Case, chip *target.Target, bounds map[string]sym.Range) (*pipeline.State, error) {
	g, err := c.Graph()
	if err != nil {
		return nil, err
	}
	g.Bounded = bounds
	structural := false
	for _, n := range g.Nodes {
		for i, v := range n.Inputs {
			structural = structural || v != nil && v.Def == nil && v.Const == nil && isStructural(n, i)
		}
	}
	if !structural {
		return nil, &Skip{"no structural operand is an input"}
	}
	s := &pipeline.State{Graph: g, Target: chip}
	_, err = pipeline.Run(slices.Concat(pipeline.GraphPasses, pipeline.CompilePasses), s, pipeline.Options{})
	return s, err
}

// leastAtRun guards against cases that are refused again.
const leastAtRun = 248

// TestStructureAtRun runs the cases whose structure depends on inputs' values: programs that compute
// dimensions, in the interpreter of loops and as C++.
func TestStructureAtRun(t *testing.T) {
	s := cases(t)
	chip, err := modeltest.Chip(*chip)
	require.NoError(t, err)
	passed, left := 0, map[string]int{}
	var compiled []cpptest.Case
	var of []*Case
	for _, c := range s.Cases {
		st, err := atRun(c, chip)
		var skip *Skip
		var unknown *shape.UnknownError
		var bound *plan.BoundError
		switch {
		case errors.As(err, &skip):
			continue
		case errors.As(err, &unknown):
			left[fmt.Sprintf("%s: %v", unknown.Causes[0].Node.Op, unknown.Causes[0].Err)]++
			continue
		case errors.As(err, &bound):
			left[fmt.Sprintf("%s: %v", c.Name, err)]++
			continue
		}
		require.NoError(t, err, c.Label())
		got, err := run.Program(st.Program, c.Inputs)
		require.NoError(t, err, "%s\n%s", c.Label(), st.Program)
		for i, want := range c.Outputs {
			require.NoError(t, Compare(got[i], want), "%s: output %d", c.Label(), i)
		}
		passed++
		compiled, of = append(compiled, cpptest.Case{Name: c.Label(), Program: st.Program, Inputs: c.Inputs}), append(of, c)
	}
	reasons := []string{}
	for r, n := range left {
		reasons = append(reasons, fmt.Sprintf("%4d %s", n, r))
	}
	slices.Sort(reasons)
	for _, r := range reasons {
		t.Log(r)
	}
	t.Logf("%d passed, of %d distinct reasons left", passed, len(left))
	atLeast(t, leastAtRun, passed)
	for i, r := range cpptest.Run(t, repository, compiled, "-O1") {
		require.Zero(t, r.Status, of[i].Label())
		for k, want := range of[i].Outputs {
			require.NoError(t, Compare(r.Outputs[k], want), "%s: output %d", of[i].Label(), k)
		}
	}
}

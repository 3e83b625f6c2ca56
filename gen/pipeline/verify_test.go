package pipeline

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/irtest"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/layout"
	"rules_dnn/gen/kernel/loop"
	"rules_dnn/gen/program/plan"
	"rules_dnn/gen/selection/sel"
	"rules_dnn/gen/target"
)

// TestPassesAreVerified: what a pass leaves wrong is found right after it, and not by a later pass or in C++.
func TestPassesAreVerified(t *testing.T) {
	const text = `
		symbol N 1..4
		input %x f32[N, 8]
		input %w f32[8, 8]
		%a ?[*] = MatMul.13(%x, %w) "product"
		%b ?[*] = Softmax.13(%a) "softmax"
		%y ?[*] = MatMul.13(%b, %w) "next"
		output %y`
	chip := &target.Target{Name: "test", VectorBits: 128, CPU: "x86_64"}
	kernel := func(s *State, change func(*loop.Kernel)) { // a kernel that the choice alone has
		b := s.Blocks.Blocks[0]
		k, low := s.Choice.Kernels[b], *s.Choice.Kernels[b].Lowered
		own := *low.Kernel
		change(&own)
		low.Kernel = &own
		k.Lowered = &low
		s.Choice.Kernels[b] = k
	}
	step := func(s *State, i int) *plan.Call { return s.Program.Calls()[i] }
	for _, c := range []struct {
		name, after string
		harm        func(s *State)
		want        string // "": nothing is wrong
	}{
		{"nothing", "plan", func(*State) {}, ""},
		{"a node that nothing computes", "simplify", func(s *State) { s.Graph.Nodes = s.Graph.Nodes[1:] }, `"a"`},
		{"order of blocks", "blocks", func(s *State) { slices.Reverse(s.Blocks.Blocks) }, `reads "b" before it is computed`},
		{"a block that is gone", "sweep", func(s *State) { s.Blocks.Blocks = s.Blocks.Blocks[1:] }, `reads "a" before it is computed`},
		{"a type", "fuse", func(s *State) { s.Blocks.Blocks[0].Results[0].Type = ir.F16 }, `it computes "a" as f32; want f16`},
		{"a load", "fuse", func(s *State) {
			s.Blocks.Blocks[0].MapExprs(func(e te.Expr) te.Expr {
				if l, ok := e.(te.Load); ok {
					l.Source.N = 7
					return l
				}
				return e
			})
		}, "stage MatMul loads {false 7 0}, but the block has 2 operands"},
		{"an interface's layout", "select", func(s *State) { s.Choice.Layouts[s.Blocks.Inputs[0]] = layout.Blocked(1, 8) }, `"x" is an input or output of a graph, but is stored as axis1/8`},
		{"no kernel", "select", func(s *State) { delete(s.Choice.Kernels, s.Blocks.Blocks[1]) }, "block Softmax \"softmax\" does not have exactly one kernel"},
		{"a kernel too many", "select", func(s *State) { s.Choice.Kernels[nil] = sel.Kernel{} }, "the graph has 3 blocks"},
		{"a result's layout", "select", func(s *State) { s.Choice.Layouts[s.Blocks.Blocks[0].Results[0]] = layout.Blocked(1, 16) }, "block MatMul \"product\": its kernel stores 8*N elements of f32 for \"a\", which is f32[N 8] as axis1/16"},
		{"an operand that is written", "select", func(s *State) {
			kernel(s, func(k *loop.Kernel) {
				k.Buffers = slices.Clone(k.Buffers)
				b := *k.Buffers[0]
				b.Write = true
				k.Buffers[0], k.Body = &b, nil
				for _, x := range k.Buffers { // and all that is written has a store
					if x.Write {
						k.Body = append(k.Body, loop.Store{Buf: x, Value: te.Number(x.Type, 0)})
					}
				}
				k.Body = []loop.Stmt{loop.If{Cond: []te.Within{{E: sym.Var(loop.TaskVar), Hi: sym.Const(1)}}, Then: k.Body}}
			})
		}, "block MatMul \"product\": buffer \"a0\" of its kernel is written but not a result, or the reverse"},
		{"a kernel's loops", "select", func(s *State) {
			kernel(s, func(k *loop.Kernel) { k.Body = append(slices.Clone(k.Body), loop.Index{Var: "q", Value: sym.Var("r")}) })
		}, `uses "r", which is not in scope`},
		{"order of steps", "lower", func(s *State) { slices.Reverse(s.Program.Steps) }, `MatMul "next" reads "b" before a step writes it`},
		{"values of a kernel", "lower", func(s *State) { step(s, 0).Args = step(s, 0).Args[1:] }, "2 values for a kernel of 3 buffers"},
		{"a value's size", "lower", func(s *State) { step(s, 0).Args[1] = step(s, 0).Args[0] }, `"x" has 8*N elements of f32, and its kernel's "a1" has 64 of f32`},
		{"a write into an input", "lower", func(s *State) { step(s, 1).Args[1] = s.Program.Inputs[0] }, `writes "x", which is a constant or the caller's`},
		{"a step of two kinds", "lower", func(s *State) { s.Program.Steps[0].Set = &plan.Set{} }, "a step has 2 of its kinds set"},
		{"a result in an input", "inplace", func(s *State) {
			s.Program.Homes[step(s, 2).Args[0]] = plan.Home{Of: s.Program.Inputs[0], At: sym.Const(0)}
		}, `writes "b", which is a constant or the caller's`},
		{"no place", "plan", func(s *State) { delete(s.Program.Places, step(s, 0).Args[2]) }, `"a" has no place in memory`},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := &State{Graph: irtest.Parse(t, text), Target: chip}
			var passes []Pass
			for _, p := range slices.Concat(GraphPasses, CompilePasses) {
				if passes = append(passes, p); p.Name == c.after {
					passes = append(passes, Pass{Name: "harm", Run: func(s *State) error { c.harm(s); return nil }})
				}
			}
			_, err := Run(passes, s, Options{Disable: []string{"layouts"}})
			if c.want == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, c.want)
			assert.ErrorContains(t, err, "after pass harm: ")
		})
	}
}

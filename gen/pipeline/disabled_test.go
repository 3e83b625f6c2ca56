package pipeline

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"rules_dnn/gen/emit/cpp/cpptest"
	"rules_dnn/gen/graph/interp"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/program/run"
	"rules_dnn/gen/target/chips/chipstest"
)

// uneven are weights of which no two neighbours are equal.
func uneven(n int) string {
	var b strings.Builder
	for i := range n {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%g", float32(i*7%29-14)/256)
	}
	return b.String()
}

// TestDisabledAgree: whichever part is switched off, alone or with all others, networks answer as the interpreter does, in loops and in C++.
func TestDisabledAgree(t *testing.T) {
	optional, _ := names()
	sets := [][]string{nil, optional}
	for _, name := range optional {
		sets = append(sets, []string{name})
	}
	chip := chipstest.Target(t, "x86_64_v3")
	var cases []cpptest.Case
	var want [][]*ir.Tensor
	for _, n := range []struct {
		text string
		dims []int64
	}{{networkOf(uneven), []int64{2, 3, 8, 8}}, {weighed(residual), []int64{1, 3, 4, 4}}} {
		x := steps(n.dims)
		for _, off := range sets {
			s := parse(t, n.text)
			s.Target = chip
			for _, passes := range [][]Pass{GraphPasses, CompilePasses} {
				_, err := Run(passes, s, Options{Disable: off})
				require.NoError(t, err, off)
			}
			reference, err := interp.Graph(parse(t, n.text).Graph, map[string]*ir.Tensor{"x": x})
			require.NoError(t, err)
			looped, err := run.Program(s.Program, []*ir.Tensor{x})
			require.NoError(t, err, off)
			dims := map[string]int64{}
			for _, y := range s.Program.Symbols {
				dims[y.Name] = map[string]int64{"N": n.dims[0], "H": n.dims[2], "W": n.dims[3]}[y.Name]
			}
			name := fmt.Sprintf("%s without %v", s.Program.Name, off)
			for i := range reference {
				near(t, name+", loops", reference[i], looped[i])
			}
			cases = append(cases, cpptest.Case{Name: name, Program: s.Program, Dims: dims, Inputs: []*ir.Tensor{x}})
			want = append(want, reference)
		}
	}
	for i, got := range cpptest.Run(t, "../..", cases, "-O0") {
		require.Zero(t, got.Status, cases[i].Name)
		for k := range want[i] {
			near(t, cases[i].Name+", C++", want[i][k], got.Outputs[k])
		}
	}
}

package pipeline

import (
	"fmt"
	"math/rand"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/emit/cpp/cpptest"
	"rules_dnn/gen/graph/interp"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/program/run"
	"rules_dnn/gen/target"
	"rules_dnn/gen/target/chips/chipstest"
)

// residual is a residual block of a network of images of all sizes, after it has halved them.
const residual = `graph "g" opset 17 {
  symbol N 1..4
  symbol H 1..64
  symbol W 1..64
  const @w0 f32[32, 3, 7, 7] = {4704}
  const @w1 f32[32, 32, 3, 3] = {9216}
  const @w2 f32[32, 32, 3, 3] = {9216}
  input %x f32[N, 3, H, W]
  %a ?[*] = Conv.11(%x, @w0) {pads = [3, 3, 3, 3], strides = [4, 4]} "first"
  %b ?[*] = Relu.14(%a)
  %c ?[*] = Conv.11(%b, @w1) {pads = [1, 1, 1, 1]} "one"
  %d ?[*] = Relu.14(%c)
  %e ?[*] = Conv.11(%d, @w2) {pads = [1, 1, 1, 1]} "two"
  %f ?[*] = Add.14(%e, %b) "sum"
  %y ?[*] = Relu.14(%f)
  output %y
}
`

// weighed puts random weights in place of their numbers.
func weighed(text string) string {
	r := rand.New(rand.NewSource(1))
	for _, n := range []int{4704, 9216} {
		for strings.Contains(text, fmt.Sprintf("{%d}", n)) {
			var b strings.Builder
			for i := range n {
				if i > 0 {
					b.WriteString(", ")
				}
				fmt.Fprintf(&b, "%.3f", r.Float64()/8-1./16)
			}
			text = strings.Replace(text, fmt.Sprintf("{%d}", n), "{"+b.String()+"}", 1)
		}
	}
	return text
}

// TestVersions: images that have become one pixel have kernels of their own, which read the taps in the middle alone; all sizes
// give what the interpreter does, in all variants, in Go and in C++.
func TestVersions(t *testing.T) {
	s := parse(t, weighed(residual))
	for _, name := range []string{"x86_64", "x86_64_v3", "x86_64_v4"} {
		chip := chipstest.Target(t, name)
		s.Others = append(s.Others, chip)
	}
	require.NoError(t, s.SetChips(append([]*target.Target{}, s.Others...)))
	for _, passes := range [][]Pass{GraphPasses, CompilePasses} {
		_, err := Run(passes, s, Options{})
		require.NoError(t, err)
	}
	text := s.Program.String()
	assert.Regexp(t, `choose Conv "one".*\n  where 4 >= H, where 4 >= W\n .*\n      contraction, .*\n.*\n      reads "w1.packed" f32\[1 32 32\]`, text)
	var cases []cpptest.Case
	var want []*ir.Tensor
	for _, dims := range [][3]int64{{1, 1, 1}, {2, 1, 1}, {1, 4, 3}, {3, 8, 8}, {1, 9, 8}, {1, 5, 33}, {2, 32, 32}, {1, 40, 64}} {
		x := steps([]int64{dims[0], 3, dims[1], dims[2]})
		reference, err := interp.Graph(s.Graph, map[string]*ir.Tensor{"x": x})
		require.NoError(t, err)
		for i := range s.Program.Variants() {
			got, err := run.Program(s.Program.Variant(i), []*ir.Tensor{x})
			require.NoError(t, err, "%v", dims)
			near(t, fmt.Sprint(dims), reference[0], got[0])
		}
		cases = append(cases, cpptest.Case{Name: fmt.Sprint(dims), Program: s.Program, Dims: map[string]int64{"N": dims[0], "H": dims[1], "W": dims[2]}, Inputs: []*ir.Tensor{x}})
		want = append(want, reference[0])
	}
	for i, r := range cpptest.Run(t, "../..", cases, "-O1") {
		require.Zero(t, r.Status)
		near(t, cases[i].Name, want[i], r.Outputs[0])
	}
}

package opencl_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/emit/opencl"
	"rules_dnn/gen/emit/opencl/opencltest"
	"rules_dnn/gen/ir"
)

// guarded returns a model with two kernels whose work-items leave beyond the last task. The tasks of the first take four
// elements each, and the last one fewer.
func guarded() *model {
	return newModel().line("symbol S 1..64").line("input %%a i64[S]").line("input %%x f32[1, 1, S, 1]").
		line("%%y ?[*] = Add.14(%%a, %%a)").
		line("%%z ?[*] = Relu.14(%%x)").
		line("output %%y").line("output %%z")
}

// TestGuards runs kernels that leave work-items out, in one program, for several remainders. It also passes with the
// text that Intel's driver compiles wrongly in codebert_dyn: TestGuardsText is what fails with that.
func TestGuards(t *testing.T) {
	d := device(t, "opencl_buffers")
	p := compile(t, guarded().graph(t), d)
	var cases []opencltest.Case
	var want [][]*ir.Tensor
	for _, s := range []int64{1, 3, 4, 16, 17, 31, 32, 63, 64} {
		c := opencltest.Case{Name: fmt.Sprintf("S=%d", s), Program: p, Device: d, Dims: map[string]int64{"S": s}}
		want = append(want, looped(t, &c, guarded().graph(t)))
		cases = append(cases, c)
	}
	runs(t, cases, want)
}

// bare matches a loop's or a condition's head outside of calls that subtracts a work-item's or task's number.
var (
	heads   = regexp.MustCompile(`(?m)^ *(?:if|for) \((.*)\) (?:\{|return;)$`)
	minimum = regexp.MustCompile(`dnn_(?:min|max)\(.*?\)(?:;| )`)
	bare    = regexp.MustCompile(`- (?:[0-9]+ \* )?(?:tc|task|item|p[0-9])\b`)
)

// TestGuardsText holds the text of such kernels to what Intel's driver for processors needs: it inverts guards of later
// kernels if a comparison subtracts a work-item's number from a symbol (`S - 4 * task > 3`), as a ternary expression
// for a minimum does. Minima are the language's own, and no other comparison subtracts such a number.
func TestGuardsText(t *testing.T) {
	d := device(t, "opencl_buffers")
	s, err := opencl.Print(compile(t, guarded().graph(t), d), d)
	require.NoError(t, err)
	assert.Contains(t, s.Text, "dnn_min(dnn_index a, dnn_index b) { return min(a, b); }")
	assert.Contains(t, s.Text, "S - 4 * task", "a kernel has tasks of four elements")
	assert.Equal(t, 2, strings.Count(s.Text, ") return;"), "both kernels leave work-items out")
	for _, m := range heads.FindAllStringSubmatch(s.Text, -1) {
		assert.NotRegexp(t, bare, minimum.ReplaceAllString(m[1], ""), strings.TrimSpace(m[0]))
	}
}

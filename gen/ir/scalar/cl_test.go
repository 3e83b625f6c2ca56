package scalar

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/ir"
)

// TestCLTexts: every function has a text for every type, and all that it calls is there.
func TestCLTexts(t *testing.T) {
	all := []ir.DType{ir.Bool, ir.I8, ir.I16, ir.I32, ir.I64, ir.U8, ir.U16, ir.U32, ir.U64, ir.F16, ir.BF16, ir.F32, ir.F64}
	for _, r := range Table() {
		for _, to := range all {
			for _, from := range all {
				args := make([]ir.DType, r.Arity)
				for i := range args {
					args[i] = from
				}
				if r.Result == Choice {
					args[0] = ir.Bool
				}
				if Check(r.Name, to, args) != nil {
					continue
				}
				for _, lanes := range []int64{0, 4} {
					if lanes > 0 && (to != ir.F32 || from != ir.F32 || r.Result != Same) {
						continue
					}
					text := r.CL(to, args, lanes, []string{"x", "y", "z"}[:r.Arity])
					checkCL(t, text)
				}
			}
		}
	}
}

var clCall = regexp.MustCompile(`\bdnn_\w+\(`)

func checkCL(t *testing.T, text string) {
	t.Helper()
	whole := CLFunctions(text) + text
	for _, call := range clCall.FindAllString(text, -1) {
		assert.Contains(t, whole, " "+call, "%s is not defined", call)
	}
	for _, left := range []string{"::", "__builtin", "$", "<T", "_T(", "(T)", "vloadN"} {
		require.NotContains(t, whole, left)
	}
}

func TestCLFunctions(t *testing.T) {
	text := CLFunctions("y = dnn_sinh_float4(x) + dnn_pow_float(a, b);")
	order := []string{"dnn_abs_float(", "dnn_abs_float4(", "dnn_round_float(", "dnn_exp_scaled_float4(", "dnn_sinh_float4(", "dnn_log2_wide(", "dnn_pow_float("}
	at := -1
	for _, name := range order {
		i := strings.Index(text, " "+name)
		assert.Greater(t, i, at, "%s stands after what it calls", name)
		at = i
	}
	assert.Contains(t, text, "static float4 dnn_scale_float4(float4 p, uint4 n) {")
	assert.NotContains(t, text, "dnn_sin_")
	assert.Empty(t, CLFunctions("int dnn_index = f(x);"))
}

// TestSamePolynomials: the numbers in OpenCL's functions are those of dnn_math.h, which the tests of
// this package compare with the compiler's own, but for what is computed without doubles.
func TestSamePolynomials(t *testing.T) {
	number := regexp.MustCompile(`0x1[.0-9a-f]*p[-+][0-9]+`)
	header := map[string]bool{}
	for _, n := range number.FindAllString(mathHeader(t), -1) {
		header[n] = true
	}
	own := map[string]bool{
		"0x1.921fb6p-1": true, "0x1.777a5cp-26": true, // half of kPio2Hi and of kPio2Lo
		"0x1p-24": true, // the least half, which dnn_math.h does not multiply by
	}
	for _, n := range number.FindAllString(mathCL, -1) {
		assert.True(t, header[n] || own[n], "%s is no number of runtime/dnn_math.h", n)
	}
}

func mathHeader(t *testing.T) string {
	text, err := os.ReadFile("../../../runtime/dnn_math.h")
	require.NoError(t, err)
	return string(text)
}

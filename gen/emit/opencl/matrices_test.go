package opencl_test

import (
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"rules_dnn/gen/emit/opencl"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/pipeline"
)

//go:embed testdata/matrices.h
var matrices string

// Micro-kernels whose items multiply together, with their names, rows and registers, and the PTX in them.
var (
	togetherKernel = regexp.MustCompile(`(?s)static inline __attribute__\(\(always_inline\)\) void (dnn_tile_mma\w+?_(\d+)x(\d+)_s\w*)\(.*?\n}\n`)
	shuffle        = regexp.MustCompile(`__asm__ volatile\("shfl[^"]*" : "\+r"\((\w+)\) : "r"\((.*)\)\);`)
	readMatrices   = regexp.MustCompile(`__asm__ volatile\("ldmatrix\.sync\.aligned\.m8n8\.x(\d)\.shared\.b16[^"]*" : (.*) : "r"\((.*)\) : "memory"\);`)
	multiply       = regexp.MustCompile(`__asm__ volatile\("mma\.sync\.aligned\.m16n8k16[^"]*" : (.*)\);`)
	operand        = regexp.MustCompile(`"[=+]?[rf]"\((\w+)\)`)
)

// TestMatrices: what items read of memory that they share and multiply together is what each of them multiplies by itself, as PTX's manual defines these
// instructions, of which testdata/matrices.h has the meaning in C++ (a thread for each item). Drivers of other devices compile no PTX.
func TestMatrices(t *testing.T) {
	cxx, err := exec.LookPath("clang++")
	if err != nil {
		t.Skip("no clang++ here: run this under ./bazelw exec")
	}
	d := device(t, "opencl_nvidia")
	var functions, calls strings.Builder
	known := map[string]bool{}
	for _, text := range []string{
		"input %a f32[4096, 1024]\ninput %b f32[1024, 1024]\n%p ?[*] = MatMul.13(%a, %b)\n%y ?[*] = MatMul.13(%p, %b)\noutput %y",
		"input %a f32[64, 512]\ninput %b f32[512, 72]\n%p ?[*] = MatMul.13(%a, %b)\noutput %p",
		"input %q f32[16, 12, 197, 64]\ninput %k f32[16, 12, 64, 197]\ninput %v f32[16, 12, 197, 40]\n%s ?[*] = MatMul.13(%q, %k)\n%p ?[*] = Softmax.13(%s) {axis = -1}\n%y ?[*] = MatMul.13(%p, %v)\noutput %y",
	} {
		src, err := opencl.Print(compiled(t, &pipeline.State{Graph: parsed(t, text), Target: d, Store: ir.F16}), d)
		require.NoError(t, err)
		for _, m := range togetherKernel.FindAllStringSubmatch(src.Text, -1) {
			if known[m[1]] {
				continue
			}
			known[m[1]] = true
			body := strings.NewReplacer("static inline __attribute__((always_inline))", "static", "uint xs = (uint)(size_t)x, ws = (uint)(size_t)w;", "uint xs = place(x), ws = place(w);").Replace(m[0])
			functions.WriteString(meant(t, body))
			functions.WriteString(strings.ReplaceAll(strings.ReplaceAll(body, "#ifdef DNN_TOGETHER", "#if 0"), m[1], m[1]+"_plain"))
			fmt.Fprintf(&calls, "  Compare(%q, %s, %s_plain, 2 * %s * %s);\n", m[1], m[1], m[1], m[2], m[3])
		}
	}
	require.GreaterOrEqual(t, len(known), 4)
	dir := t.TempDir()
	file, program := filepath.Join(dir, "matrices.cc"), filepath.Join(dir, "matrices")
	require.NoError(t, os.WriteFile(file, []byte(matrices+functions.String()+"int main() {\n"+calls.String()+"}\n"), 0o644))
	out, err := exec.Command(cxx, "-std=c++17", "-O1", "-w", "-pthread", file, "-o", program).CombinedOutput()
	require.NoError(t, err, string(out))
	out, err = exec.Command(program).CombinedOutput()
	require.NoError(t, err, string(out))
	require.Equal(t, len(known), strings.Count(string(out), " ok\n"), string(out))
}

// meant is a function with calls of what its instructions mean in their place.
func meant(t *testing.T, text string) string {
	text = shuffle.ReplaceAllString(text, "Shuffle($1, $2);")
	text = readMatrices.ReplaceAllStringFunc(text, func(s string) string {
		m := readMatrices.FindStringSubmatch(s)
		out := fmt.Sprintf("uint read[4]; Read(%s, %s, read);", m[1], m[3])
		for i, to := range operand.FindAllStringSubmatch(m[2], -1) {
			out += fmt.Sprintf(" %s = read[%d];", to[1], i)
		}
		return "{ " + out + " }"
	})
	text = multiply.ReplaceAllStringFunc(text, func(s string) string {
		var names []string
		for _, m := range operand.FindAllStringSubmatch(s, -1) {
			names = append(names, m[1])
		}
		return "Multiply(" + strings.Join(names, ", ") + ");"
	})
	require.NotContains(t, text, "__asm__")
	return text
}

package cpp_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/emit/asm"
	"rules_dnn/gen/emit/cpp"
	"rules_dnn/gen/emit/neon"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/kernel/loop"
	"rules_dnn/gen/target"
	"rules_dnn/gen/target/chips/chipstest"
	"rules_dnn/gen/target/instr"
)

// root is the repository's, both for go test and under Bazel.
const root = "../../.."

// machine is how clang names a processor, and its instructions that multiply and add.
type machine struct {
	triple string
	fused  *regexp.Regexp
	// mul and add are those of a processor without fused ones.
	mul, add *regexp.Regexp
}

var machines = map[string]machine{
	"x86_64": {"x86_64-linux-gnu", regexp.MustCompile(`^vfmadd\d+ps$`), regexp.MustCompile(`^v?mulps$`), regexp.MustCompile(`^v?addps$`)},
	"arm64":  {"aarch64-linux-gnu", regexp.MustCompile(`^fm(la|ul)$`), regexp.MustCompile(`^fmul$`), regexp.MustCompile(`^fadd$`)},
}

var chipNames = []string{"x86_64", "x86_64_v3", "x86_64_v4", "arm64"}

// kernelCopts are the flags that the rules give to kernels.
func kernelCopts(t *testing.T) []string {
	data, err := os.ReadFile(filepath.Join(root, "rules/private/cc.bzl"))
	require.NoError(t, err)
	list := regexp.MustCompile(`(?s)_KERNEL_COPTS = \[(.*?)\]`).FindSubmatch(data)
	require.NotNil(t, list, "rules/private/cc.bzl has no list _KERNEL_COPTS")
	var out []string
	for _, m := range regexp.MustCompile(`(?m)^ *"(.*?)"`).FindAllSubmatch(list[1], -1) {
		out = append(out, string(m[1]))
	}
	require.Contains(t, out, "-O3")
	return out
}

// tool is the first of the programs that this machine has; the test is skipped where there is none.
func tool(t *testing.T, names ...string) string {
	for _, n := range names {
		if path, err := exec.LookPath(n); err == nil {
			return path
		}
	}
	t.Skipf("this machine has none of %s", strings.Join(names, ", "))
	return ""
}

// assembly compiles micro-kernels to assembly, each a function of its own.
func assembly(t *testing.T, clang string, c *target.Target, ms []*loop.MicroKernel) map[string]*asm.Function {
	var text, names strings.Builder
	text.WriteString("#include \"runtime/dnn_kernel.h\"\n")
	for _, m := range ms {
		text.WriteString(cpp.Micro(loop.Tile{Micro: m}, 2))
		fmt.Fprintf(&names, "  (const void*)%s,\n", cpp.MicroName(m))
	}
	fmt.Fprintf(&text, "extern const void* const micros[];\nconst void* const micros[] = {\n%s};\n", names.String())
	src := filepath.Join(t.TempDir(), "micro.cc")
	require.NoError(t, os.WriteFile(src, []byte(text.String()), 0o644))
	args := append(kernelCopts(t), c.Copts...)
	args = append(args, "--target="+machines[c.CPU].triple, "-nostdlibinc", "-Wall", "-Wextra", "-Werror", "-I"+root, "-S", src, "-o", "-")
	cmd := exec.Command(clang, args...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	require.NoError(t, err, "%s %s\n%s", clang, strings.Join(args, " "), stderr.String())
	byName := map[string]*asm.Function{}
	for label, f := range asm.Functions(string(out)) {
		for _, m := range ms {
			if strings.HasPrefix(label, fmt.Sprintf("_ZL%d%s", len(cpp.MicroName(m)), cpp.MicroName(m))) {
				byName[cpp.MicroName(m)] = f
			}
		}
	}
	return byName
}

// inLoop is how many products the loop's body has.
func inLoop(m *loop.MicroKernel) int64 {
	if k, ok := neon.New(loop.Tile{Micro: m}); ok {
		return k.Products
	}
	return m.Rows * m.Vectors * m.Unroll()
}

// checkMicro finds what is wrong with a micro-kernel's instructions: its loop must hold all
// of its products and nothing on the stack.
func checkMicro(t *testing.T, cpu machine, m *loop.MicroKernel, f *asm.Function) []string {
	name := cpp.MicroName(m)
	if !assert.NotNil(t, f, "%s is not in the assembly", name) {
		return nil
	}
	var hot []string
	applications := cpu.fused
	if !m.Instr.Fused {
		applications = cpu.mul
	}
	for _, body := range f.Innermost() {
		if asm.Count(body, applications) > 0 {
			assert.Empty(t, hot, "%s has two loops with products", name)
			hot = body
		}
	}
	want := inLoop(m)
	all := want
	if k, ok := neon.New(loop.Tile{Micro: m}); ok { // there are some behind the loop, too
		all = asm.Count(k.Lines, applications)
	}
	assert.Equal(t, want, asm.Count(hot, applications), "%s: products in the loop's body\n%s", name, strings.Join(hot, "\n"))
	assert.Equal(t, all, asm.Count(f.Lines, applications), "%s: products in all of it", name)
	if !m.Instr.Fused {
		assert.Equal(t, want, asm.Count(hot, cpu.add), "%s: sums in the loop's body", name)
		assert.Zero(t, asm.Count(f.Lines, cpu.fused), "%s: fused products", name)
	}
	if form, ok := forms[[2]string{m.Instr.Name, m.X.String()}]; ok {
		n := int64(0)
		for _, line := range hot {
			n += int64(len(form.text.FindAllString(line, -1)))
		}
		assert.LessOrEqual(t, n, form.count(m), "%s: %s\n%s", name, form.what, strings.Join(hot, "\n"))
		if len(m.K) > 0 && m.RowStep != m.K[len(m.K)-1].XStep { // or a row's next X is the next row's
			assert.Equal(t, form.count(m), n, "%s: %s\n%s", name, form.what, strings.Join(hot, "\n"))
		}
	}
	inLoop := slices.DeleteFunc(f.StackAccesses(hot), saves.MatchString) // without a loop, all of the function
	assert.Empty(t, inLoop, "%s: accesses to the stack in the loop's body\n%s", name, strings.Join(hot, "\n"))
	return hot
}

// saves are the pairs of registers of 64-bit ARM that functions keep for their callers.
var saves = regexp.MustCompile(`^(stp|ldp)\s+d\d+, d\d+, \[sp`)

// forms is how X reaches an instruction in assembly: what its text matches, and how often in the loop.
var forms = map[[2]string]struct {
	what  string
	text  *regexp.Regexp
	count func(m *loop.MicroKernel) int64
}{
	{"fma_f32x4", "lane"}: {"fmla by element", regexp.MustCompile(`^fmla\s+v\d+\.4s, v\d+\.4s, v\d+\.s\[[0-3]\]$`),
		inLoop},
	{"fma_f32x8", "bcast"}: {"vbroadcastss", regexp.MustCompile(`^vbroadcastss\s.*\(`),
		func(m *loop.MicroKernel) int64 { return m.Rows * m.Unroll() }},
	{"fma_f32x16", "mem"}: {"vbroadcastss or {1to16}", regexp.MustCompile(`^vbroadcastss\s.*\(|\{1to16\}`),
		func(m *loop.MicroKernel) int64 { return m.Rows * m.Unroll() }},
}

// sweep is every tile that fits the chip's registers, with each kind of X.
func sweep(c *target.Target) []*loop.MicroKernel {
	row := c.Tile(ir.F32)
	block := max(8, row.Lanes)
	var out []*loop.MicroKernel
	for _, x := range append([]instr.Operand{instr.Vector}, row.Broadcast...) {
		for v := block / row.Lanes; v <= 8*block/row.Lanes; v += block / row.Lanes {
			if x == instr.Vector && v > block/row.Lanes {
				break
			}
			for r := int64(1); row.Registers(x, r, v) <= int64(c.VectorRegisters); r++ {
				out = append(out, sweepTile(row, x, r, v, block))
			}
		}
	}
	return out
}

// sweepTile is a 3x3 convolution of blocked channels: input channels are innermost. Of a
// row-major X it is one with stride 2, and of a vector X a depthwise one.
func sweepTile(row *instr.Row, x instr.Operand, r, v, block int64) *loop.MicroKernel {
	m := &loop.MicroKernel{Instr: row, X: x, Rows: r, Vectors: v}
	ks := []loop.KLoop{{Extent: 4, XStep: 90 * block}, {Extent: 3, XStep: 30 * block}, {Extent: 3, XStep: block}, {Extent: block, XStep: 1}}
	m.RowStep = block
	switch {
	case x == instr.Vector:
		ks = ks[1:3]
	case x == instr.Register && row.Allows(instr.Lane):
		m.RowStep = 2
		ks = []loop.KLoop{{Extent: 3, XStep: 2000}, {Extent: 7, XStep: 40}, {Extent: 7, XStep: 1}}
	}
	step := v * row.Lanes
	for i := len(ks) - 1; i >= 0; i-- {
		ks[i].WStep = step
		step *= ks[i].Extent
	}
	m.K = ks
	return m
}

// distinct drops all but the first of each name.
func distinct(ms []*loop.MicroKernel) []*loop.MicroKernel {
	var out []*loop.MicroKernel
	seen := map[string]bool{}
	for _, m := range ms {
		if name := cpp.MicroName(m); !seen[name] {
			seen[name] = true
			out = append(out, m)
		}
	}
	return out
}

// TestMicroKernelsInAssembly reads what clang makes of micro-kernels. With -v it prints a table.
func TestMicroKernelsInAssembly(t *testing.T) {
	clang := tool(t, "clang", "clang-19", "clang-20", "clang-18", "clang-17")
	for _, name := range chipNames {
		t.Run(name, func(t *testing.T) {
			c := chipstest.Target(t, name)
			ms := distinct(append(networkMicros(t, c), sweep(c)...))
			asm := assembly(t, clang, c, ms)
			table := []string{"| micro-kernel | instructions in the loop | products | share that multiplies and adds |", "| --- | ---: | ---: | ---: |"}
			for _, m := range ms {
				hot := checkMicro(t, machines[c.CPU], m, asm[cpp.MicroName(m)])
				n := inLoop(m)
				share := 100 * float64(n*m.Instr.Ops) / float64(max(len(hot), 1))
				table = append(table, fmt.Sprintf("| %s | %d | %d | %.0f %% |", cpp.MicroName(m), len(hot), n, share))
			}
			t.Logf("%s\n%s", name, strings.Join(table, "\n"))
		})
	}
}

// TestPrefetch: each line of W is fetched once, and X's rows before the loop that reads the ones before them.
func TestPrefetch(t *testing.T) {
	m := &loop.MicroKernel{Instr: instr.Lookup("fma_f32x8"), X: instr.Register, Rows: 2, Vectors: 2, RowStep: 8,
		K: []loop.KLoop{{Extent: 4, XStep: 2048, WStep: 128}, {Extent: 8, XStep: 1, WStep: 16}}}
	assert.NotContains(t, cpp.Micro(loop.Tile{Micro: m}, 2), "prefetch")
	plain := cpp.MicroName(m)
	m.PrefetchW, m.PrefetchX = 2048, true
	assert.Equal(t, plain+"_w2048_x", cpp.MicroName(m))
	text := cpp.Micro(loop.Tile{Micro: m}, 2)
	assert.Equal(t, int(m.Unroll()), strings.Count(text, "__builtin_prefetch(w1"), "registers of 8 floats, lines of 16")
	assert.Contains(t, text, "__builtin_prefetch(w1 + 2048);")
	assert.Contains(t, text, "__builtin_prefetch(x1 + 2048);\n    __builtin_prefetch(x1 + 2056);\n")

	m.Fetch = 10
	assert.Equal(t, plain+"_w2048_x_f10", cpp.MicroName(m))
	text = cpp.Micro(loop.Tile{Micro: m}, 2)
	assert.Contains(t, text, "float* __restrict acc, const float* fetch) {")
	assert.Equal(t, int((m.Unroll()*m.Fetch+15)/16), strings.Count(text, "__builtin_prefetch(fetch + "), "each line that a body passes")
	assert.Contains(t, text, fmt.Sprintf("fetch += %d;", m.Unroll()*m.Fetch))
}

// TestFetchX: X of the next call is fetched as one row, each line that a body passes.
func TestFetchX(t *testing.T) {
	m := &loop.MicroKernel{Instr: instr.Lookup("fma_f32x8"), X: instr.Register, Rows: 6, Vectors: 2, RowStep: 512, K: []loop.KLoop{{Extent: 512, XStep: 1, WStep: 16}}}
	plain := cpp.MicroName(m)
	require.True(t, m.InARow())
	m.FetchX = 6 * 512
	assert.Equal(t, plain+"_fx3072", cpp.MicroName(m))
	text := cpp.Micro(loop.Tile{Micro: m}, 2)
	assert.Contains(t, text, "const float* next = x + 3072;")
	assert.Equal(t, int(m.Unroll()*6+15)/16, strings.Count(text, "__builtin_prefetch(next + "))
	assert.Contains(t, text, fmt.Sprintf("next += %d;", m.Unroll()*6))
	m.RowStep = 1024
	assert.False(t, m.InARow())
}

// TestOverlappingRows: where a row's next X is the next row's, each point hides where X is, the first of a loop's body,
// too: GCC would carry loads from one iteration to the next and keep accumulators on the stack.
func TestOverlappingRows(t *testing.T) {
	m := &loop.MicroKernel{Instr: instr.Lookup("fma_f32x16"), X: instr.Vector, Rows: 28, Vectors: 1, RowStep: 16,
		K: []loop.KLoop{{Extent: 5, XStep: 512, WStep: 80}, {Extent: 5, XStep: 16, WStep: 16}}}
	assert.Equal(t, int(m.Unroll()), strings.Count(cpp.Micro(loop.Tile{Micro: m}, 2), "DNN_OPAQUE(x1);"))
	m.Instr, m.Rows = instr.Lookup("muladd_f32x4"), 5
	assert.Contains(t, cpp.Micro(loop.Tile{Micro: m}, 2), "a2_0 += dnn_load<dnn_f32x4>(x1 + 32) * b0_0;\n      DNN_OPAQUE(x1);\n      a3_0 += ", "half of the loads, where they are instructions of their own")
}

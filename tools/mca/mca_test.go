package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/emit/asm"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/onnx"
	"rules_dnn/tools/check"
)

// integers writes a product of matrices of bytes.
func integers(t *testing.T) string {
	x := &ir.Value{Name: "x", Type: ir.U8, Shape: ir.Dims(96, 64), HasShape: true}
	w := ir.ConstValue("w", check.Input(ir.I8, []int64{64, 128}, 1, 1))
	y := &ir.Value{Name: "y", Type: ir.I32, Shape: ir.Dims(96, 128), HasShape: true}
	y.Def = &ir.Node{Op: "MatMulInteger", Version: 10, Name: "product", Inputs: []*ir.Value{x, w}, Outputs: []*ir.Value{y}, Attrs: ir.Attrs{}}
	return written(t, &ir.Graph{Name: "g", Opset: 17, Inputs: []*ir.Value{x}, Outputs: []*ir.Value{y}, Nodes: []*ir.Node{y.Def}})
}

// network writes a product of matrices and a sum that multiplies nothing.
func network(t *testing.T) string {
	x := &ir.Value{Name: "x", Type: ir.F32, Shape: ir.Dims(96, 64), HasShape: true}
	w := ir.ConstValue("w", check.Input(ir.F32, []int64{64, 128}, 1, 1))
	p := &ir.Value{Name: "p", Type: ir.F32, Shape: ir.Dims(96, 128), HasShape: true}
	y := &ir.Value{Name: "y", Type: ir.F32, Shape: ir.Dims(128, 96), HasShape: true}
	p.Def = &ir.Node{Op: "MatMul", Version: 13, Name: "product", Inputs: []*ir.Value{x, w}, Outputs: []*ir.Value{p}, Attrs: ir.Attrs{}}
	y.Def = &ir.Node{Op: "Transpose", Version: 13, Name: "turned", Inputs: []*ir.Value{p}, Outputs: []*ir.Value{y}, Attrs: ir.Attrs{}}
	return written(t, &ir.Graph{Name: "g", Opset: 17, Inputs: []*ir.Value{x}, Outputs: []*ir.Value{p, y}, Nodes: []*ir.Node{p.Def, y.Def}})
}

func written(t *testing.T, g *ir.Graph) string {
	path := filepath.Join(t.TempDir(), "net.onnx")
	f, err := os.Create(path)
	require.NoError(t, err)
	require.NoError(t, onnx.Write(f, g))
	require.NoError(t, f.Close())
	return path
}

// TestIntegers: what multiplies bytes is counted beside its own limit.
func TestIntegers(t *testing.T) {
	for _, tool := range []string{"clang++", "llvm-mca"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("no %s on this machine", tool)
		}
	}
	path := integers(t)
	t.Chdir("../..")
	for chip, c := range map[string]struct{ cpu, limit string }{
		"arm64_dotprod": {"neoverse-n1", "dot product of vectors"}, "arm64_i8mm": {"neoverse-n2", "product of matrices"},
	} {
		o, err := parse([]string{path, "--chip=" + chip, "--cpus=" + c.cpu})
		require.NoError(t, err)
		var out strings.Builder
		require.NoError(t, run(o, &out))
		assert.Regexp(t, `^cycles of a `+c.limit+` at the limit: `+c.cpu+` 0\.50\d\n\n`, out.String())
		assert.Regexp(t, `(?m)^    0 +64, 128 +0\.\d+  product +[0-9x ]+ \d\.\d+ \( *\d+ %\) \d\.\d+  MatMulInteger "product"$`, out.String())
	}
}

// TestRun analyses a small network for two processors.
func TestRun(t *testing.T) {
	for _, tool := range []string{"clang++", "llvm-mca"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("no %s on this machine", tool)
		}
	}
	path := network(t)
	t.Chdir("../..")
	args := []string{path, "--cpus=cortex-a55,neoverse-n1"}
	o, err := parse(args)
	require.NoError(t, err)
	var out strings.Builder
	o.chip = "arm64_cortex_a55"
	require.NoError(t, run(o, &out))
	assert.Regexp(t, `cortex-a55: (9\d|100) % of the limit`, out.String(), "of the chip's own kernels")
	o.chip = "arm64"
	out.Reset()
	require.NoError(t, run(o, &out))
	assert.Regexp(t, `at the limit: cortex-a55 1 neoverse-n1 0\.5`, out.String())
	row := regexp.MustCompile(`(?m)^    0 +64, 128 +1\.57  contraction +[0-9x ]+ (\d\.\d+) \( *(\d+) %\) \d\.\d+ +(\d\.\d+) \( *(\d+) %\) \d\.\d+  MatMul "product"$`)
	m := row.FindStringSubmatch(out.String())
	require.NotNil(t, m, out.String())
	assert.Regexp(t, `^(9\d|100|101)$`, m[4], "of the limit of an out-of-order processor\n%s", &out)
	assert.Regexp(t, `(?m)^    1 .* -  Transpose "turned"$`, out.String())
	assert.Contains(t, out.String(), "neoverse-n1: "+m[4]+" % of the limit over all these blocks; least "+m[4]+" %, block 0\n")

	o.channels = 129
	out.Reset()
	require.NoError(t, run(o, &out))
	assert.NotContains(t, out.String(), "MatMul")
	o.channels, o.atLeast = 64, 102
	assert.ErrorContains(t, run(o, &out), "less than 102 % of the limit:\n  block 0 on cortex-a55: ")
	o.cpus = []string{"pdp-11"}
	assert.ErrorContains(t, run(o, &out), "llvm-mca does not know the processor pdp-11")
	o.chip = "x86_64_v3"
	assert.ErrorContains(t, run(o, &out), "is of cpu x86_64; this command knows arm64")
	o.chip = "nowhere.json"
	assert.ErrorIs(t, run(o, &out), os.ErrNotExist)
	o.chip = "z80"
	assert.ErrorContains(t, run(o, &out), `there is no chip "z80"; want a JSON file, or one of platforms/chips/chips.bzl: `)
}

// pruned writes a convolution of which each filter keeps two taps of every third kernel.
func pruned(t *testing.T) string {
	x := &ir.Value{Name: "x", Type: ir.F32, Shape: ir.Dims(1, 32, 16, 16), HasShape: true}
	data := check.Input(ir.F32, []int64{16, 32, 3, 3}, 1, 1)
	for i := range int(data.Len()) {
		if filter, channel, tap := i/288, i/9%32, i%9; (filter+channel)%3 > 0 || tap != 4 && tap != filter%4 {
			clear(data.Data[4*i : 4*i+4])
		}
	}
	y := &ir.Value{Name: "y", Type: ir.F32, Shape: ir.Dims(1, 16, 16, 16), HasShape: true}
	y.Def = &ir.Node{Op: "Conv", Version: 11, Name: "few", Inputs: []*ir.Value{x, ir.ConstValue("w", data)}, Outputs: []*ir.Value{y}, Attrs: ir.Attrs{"pads": []int64{1, 1, 1, 1}}}
	return written(t, &ir.Graph{Name: "g", Opset: 17, Inputs: []*ir.Value{x}, Outputs: []*ir.Value{y}, Nodes: []*ir.Node{y.Def}})
}

// TestPruned: loops over what is stored of pruned weights are counted as others are, one for each
// pattern.
func TestPruned(t *testing.T) {
	for _, tool := range []string{"clang++", "llvm-mca"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("no %s on this machine", tool)
		}
	}
	path := pruned(t)
	t.Chdir("../..")
	o, err := parse([]string{path, "--cpus=neoverse-n1"})
	require.NoError(t, err)
	var out strings.Builder
	require.NoError(t, run(o, &out))
	row := regexp.MustCompile(`(?m)^    0 +32, 16 +\d+\.\d+  pixels +[0-9x ]+ \d\.\d+ \( *(\d+) %\) \d\.\d+  Conv "few"$`)
	m := row.FindStringSubmatch(out.String())
	require.NotNil(t, m, out.String())
	assert.Regexp(t, `^([789]\d|100|101)$`, m[1], "of the limit\n%s", &out)
}

// TestHot: only loops that multiply count, by how often they do.
func TestHot(t *testing.T) {
	f := asm.Functions(`f:
.L0:
	ldr	q1, [x1], #16
	fmla	v0.4s, v1.4s, v2.s[0]
	fmla	v3.4s, v1.4s, v2.s[1]
	fmls	v4.4s, v1.4s, v2.s[1]
	b.ne	.L0
.L1:
	fadd	v0.4s, v0.4s, v1.4s
	b.ne	.L1
.L2:
	fmla	v0.4s, v1.4s, v2.4s
	cbnz	x3, .L2
	ret
	.size	f, 4
`)["f"]
	parts := hot(f, 0.8)
	require.Len(t, parts, 2)
	assert.InDelta(t, 0.6, parts[0].share, 1e-9)
	assert.InDelta(t, 0.2, parts[1].share, 1e-9)
	assert.Len(t, parts[1].body, 2)
	assert.Same(t, multiplies[0], parts[1].of)
}

// TestTable: shares of limits, sums weighed by operations, and what fails.
func TestTable(t *testing.T) {
	o := &options{cpus: []string{"one", "two"}, atLeast: 85}
	limits := []limit{{multiplies[0], []float64{0.5, 1}}, {multiplies[1], []float64{0.25, 2}}}
	blocks := []*block{
		{number: 0, in: 3, out: 64, name: "Conv \"a\"", kernel: "contraction", tiles: "8x2 4x2", flops: 3e6, cycles: []cycles{{0.625, 0.5}, {1, 1}}, limits: []float64{0.5, 1}},
		{number: 1, in: 64, out: 64, name: "Add \"b\"", kernel: "generic", flops: -1},
		{number: 4, in: 64, out: 64, name: "Conv \"c\"", kernel: "window", flops: 1e6, cycles: []cycles{{0.25, 0.25}, {2.5, 2.25}}, limits: []float64{0.25, 2}},
	}
	var out strings.Builder
	printTable(&out, o, limits, blocks)
	assert.Equal(t, `cycles of a multiply-add of a vector at the limit: one 0.5 two 1
cycles of a dot product of vectors at the limit: one 0.25 two 2

    #  channels in, out      MFLOP  kernel                   tiles                   one                   two  block
    0             3, 64       3.00  contraction            8x2 4x2   0.625 ( 80 %) 0.500   1.000 (100 %) 1.000  Conv "a"
    1            64, 64          -  generic                                            -                     -  Add "b"
    4            64, 64       1.00  window                           0.250 (100 %) 0.250   2.500 ( 80 %) 2.250  Conv "c"

one: 82 % of the limit over all these blocks; least 80 %, block 0
two: 91 % of the limit over all these blocks; least 80 %, block 4

Each number is the cycles of a multiply-add instruction in the innermost loops. Brackets contain the share of the limit.
The last number is the minimum for the loops' instructions in any order, because a processor also starts loads and counting.
`, out.String())
	assert.EqualError(t, failures(o, blocks), "less than 85 % of the limit:\n  block 0 on one: 80 %\n  block 4 on two: 80 %")
	o.atLeast = 80
	assert.NoError(t, failures(o, blocks))
}

func TestParse(t *testing.T) {
	for want, args := range map[string][]string{
		"found 0 models": {}, "found 2 models (a b)": {"a", "--fill", "b"}, "--cpus: want one or more": {"a", "--cpus="}, "flag provided but not defined": {"a", "--what"},
	} {
		_, err := parse(args)
		assert.ErrorContains(t, err, want)
	}
}

// TestStandIns: of Cortex-A55, whatever clang calls the instructions; other processors' tables are
// right.
func TestStandIns(t *testing.T) {
	const text = "fmla\tv0.4s, v1.4s, v2.s[3]\nfmls\tv0.4s, v1.4s, v2.4s\nldr\tq3, [x4, #16]\nldur\tq3, [x4, #-16]\nldr\tq3, [x4, #8]!\nmov\tv5.d[1], x6\nins v5.d[1], x6\nldr\td7, [x8]\nmov\tx0, x1\n"
	assert.Equal(t, text, told("neoverse-n1", text))
	assert.Equal(t, "addp v0.4s, v1.4s, v2.4s\naddp v0.4s, v1.4s, v2.4s\nld1 {v3.4s}, [x4]\nld1 {v3.4s}, [x4]\nld1 {v3.4s}, [x4], #16\nldr d5, [x6]\nldr d5, [x6]\nldr\td7, [x8]\nmov\tx0, x1\n",
		told("cortex-a55", text))
}

// Package integers sees that a quantized network computes the same bytes everywhere: on every kind of processor, and in the interpreter.
package integers

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"flag"
	"fmt"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/compress/quant"
	"rules_dnn/gen/emit/cpp"
	"rules_dnn/gen/emit/cpp/cpptest"
	"rules_dnn/gen/emit/hvx/hvxtest"
	"rules_dnn/gen/graph/interp"
	"rules_dnn/gen/graph/passes/bnfold"
	"rules_dnn/gen/graph/passes/islands"
	"rules_dnn/gen/graph/passes/simplify"
	"rules_dnn/gen/graph/samples"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/onnx"
	"rules_dnn/gen/program/plan"
	"rules_dnn/gen/target/chips"
	"rules_dnn/gen/target/hostcpu"
	"rules_dnn/gen/testing/modeltest"
)

var (
	network = flag.String("network", "", "another classifier of CIFAR-10 in place of resnet20 (ONNX)")
	on      = flag.String("chips", "", "the chips whose names match this regular expression; by default all")
)

const (
	repository = "../.."
	pictures   = 32
	// leastBlocks guards against a network that is not computed in integers.
	leastBlocks = 15
)

// example is the path of one of the example's files.
func example(name string) string { return filepath.Join(repository, "app", name) }

// file opens a file, which stays open.
func file(t *testing.T, path string) *ir.File {
	f, err := os.Open(path)
	require.NoError(t, err)
	t.Cleanup(func() { f.Close() })
	info, err := f.Stat()
	require.NoError(t, err)
	return &ir.File{R: f, Size: info.Size()}
}

func read(t *testing.T, model *ir.File) *ir.Graph {
	g, err := onnx.Read(model, nil, onnx.Options{Dims: map[string]onnx.Dim{"N": {Lo: 1, Hi: 64}}})
	require.NoError(t, err)
	return g
}

// quantized is the example's network in integers, or the one that is named, as dnnc quantize writes it.
func quantized(t *testing.T) []byte {
	path := *network
	if path == "" {
		path = example("resnet20_cifar10.onnx")
	}
	g := read(t, file(t, path))
	require.NoError(t, simplify.Run(g))
	_, err := bnfold.Run(g)
	require.NoError(t, err)
	require.NoError(t, simplify.Run(g))
	inputs, err := samples.Read(g, file(t, example("testdata/calibration.safetensors")))
	require.NoError(t, err)
	_, err = quant.Run(g, quant.Defaults(), inputs, 0)
	require.NoError(t, err)
	var b bytes.Buffer
	require.NoError(t, onnx.Write(&b, g))
	return b.Bytes()
}

// opened is the network with its islands made, all of whose integers of 8 bits are outputs: what each block computes.
func opened(t *testing.T, model []byte) *ir.Graph {
	g := read(t, &ir.File{R: bytes.NewReader(model), Size: int64(len(model))})
	require.NoError(t, simplify.RunBut(g, islands.Keeps))
	require.True(t, islands.Run(g))
	require.NoError(t, simplify.RunBut(g, islands.Keeps))
	for _, n := range g.Nodes {
		for _, v := range n.Outputs {
			if v != nil && v.Type.Size() == 1 && !slices.Contains(g.Outputs, v) {
				g.Outputs = append(g.Outputs, v)
			}
		}
	}
	return g
}

// images are the first pictures of the sheet, as the network reads them.
func images(t *testing.T) *ir.Tensor {
	f, err := os.Open(filepath.Join(repository, "app/testdata/cifar10_test_500.png"))
	require.NoError(t, err)
	defer f.Close()
	sheet, err := png.Decode(f)
	require.NoError(t, err)
	mean, deviation := [3]float64{0.4914, 0.4822, 0.4465}, [3]float64{0.2470, 0.2435, 0.2616}
	const side = 32
	x := ir.NewTensor(ir.F32, pictures, 3, side, side)
	for n := range pictures {
		for i := range side * side {
			r, g, b, _ := sheet.At(i, n).RGBA()
			for c, v := range [3]uint32{r, g, b} {
				value := (float64(v>>8)/255 - mean[c]) / deviation[c]
				binary.LittleEndian.PutUint32(x.Data[4*((n*3+c)*side*side+i):], math.Float32bits(float32(value)))
			}
		}
	}
	return x
}

// right is how many of the pictures have their class's logit as the greatest.
func right(t *testing.T, logits *ir.Tensor) int {
	text, err := os.ReadFile(example("testdata/cifar10_test_500.json"))
	require.NoError(t, err)
	var classes []int
	require.NoError(t, json.Unmarshal(text, &classes))
	logit := func(i int) float32 { return math.Float32frombits(binary.LittleEndian.Uint32(logits.Data[4*i:])) }
	count, width := 0, int(logits.Shape[1])
	for n := range pictures {
		best := n * width
		for i := best; i < (n+1)*width; i++ {
			if logit(i) > logit(best) {
				best = i
			}
		}
		if best-n*width == classes[n] {
			count++
		}
	}
	return count
}

// machine is what runs a chip's kernels; false where nothing does.
func machine(t *testing.T, chip string) (*cpptest.Machine, bool) {
	all, err := chips.All()
	require.NoError(t, err)
	at := slices.IndexFunc(all, func(c chips.Chip) bool { return c.Name == chip })
	require.GreaterOrEqual(t, at, 0, chip)
	facts, err := modeltest.Chip(chip)
	require.NoError(t, err)
	if facts.Bare() {
		m := hvxtest.Machine
		m.Flags = slices.Concat(m.Flags, all[at].Copts, []string{"-O2"})
		return &m, true
	}
	m := cpptest.Host
	m.Flags = append(slices.Clone(all[at].Copts), "-O1")
	if facts.GOARCH() == "arm64" {
		m = cpptest.Machine{Language: cpp.CPP, Compilers: []string{"aarch64-linux-gnu-g++"}, Flags: append(m.Flags, "-static"),
			Runner: []string{"qemu-aarch64", "-cpu", "max"}, Packages: "g++-aarch64-linux-gnu and qemu-user, as bazelw exec has them"}
		return &m, true
	}
	return &m, hostcpu.Has(facts.CPUFeatures...)
}

// TestSameBytes: on x86-64, and under qemu on 64-bit ARM and on Hexagon, with every kind of instruction that multiplies bytes, each block of the quantized
// network computes the interpreter's bytes, and the network, nothing of which is an output but its own, the same answers.
func TestSameBytes(t *testing.T) {
	model, x := quantized(t), images(t)
	inputs := map[string]*ir.Tensor{"image": x}
	g := opened(t, model)
	want, err := interp.Graph(g, inputs)
	require.NoError(t, err)
	require.Greater(t, len(want), leastBlocks, "blocks")
	count := right(t, want[0])
	t.Logf("%d of %d pictures are classified rightly", count, pictures)
	assert.GreaterOrEqual(t, count, pictures*8/10)
	chosen, err := regexp.Compile(*on)
	require.NoError(t, err)
	own := len(read(t, &ir.File{R: bytes.NewReader(model), Size: int64(len(model))}).Outputs)
	for _, chip := range []string{"x86_64", "x86_64_v3", "x86_64_v4_vnni", "arm64", "arm64_dotprod", "arm64_i8mm", "hexagon_v66", "hexagon_v68", "hexagon_v69", "hexagon_v73"} {
		if !chosen.MatchString(chip) {
			continue
		}
		t.Run(chip, func(t *testing.T) {
			m, runs := machine(t, chip)
			if !runs {
				t.Skip("this machine has not all of its instructions")
			}
			facts, err := modeltest.Chip(chip)
			require.NoError(t, err)
			blocks, err := modeltest.CompileFor(opened(t, model), facts, nil)
			require.NoError(t, err)
			assertBlocks(t, blocks)
			whole, err := modeltest.CompileFor(read(t, &ir.File{R: bytes.NewReader(model), Size: int64(len(model))}), facts, nil)
			require.NoError(t, err)
			var cases []cpptest.Case
			for _, p := range []*plan.Program{blocks, whole} {
				cases = append(cases, cpptest.Case{Name: fmt.Sprintf("%d outputs", len(p.Outputs)), Program: p, Dims: map[string]int64{"N": pictures}, Inputs: []*ir.Tensor{x}})
			}
			for i, got := range m.Run(t, repository, cases) {
				require.Zero(t, got.Status, cases[i].Name)
				require.Equal(t, []int{len(want), own}[i], len(got.Outputs))
				if m.Counters > 0 {
					t.Logf("%s: %d packets a picture", cases[i].Name, got.Counts[hvxtest.Packets]/pictures)
				}
				for k, w := range want[:len(got.Outputs)] {
					assert.True(t, bytes.Equal(w.Data, got.Outputs[k].Data), "%s: %s differs", cases[i].Name, g.Outputs[k].Name)
				}
			}
		})
	}
}

// assertBlocks: what blocks compute is compared, in the network's own layout if in another one, but floats between a sum and the next integers.
func assertBlocks(t *testing.T, p *plan.Program) {
	seen := map[string]bool{}
	for _, v := range p.Outputs {
		seen[v.Name] = true
	}
	for _, call := range p.Calls() {
		for _, v := range call.Block.Results {
			name, _, _ := strings.Cut(v.Name, " (") // which a layout follows
			if !seen[name] && v.Type.Size() == 1 {
				t.Errorf("the result %s of block %s is no output", v.Name, call.Block.Label())
			}
		}
	}
}

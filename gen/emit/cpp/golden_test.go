package cpp_test

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/emit/cpp"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/pipeline"
	"rules_dnn/gen/target"
	"rules_dnn/gen/target/chips/chipstest"
)

var update = flag.Bool("update", false, "write the golden files anew")

// samples are small graphs, each with what its kernels are to show.
var samples = []struct {
	name, chip string
	graph      func() *ir.Graph
}{
	// One loop of vectors, an operand that is the same along it, a symbolic dimension.
	{"elementwise_broadcast", "x86_64_v3", func() *ir.Graph {
		a, b := input("a", ir.F32, sym.Var("N"), sym.Const(3), sym.Const(20)), input("b", ir.F32, sym.Const(3), sym.Const(1))
		n := &network{g: &ir.Graph{Name: "g", Inputs: []*ir.Value{a, b}, Opset: 17, Symbols: []ir.Symbol{{Name: "N", Lo: 1, Hi: 64}}}}
		n.node("Add", nil, a, b)
		return n.output(n.relu())
	}},
	// Vectors that are stored apart, of rows whose length only the run knows.
	{"depth_to_space", "x86_64_v3", func() *ir.Graph {
		x := input("x", ir.F32, sym.Const(1), sym.Const(4), sym.Const(9), sym.Var("W"))
		n := &network{g: &ir.Graph{Name: "g", Inputs: []*ir.Value{x}, Opset: 17, Symbols: []ir.Symbol{{Name: "W", Lo: 1, Hi: 64}}}}
		n.node("DepthToSpace", ir.Attrs{"blocksize": int64(2)}, x)
		return n.output(n.relu())
	}},
	// Register tiles: of row-major X with a copy that is padded, then of blocked channels.
	{"conv3x3", "arm64", func() *ir.Graph {
		n := newNetwork("g", 1, 8, 7, 7)
		n.conv(8, 3, 1, 1)
		n.relu()
		return n.output(n.conv(8, 3, 1, 1))
	}},
	// Winograd: three stages, the lines of the first one's results claimed before they are stored.
	{"filtering", "x86_64_v4", func() *ir.Graph {
		n := newNetwork("g", 1, 16, 24, 24)
		n.conv(64, 1, 1, 1)
		return n.output(n.conv(64, 3, 1, 1))
	}},
	// A reduction with a guard.
	{"pool", "x86_64_v3", func() *ir.Graph {
		n := newNetwork("g", 1, 4, 7, 7)
		return n.output(n.node("MaxPool", ir.Attrs{"kernel_shape": []int64{3, 3}, "strides": []int64{2, 2}, "pads": []int64{1, 1, 1, 1}}, n.x))
	}},
	// Types of 16 bits are computed in float, and every operation rounds.
	{"half", "x86_64", func() *ir.Graph {
		a, b := input("a", ir.F16, sym.Const(5)), input("b", ir.F16, sym.Const(5))
		n := &network{g: &ir.Graph{Name: "g", Inputs: []*ir.Value{a, b}, Opset: 17}}
		return n.output(n.node("Mul", nil, n.node("Add", nil, a, b), b))
	}},
	// An index that is loaded, counted from the end where it is negative, and checked.
	{"gather", "x86_64", func() *ir.Graph {
		data, at := input("data", ir.F32, sym.Const(10), sym.Const(4)), input("at", ir.I64, sym.Const(3))
		n := &network{g: &ir.Graph{Name: "g", Inputs: []*ir.Value{data, at}, Opset: 17}}
		return n.output(n.node("Gather", nil, data, at))
	}},
}

func input(name string, t ir.DType, dims ...sym.Expr) *ir.Value {
	return &ir.Value{Name: name, Type: t, Shape: dims, HasShape: true}
}

func (n *network) output(v *ir.Value) *ir.Graph {
	n.g.Outputs = []*ir.Value{v}
	return n.g
}

// printed are the generated files of a graph, by name; all kernels are in one.
func printed(t *testing.T, g *ir.Graph, c *target.Target) map[string]string {
	s := &pipeline.State{Graph: g, Target: c}
	_, err := pipeline.Run(pipeline.GraphPasses, s, pipeline.Options{})
	require.NoError(t, err)
	_, err = pipeline.Run(pipeline.CompilePasses, s, pipeline.Options{})
	require.NoError(t, err)
	files, err := cpp.Print(s.Program, "g", 1)
	require.NoError(t, err)
	out := map[string]string{}
	for _, f := range files {
		out[f.Name] = f.Text
	}
	return out
}

// TestGolden compares printed kernels with testdata.
func TestGolden(t *testing.T) {
	for _, s := range samples {
		t.Run(s.name, func(t *testing.T) {
			got := printed(t, s.graph(), chipstest.Target(t, s.chip))["g_kernels_0.cc"]
			file := filepath.Join("testdata", s.name+".cc.golden")
			if *update {
				require.NoError(t, os.WriteFile(file, []byte(got), 0o644))
			}
			want, err := os.ReadFile(file)
			require.NoError(t, err)
			assert.Equal(t, string(want), got, "%s differs; if it should, run: go test ./gen/emit/cpp -run Golden -update", file)
		})
	}
	files, err := filepath.Glob("testdata/*.golden")
	require.NoError(t, err)
	assert.Len(t, files, len(samples), "testdata has a golden file of no sample")
}

// TestKernelsCompileWithoutWarnings compiles the kernels of the samples and of a network for every
// chip, with each compiler there is.
func TestKernelsCompileWithoutWarnings(t *testing.T) {
	graphs := map[string]func() *ir.Graph{"resnet20": resnet20}
	for _, s := range samples {
		graphs[s.name] = s.graph
	}
	for _, name := range chipNames {
		c := chipstest.Target(t, name)
		compilers := [][]string{{"g++"}, {"clang++"}}
		if c.CPU == "arm64" {
			compilers = [][]string{{"aarch64-linux-gnu-g++"}, {"clang++", "--target=aarch64-linux-gnu"}}
		}
		dir := t.TempDir()
		var sources []string
		for graph, build := range graphs {
			for file, text := range printed(t, build(), c) {
				path := filepath.Join(dir, graph, file)
				require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
				require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
				if strings.HasPrefix(file, "g_kernels_") {
					sources = append(sources, path)
				}
			}
		}
		require.Len(t, sources, len(graphs))
		for _, cxx := range compilers {
			t.Run(name+"/"+cxx[0], func(t *testing.T) {
				tool(t, cxx[0])
				for _, src := range sources {
					args := append(append(append([]string{}, cxx[1:]...), kernelCopts(t)...), c.Copts...)
					args = append(args, "-O1", "-Wall", "-Wextra", "-Werror", "-I"+root, "-c", src, "-o", os.DevNull)
					msg, err := exec.Command(cxx[0], args...).CombinedOutput()
					assert.NoError(t, err, "%s %s\n%s", cxx[0], strings.Join(args, " "), msg)
				}
			})
		}
	}
}

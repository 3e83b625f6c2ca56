package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/onnx/onnxpb"
	"rules_dnn/gen/onnx/onnxtest"
	"rules_dnn/gen/target"
	"rules_dnn/tools/internal/build"
)

// TestNamed: what a file's name says of a network.
func TestNamed(t *testing.T) {
	for file, want := range map[string]network{
		"swin_t.onnx":                  {Name: "swin_t", Batch: 1},
		"swin_t_batch16.onnx":          {Name: "swin_t", Batch: 16},
		"vit_b_16.onnx":                {Name: "vit_b_16", Batch: 1},
		"efficientnet_b0_batch16.onnx": {Name: "efficientnet_b0", Batch: 16},
	} {
		n, err := named(file)
		require.NoError(t, err)
		assert.Equal(t, want.Name, n.Name, file)
		assert.Equal(t, want.Batch, n.Batch, file)
		assert.Equal(t, file, n.Graph)
		assert.Equal(t, file, n.Program+".onnx")
	}
	_, err := named("net_batch0.onnx")
	require.EqualError(t, err, "net_batch0.onnx: a batch of 0")
}

// TestNetworksRefused: what is missing is told before anything is compiled.
func TestNetworksRefused(t *testing.T) {
	require.ErrorContains(t, writeNetworks(networkOptions{networks: "."}), "want --out FOLDER")
	require.ErrorContains(t, writeNetworks(networkOptions{networks: ".", out: t.TempDir(), cxx: "c++", only: "("}), "missing closing )")
}

// TestCopts: kernels are compiled as the rules do, for the chip that was asked for.
func TestCopts(t *testing.T) {
	got := coptsOf(&target.Target{Copts: []string{"-march=mine"}})
	assert.Equal(t, append(slices.Clone(build.KernelCopts), "-march=mine"), got.Kernels)
	assert.NotContains(t, measureNetworks, "-march", "networks.py takes what networks.json says")
}

// TestVariants: which programs are made of a network besides the plain one, what they are called,
// and what they are made with.
func TestVariants(t *testing.T) {
	var o variantOptions
	require.NoError(t, o.parse("moves,chains", "^swin", "^vit", "vgg16"))
	type made struct {
		program, torch string
		option         string // the last one
		pruned         bool
	}
	of := func(file string) (out []made) {
		n, err := named(file)
		require.NoError(t, err)
		for _, v := range o.variants(n) {
			out = append(out, made{v.Program, v.Type, v.Options[len(v.Options)-1], v.Pruning != ""})
			assert.Equal(t, file, v.Graph)
		}
		return out
	}
	const plain = "--shards=8"
	assert.Equal(t, []made{{"swin_t_batch16", "float", plain, false}, {"swin_t_batch16_without_moves", "", "--disable=moves", false},
		{"swin_t_batch16_without_chains", "", "--disable=chains", false}}, of("swin_t_batch16.onnx"))
	assert.Equal(t, []made{{"vit_b_16", "float", plain, false}, {"vit_b_16_fp16", "half", "--precision=fp16", false}}, of("vit_b_16.onnx"))
	assert.Equal(t, []made{{"vgg16_L4", "float", plain, false}, {"vgg16_L4_pruned_share_16", "", plain, true}, {"vgg16_L4_pruned_share_16_without_shared", "", "--disable=shared", true},
		{"vgg16_L4_pruned_share_1", "", plain, true}, {"vgg16_L4_pruned_share_1_without_shared", "", "--disable=shared", true}}, of("vgg16_L4.onnx"))
	n, err := named("vgg16_L4.onnx")
	require.NoError(t, err)
	assert.JSONEq(t, `{"patterns": 8, "connectivity": 3.6, "share": 16, "exempt_first": false}`, o.variants(n)[1].Pruning, "the only layer is pruned")
	n.Name = "vgg16"
	assert.Contains(t, o.variants(n)[1].Pruning, `"exempt_first": true`)
	assert.Equal(t, []made{{"resnet50", "float", plain, false}}, of("resnet50.onnx"))
	require.ErrorContains(t, o.parse("", "(", "", ""), "missing closing )")
}

// TestFolder: what is written for networks has all that makes and measures their programs where no
// compiler of ours is.
func TestFolder(t *testing.T) {
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("there is no go to build dnnc with")
	}
	if _, err := os.Stat("../../go.mod"); err != nil {
		t.Skip("there are no sources to build it of, as under Bazel")
	}
	dir, out := t.TempDir(), t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "net.onnx"), []byte("not read before its program is made"), 0o644))
	t.Chdir("../..")
	require.NoError(t, writeNetworks(networkOptions{networks: dir, out: out, chip: "x86_64_v3", device: "platforms/devices/opencl_nvidia.json"}))
	for _, name := range []string{"dnnc", "fill", "net.onnx", "networks.json", "networks.py", "opencl.py", "torch_networks.py", "source/main.cc", "source/served.cc",
		"source/runtime/dnn_model.cc", "source/runtime/opencl/backend.cc", "source/runtime/serve/npy.cc"} {
		assert.FileExists(t, filepath.Join(out, name))
	}
	assert.Contains(t, measureNetworks, "\nimport opencl\n")
}

// TestReads: a network's kernels read texels where values are images, and none where there are
// none.
func TestReads(t *testing.T) {
	dir := t.TempDir()
	m := onnxtest.Model(onnxtest.Floats("x", 1, 16, 8, 8))
	w := ir.NewTensor(ir.F32, 16, 16, 1, 1)
	onnxtest.With(m, onnxtest.Tensor("w", w))
	m.Graph.Node = append(m.Graph.Node, onnxtest.Op("Conv", "x w", "c"), onnxtest.Op("Conv", "c w", "y"))
	m.Graph.Output = []*onnxpb.ValueInfoProto{onnxtest.Output("y")}
	text, err := proto.Marshal(m)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "two.onnx"), text, 0o644))
	var out strings.Builder
	require.NoError(t, writeReads(dir, "../../platforms/devices/opencl_mali_g610.json", "", &out))
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	require.Len(t, lines, 2+len(memories), out.String())
	assert.Contains(t, lines[3], "| two | buffers alone | 2 | 0 | 0.000 |")
	assert.Regexp(t, `\| two \| images forced \| [2-4] \| [0-2] \| 0\.[0-9]*[1-9][0-9]* \|`, lines[4])
}

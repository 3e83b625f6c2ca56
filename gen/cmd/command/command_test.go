package command

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/compress/masks"
	"rules_dnn/gen/graph/passes/edit"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/safetensors"
	"rules_dnn/gen/onnx"
	"rules_dnn/gen/training/train"
)

// numbers are a constant's elements, none of which is 0.
func numbers(name string, shape ...int64) string {
	n, dims := int64(1), make([]string, len(shape))
	for i, d := range shape {
		n *= d
		dims[i] = fmt.Sprint(d)
	}
	elements := make([]string, n)
	for i := range elements {
		elements[i] = fmt.Sprint(float32((i*37+11)%101-50+(i*37+11)%101/50*2+1) / 200)
	}
	return fmt.Sprintf("  const @%s f32[%s] = {%s}\n", name, strings.Join(dims, ", "), strings.Join(elements, ", "))
}

// setting writes a network of two convolutions, images of 6x6 of three classes, and the data's JSON, in the working directory.
func setting(t *testing.T) {
	t.Chdir(t.TempDir())
	text := "graph \"g\" opset 17 {\n  symbol N 1..1024\n" + numbers("w1", 4, 1, 3, 3) + numbers("w2", 8, 4, 3, 3) + numbers("w3", 3, 32) + `
  input %x f32[N, 1, 6, 6]
  %c1 ?[*] = Conv.11(%x, @w1) {} "first"
  %r1 ?[*] = Relu.14(%c1)
  %c2 ?[*] = Conv.11(%r1, @w2) {} "second"
  %f ?[*] = Flatten.13(%c2)
  %y ?[*] = Gemm.13(%f, @w3) {transB = 1} "last"
  output %y
}
`
	g, err := ir.Parse(strings.NewReader(text), nil)
	require.NoError(t, err)
	var model bytes.Buffer
	require.NoError(t, onnx.Write(&model, g))
	require.NoError(t, os.WriteFile("net.onnx", model.Bytes(), 0o666))

	word := binary.BigEndian.AppendUint32
	const n = 48
	images, labels := word(word(word(word(nil, 0x803), n), 6), 6), word(word(nil, 0x801), n)
	for i := range n {
		image := make([]byte, 36)
		for k := range 6 {
			image[[]int{6*(i%6) + k, 6*k + i%6, 7 * k}[i%3]] = byte(200 + i)
		}
		images, labels = append(images, image...), append(labels, byte(i%3))
	}
	require.NoError(t, os.Mkdir("elsewhere", 0o777))
	require.NoError(t, os.WriteFile("elsewhere/images.bin", images, 0o666))
	require.NoError(t, os.WriteFile("labels.bin", labels, 0o666))
	require.NoError(t, os.WriteFile("data.json", []byte(`{"kind": "mnist", "train": ["images.bin", "labels.bin"], "test": ["images.bin", "labels.bin"]}`), 0o666))
}

// common are options of all commands here.
var options = []string{"-model=net.onnx", "-data=data.json", "-image=images.bin=elsewhere/images.bin", "-workers=1", `-settings={"batch": 16, "learning_rate": 0.02}`}

var pruning = []string{`-pruning={"connectivity": 2}`, "-iterations=2", "-epochs=1", "-retrain=1"}

func must(t *testing.T, args ...string) string {
	t.Helper()
	var out bytes.Buffer
	require.NoError(t, Run(args, &out), &out)
	return out.String()
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	return b
}

// network is a model's, by its weights' names.
func network(t *testing.T, path string) map[string]*train.Weight {
	t.Helper()
	n, err := train.New(&ir.File{R: bytes.NewReader(read(t, path)), Size: int64(len(read(t, path)))}, nil, nil)
	require.NoError(t, err)
	out := map[string]*train.Weight{}
	for _, w := range n.All() {
		out[w.Name] = w
	}
	return out
}

// TestFit: the trained model is the one that was given but for its weights, and run again nothing is trained.
func TestFit(t *testing.T) {
	setting(t)
	log := must(t, append([]string{"fit", "-folder=jobs"}, options...)...)
	assert.Contains(t, log, "epoch 1 of 1: loss")
	assert.Contains(t, log, "the network is in jobs/trained.onnx")
	before, after := network(t, "net.onnx"), network(t, "jobs/trained.onnx")
	for name := range before {
		assert.NotEqual(t, before[name].Data, after[name].Data, name)
	}
	assert.Equal(t, len(read(t, "net.onnx")), len(read(t, "jobs/trained.onnx")))
	info, err := os.Stat("jobs/trained.onnx")
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o644), info.Mode(), "others may read what is checked in")
	assert.NotContains(t, must(t, append([]string{"fit", "-folder=jobs", "-out=again.onnx"}, options...)...), "epoch")
	assert.Equal(t, read(t, "jobs/trained.onnx"), read(t, "again.onnx"))
}

// TestSamples: the policy reads what labelled samples lose when a layer alone is pruned.
func TestSamples(t *testing.T) {
	setting(t)
	values := make([]float64, 6*36)
	for i := range values {
		values[i] = float64(i*7%13) / 6
	}
	var file bytes.Buffer
	require.NoError(t, safetensors.Write(&file, &safetensors.File{Tensors: []safetensors.Tensor{
		{Name: "x", Tensor: edit.FloatTensor(ir.F32, values, 6, 1, 6, 6)}, {Name: "labels", Tensor: edit.IntTensor(ir.I64, []int64{0, 1, 2, 0, 1, 2}, 6)},
	}}))
	require.NoError(t, os.WriteFile("samples", file.Bytes(), 0o666))
	require.NoError(t, os.WriteFile("policy.star", []byte("def policy(layer):\n    return settings(connectivity = 2 if layer.sensitivity == None else 4, packed = layer.sensitivity != None)\n"), 0o666))
	args := append(append([]string{"admm", "-policy=policy.star", "-iterations=0", "-retrain=0"}, pruning[:1]...), options...)
	kept := map[string]int64{}
	for _, samples := range []string{"", "samples"} {
		log := must(t, append(args, "-folder=jobs"+samples, "-samples="+samples)...)
		assert.Equal(t, samples != "", strings.Contains(log, "w2 alone: loss "), log)
		f := read(t, "jobs"+samples+"/pruned.masks")
		set, err := masks.Read(&ir.File{R: bytes.NewReader(f), Size: int64(len(f))})
		require.NoError(t, err)
		kept[samples], _ = set.Layer("w2").Kept()
		assert.Equal(t, samples != "", set.Layer("w2").Packed, "masks ask for what the policy did")
	}
	assert.Equal(t, map[string]int64{"": 16, "samples": 8}, kept, "of 32 kernels")
	require.ErrorContains(t, Run(append(args, "-folder=other", "-samples=data.json"), io.Discard), "data.json: reading safetensors: ")
}

// TestADMM: the pruned model's weights are zero where its masks say so and only there, the log says how it went, and nothing is left in
// the way of another run.
func TestADMM(t *testing.T) {
	setting(t)
	temporary := t.TempDir()
	t.Setenv("TMPDIR", temporary)
	log := must(t, append(append([]string{"admm", "-quiet", "-out=p.onnx", "-out-masks=p.masks", "-out-log=p.json"}, options...), pruning...)...)
	assert.Equal(t, 1, strings.Count(log, "\n"), log)
	assert.Contains(t, log, "pruned layers have 4.50 times fewer weights")
	b := read(t, "p.masks")
	set, err := masks.Read(&ir.File{R: bytes.NewReader(b), Size: int64(len(b))})
	require.NoError(t, err)
	require.Len(t, set.Layers, 1, "the first layer and the last one stay dense")
	for i, kept := range set.Layers[0].Weights() {
		assert.Equal(t, kept, network(t, "p.onnx")["w2"].Data[i] != 0)
	}
	var x pruneLog
	require.NoError(t, json.Unmarshal(read(t, "p.json"), &x))
	assert.Equal(t, []layerLog{{"w2", 288, 64}}, x.Layers)
	assert.Len(t, x.Residuals, 2)
	assert.Equal(t, []any{2.0, 2, 16}, []any{x.Pruning.Connectivity, x.Schedule.Iterations, int(x.Schedule.Settings.Batch)})
	assert.Positive(t, x.Before.Accuracy+x.After.Accuracy)
	left, err := os.ReadDir(temporary)
	require.NoError(t, err)
	assert.Empty(t, left)
}

// TestSteps: kernels are dropped in steps where that is asked for, and a log of a run without iterations has no residuals, but a list of them.
func TestSteps(t *testing.T) {
	setting(t)
	log := must(t, append(append([]string{"admm", "-folder=jobs"}, options...), append(pruning, "-iterations=0", "-steps=2", "-epochs=3")...)...)
	for _, want := range []string{"step001: loss", "step002: loss", "epoch 3 of 3", "retrained: loss", "pruned layers have 4.50 times fewer weights"} {
		assert.Contains(t, log, want)
	}
	assert.NotContains(t, log, "iteration001")
	assert.Contains(t, string(read(t, "jobs/log.json")), `"residuals": []`)
	var x pruneLog
	require.NoError(t, json.Unmarshal(read(t, "jobs/log.json"), &x))
	assert.Equal(t, []int{0, 2, 3, 1}, []int{x.Schedule.Iterations, x.Schedule.Steps, x.Schedule.Epochs, x.Schedule.Retrain})
	require.Len(t, x.Trained, 3)
	assert.Equal(t, "step001", x.Trained[0].Name)
}

// TestUpdate: what dnn_prune plans is written into the workspace, goes on there, and takes options of the caller's.
func TestUpdate(t *testing.T) {
	setting(t)
	workspace := t.TempDir()
	t.Setenv("BUILD_WORKSPACE_DIRECTORY", workspace)
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	require.NoError(t, os.Mkdir(filepath.Join(workspace, "app"), 0o777))
	require.NoError(t, os.Mkdir("runfiles", 0o777))
	require.NoError(t, os.Symlink("../data.json", "runfiles/data.json"))
	args := append(append([]string{}, options...), pruning...)
	args[1] = "-data=runfiles/data.json"
	plan := &updatePlan{Name: "@@//app:net.update", Args: args, Out: "app/net.onnx", Masks: "app/net.masks", Log: "app/net.log.json"}
	write := func() {
		text, err := json.Marshal(plan)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile("update.plan", text, 0o666))
	}
	write()
	log := must(t, "update", "-plan=update.plan")
	assert.Contains(t, log, "epoch 1 of 1")
	assert.Contains(t, log, "wrote app/net.onnx, app/net.masks and app/net.log.json: check them in")
	for _, name := range []string{plan.Out, plan.Masks, plan.Log} {
		assert.FileExists(t, filepath.Join(workspace, name))
	}
	assert.NotContains(t, must(t, "update", "-plan=update.plan"), "epoch", "it is done")
	assert.Contains(t, must(t, "update", "-plan=update.plan", "-retrain=2"), "epoch 2 of 2", "the caller's options count")

	require.NoError(t, os.WriteFile("trainer.sh", []byte("#!/bin/sh\necho this trainer fails\nexit 3\n"), 0o777))
	plan.Trainer = "trainer.sh"
	write()
	var out bytes.Buffer
	err := Run([]string{"update", "-plan=update.plan", "-folder=" + t.TempDir()}, &out)
	require.ErrorContains(t, err, "this trainer fails")
	t.Setenv("BUILD_WORKSPACE_DIRECTORY", "")
	require.ErrorContains(t, Run([]string{"update", "-plan=update.plan"}, &out), "BUILD_WORKSPACE_DIRECTORY is not set, so the workspace to write is unknown")
}

// TestRefused: mistakes in options are told before anything is trained.
func TestRefused(t *testing.T) {
	setting(t)
	folder := "-folder=jobs"
	for _, c := range []struct {
		want string
		args []string
	}{
		{"no command", nil},
		{`"prune" is not a command`, []string{"prune", "x"}},
		{"want -model and -data", []string{"fit"}},
		{"want -out, or -folder", append([]string{"fit"}, options...)},
		{"want -out-masks, or -folder", append([]string{"admm", "-out=x.onnx"}, options...)},
		{"-settings: unknown field", append(append([]string{"admm", folder}, options...), `-settings={"rate": 1}`)},
		{"-pruning: open none", append([]string{"admm", folder, "-pruning=@none"}, options...)},
		{"share = 3", append([]string{"admm", folder, `-pruning={"share": 3}`}, options...)},
		{"nothing is pruned", append([]string{"admm", folder, `-pruning={"patterns": 0}`}, options...)},
		{"-choose: the built-in trainer cannot choose masks while it trains", append([]string{"admm", folder, "-choose=3"}, options...)},
		{"rho is 1, its growth 10 and its maximum 0.1", append([]string{"admm", folder, "-rho=1"}, options...)},
		{"-image=images.bin: want NAME=PATH", append([]string{"fit", folder, "-image=images.bin"}, options...)},
		{"want the trainer's command after --", append([]string{"check", folder}, options...)},
	} {
		var out bytes.Buffer
		assert.ErrorContains(t, Run(c.args, &out), c.want)
		assert.NotContains(t, out.String(), "epoch", c.want)
	}
}

// TestSettingsOfFile: every command takes its settings from a file, too.
func TestSettingsOfFile(t *testing.T) {
	setting(t)
	require.NoError(t, os.WriteFile("settings.json", []byte(`{"batch": 0}`), 0o666))
	from := append([]string{}, options[:len(options)-1]...)
	for command, more := range map[string][]string{"fit": nil, "admm": pruning, "check": {"--", "true"}} {
		var out bytes.Buffer
		args := append(append([]string{command, "-folder=jobs"}, from...), "-settings=@settings.json")
		err := Run(append(args, more...), &out)
		assert.ErrorContains(t, err, map[string]string{"fit": "batch is 0", "admm": "batch is 0", "check": "8 of 8 checks failed"}[command], command)
		err = Run(append(append(append([]string{command, "-folder=jobs"}, from...), "-settings=@none.json"), more...), &out)
		assert.ErrorContains(t, err, "-settings: open none.json", command)
	}
}

// TestHelp: who asks for help gets the list of commands, and no error.
func TestHelp(t *testing.T) {
	for _, ask := range []string{"help", "-h", "-help", "--help"} {
		var out bytes.Buffer
		require.NoError(t, Run([]string{ask}, &out))
		require.Equal(t, Usage, out.String())
	}
}

// TestPolicy: a policy of a dnn_pruning decides, by numbers of operations, too.
func TestPolicy(t *testing.T) {
	setting(t)
	require.NoError(t, os.WriteFile("p.star", []byte("def policy(layer):\n  return settings(connectivity = 4) if layer.macs_share > 0.5 else dense\n"), 0o666))
	must(t, append(append([]string{"admm", "-folder=jobs", "-policy=p.star"}, options...), pruning...)...)
	var x pruneLog
	require.NoError(t, json.Unmarshal(read(t, "jobs/log.json"), &x))
	assert.Equal(t, []layerLog{{"w2", 288, 32}}, x.Layers)
}

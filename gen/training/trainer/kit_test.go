package trainer

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/onnx"
	"rules_dnn/gen/training/train"
)

// newKit has a network of one Gemm, and images of 4x4 of which a row of pixels is bright.
func newKit(t *testing.T, mode string) *Kit {
	folder := t.TempDir()
	text := `graph "g" opset 17 {
  symbol N 1..1024
  const @w f32[16, 4] = {` + strings.TrimSuffix(strings.Repeat("0.25, -0.125, ", 32), ", ") + `}
  const @b f32[4] = {0, 0, 0, 0}
  input %x f32[N, 1, 4, 4]
  %f ?[*] = Flatten.13(%x)
  %y ?[*] = Gemm.13(%f, @w, @b)
  output %y
}
`
	g, err := ir.Parse(strings.NewReader(text), nil)
	require.NoError(t, err)
	var model bytes.Buffer
	require.NoError(t, onnx.Write(&model, g))
	path := filepath.Join(folder, "net.onnx")
	require.NoError(t, os.WriteFile(path, model.Bytes(), 0o666))

	word := binary.BigEndian.AppendUint32
	images, labels := word(word(word(word(nil, 0x803), 64), 4), 4), word(word(nil, 0x801), 64)
	for i := range 64 {
		row := make([]byte, 16)
		for x := range 4 {
			row[4*(i%4)+x] = byte(200 + i%7)
		}
		images, labels = append(images, row...), append(labels, byte(i%4))
	}
	for name, b := range map[string][]byte{"images": images, "labels": labels} {
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), b, 0o666))
	}
	files := []string{filepath.Join(folder, "images"), filepath.Join(folder, "labels")}
	data, err := json.Marshal(map[string]any{"kind": "mnist", "train": files, "test": files})
	require.NoError(t, err)
	n, err := train.New(memory(model.Bytes()), nil, nil)
	require.NoError(t, err)
	t.Setenv(fakeMode, mode)
	k := &Kit{Trainer: &Process{Command: []string{os.Args[0]}, Patience: time.Minute}, Folder: filepath.Join(folder, "kit"), Weights: Tensors(n)}
	k.Request, k.Settings = Request{Model: path, Data: data}, train.Defaults()
	k.Settings.Batch, k.Settings.LearningRate = 16, 0.1
	return k
}

// TestKit: the built-in trainer, as an executable, keeps the protocol; one that does not is found out.
func TestKit(t *testing.T) {
	var log bytes.Buffer
	require.NoError(t, newKit(t, "serve").Run(&log), &log)
	assert.Equal(t, len(checks), strings.Count(log.String(), "passed: "))
	assert.Contains(t, log.String(), "or the trainer refuses choices; it said: choices: the built-in trainer cannot choose masks while it trains")

	log.Reset()
	require.Error(t, newKit(t, "traceback").Run(&log))
	assert.Contains(t, log.String(), "FAILED: chosen weights follow the choice", "a program that ends with an error does not refuse choices")

	log.Reset()
	require.Error(t, newKit(t, "well").Run(&log))
	for _, want := range []string{
		"FAILED: 0 epochs return the given weights and an accuracy: weights differ by up to 1",
		"FAILED: weights that a mask drops are 0 from the start: ",
		`in check4: it exited with status 0, but output.safetensors: weights "w": 64 kernels are kept; the choice allows 32`,
		"FAILED: a strong quadratic term pulls weights to its target: ",
		"FAILED: a request of another version is refused: it exited with status 0; want a failure",
		"passed: a killed trainer continues when it is started again",
	} {
		assert.Contains(t, log.String(), want)
	}
}

// TestServe: what is wrong with a job is an error that names the file.
func TestServe(t *testing.T) {
	k := newKit(t, "serve")
	for _, c := range []struct {
		spoil func(j *Job)
		want  string
	}{
		{func(j *Job) { j.Data = json.RawMessage(`{"kind": "imagenet"}`) }, `data: kind is "imagenet"; want "cifar10" or "mnist"`},
		{func(j *Job) { j.Settings.Optimizer = "lbfgs" }, `optimizer is "lbfgs"; want "sgd" or "adam"`},
		{func(j *Job) { j.Weights[0].Data[3] = float32(math.NaN()) }, "the loss is NaN in step 0 of epoch 1; a smaller learning rate may help"},
		{func(j *Job) { j.Terms = []Term{{"w", 1, "no"}} }, `terms.safetensors has no tensor "no", which is the target of a quadratic term of "w"`},
		{func(j *Job) { j.Weights = append(j.Weights, Tensor{"z", nil, []float32{1}}) }, `tensor "z" is not one of the network's weights`},
		{func(j *Job) { j.Weights = j.Weights[:1] }, `weights.safetensors: weights "b" of the network are missing`},
		{func(j *Job) { j.Weights[0].Shape = []int64{4, 16} }, `weights.safetensors: weights "w" have shape [4 16]; the network's have [16 4]`},
		{func(j *Job) { j.Model = "none.onnx" }, "none.onnx"},
		{func(j *Job) { j.Choices = &Choices{} }, "choices: the built-in trainer cannot choose masks while it trains; the one in PyTorch can"},
	} {
		j := k.job(1)
		j.Weights = maskedCopy(j.Weights, nil)
		c.spoil(j)
		_, err := k.Trainer.Train(t.TempDir(), j)
		assert.ErrorContains(t, err, c.want)
	}
}

// TestServeDistils: the teacher is the model as its file has it, whatever weights training begins with.
func TestServeDistils(t *testing.T) {
	k := newKit(t, "serve")
	j := k.job(20)
	j.Settings.Distillation, j.Settings.Temperature, j.Settings.WeightDecay, j.Settings.LearningRate = 1, 2, 0, 0.5
	a, err := k.Trainer.Train(t.TempDir(), j)
	require.NoError(t, err)
	assert.InDelta(t, 0, a.Metrics.Loss, 1e-6, "it is its own teacher")

	j.Weights = maskedCopy(j.Weights, map[string][]bool{"w": make([]bool, 64)})
	a, err = k.Trainer.Train(t.TempDir(), j)
	require.NoError(t, err)
	assert.Greater(t, a.Epochs[0].Loss, 0.01)
	assert.Less(t, a.Metrics.Loss, a.Epochs[0].Loss/20)
}

// TestServeDamaged: a checkpoint that cannot be read is an error that says what to do, and the job goes on without it.
func TestServeDamaged(t *testing.T) {
	k, folder := newKit(t, "serve"), t.TempDir()
	_, err := k.Trainer.Train(folder, k.job(1))
	require.NoError(t, err)
	checkpoint := filepath.Join(folder, Checkpoint)
	require.NoError(t, os.Remove(filepath.Join(folder, ResultFile)))
	require.NoError(t, os.Truncate(checkpoint, 20))
	_, err = k.Trainer.Train(folder, k.job(1))
	require.ErrorContains(t, err, "checkpoint.safetensors: reading safetensors: ")
	require.ErrorContains(t, err, "remove the file to start the job again")
	require.NoError(t, os.Remove(checkpoint))
	_, err = k.Trainer.Train(folder, k.job(1))
	require.NoError(t, err)
}

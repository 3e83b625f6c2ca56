package admm

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/compress/prune"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/onnx"
	"rules_dnn/gen/training/train"
	"rules_dnn/gen/training/trainer"
)

// figures writes MNIST's kind of files: images of 10x10 of lines, corners, crosses and rings in noise.
func figures(t *testing.T, folder, name string, n int, seed uint64) []string {
	r := rand.New(rand.NewPCG(seed, 1))
	word := binary.BigEndian.AppendUint32
	images := word(word(word(word(nil, 0x803), uint32(n)), 10), 10)
	labels := word(word(nil, 0x801), uint32(n))
	for range n {
		var pixels [10][10]byte
		for y := range pixels {
			for x := range pixels[y] {
				pixels[y][x] = byte(r.IntN(90))
			}
		}
		class, y0, x0 := r.IntN(4), r.IntN(5), r.IntN(5)
		for k := range 5 {
			at := [][][2]int{
				{{k, 2}}, {{k, 0}, {4, k}}, {{k, 2}, {2, k}}, {{k, 0}, {k, 4}, {0, k}, {4, k}},
			}[class]
			for _, p := range at {
				pixels[y0+p[0]][x0+p[1]] = byte(130 + r.IntN(120))
			}
		}
		for y := range pixels {
			images = append(images, pixels[y][:]...)
		}
		labels = append(labels, byte(class))
	}
	files := []string{name + "-images", name + "-labels"}
	for i, b := range [][]byte{images, labels} {
		require.NoError(t, os.WriteFile(filepath.Join(folder, files[i]), b, 0o666))
		files[i] = filepath.Join("..", files[i])
	}
	return files
}

func constant(r *rand.Rand, name string, scale float64, shape ...int64) string {
	n, dims := int64(1), ""
	for i, d := range shape {
		if n *= d; i > 0 {
			dims += ", "
		}
		dims += fmt.Sprint(d)
	}
	out := fmt.Sprintf("  const @%s f32[%s] = {", name, dims)
	for i := range n {
		if i > 0 {
			out += ", "
		}
		out += fmt.Sprint(float32((2*r.Float64() - 1) * scale))
	}
	return out + "}\n"
}

// lenet writes a small network and gives its graph.
func lenet(t *testing.T, path string) {
	r := rand.New(rand.NewPCG(5, 5))
	text := "graph \"g\" opset 17 {\n  symbol N 1..1024\n" +
		constant(r, "w1", 0.5, 8, 1, 3, 3) + constant(r, "b1", 0, 8) + constant(r, "w2", 0.2, 16, 8, 3, 3) + constant(r, "b2", 0, 16) +
		constant(r, "w3", 0.15, 16, 16, 3, 3) + constant(r, "b3", 0, 16) + constant(r, "w4", 0.2, 4, 144) + constant(r, "b4", 0, 4) + `
  input %x f32[N, 1, 10, 10]
  %c1 ?[*] = Conv.11(%x, @w1, @b1) {pads = [1, 1, 1, 1]} "first"
  %r1 ?[*] = Relu.14(%c1)
  %c2 ?[*] = Conv.11(%r1, @w2, @b2) {pads = [1, 1, 1, 1]} "second"
  %r2 ?[*] = Relu.14(%c2)
  %p ?[*] = MaxPool.12(%r2) {kernel_shape = [2, 2], strides = [2, 2]} "pool"
  %c3 ?[*] = Conv.11(%p, @w3, @b3) {} "third"
  %r3 ?[*] = Relu.14(%c3)
  %f ?[*] = Flatten.13(%r3)
  %y ?[*] = Gemm.13(%f, @w4, @b4) {transB = 1} "last"
  output %y
}
`
	g, err := ir.Parse(bytes.NewReader([]byte(text)), nil)
	require.NoError(t, err)
	var model bytes.Buffer
	require.NoError(t, onnx.Write(&model, g))
	require.NoError(t, os.WriteFile(path, model.Bytes(), 0o666))
}

// setting is a run over the figures.
func setting(t *testing.T) (*Run, []trainer.Tensor) {
	folder := t.TempDir()
	model := filepath.Join(folder, "net.onnx")
	lenet(t, model)
	data, err := json.Marshal(map[string]any{
		"kind": "mnist", "train": figures(t, folder, "train", 1536, 1), "test": figures(t, folder, "test", 256, 2),
	})
	require.NoError(t, err)
	read := func() *ir.File {
		b, err := os.ReadFile(model)
		require.NoError(t, err)
		return &ir.File{R: bytes.NewReader(b), Size: int64(len(b))}
	}
	n, err := train.New(read(), nil, nil)
	require.NoError(t, err)
	g, err := onnx.Read(read(), nil, onnx.Options{})
	require.NoError(t, err)
	layers, _ := prune.Layers(g)
	o := prune.Defaults()
	o.Connectivity = 2
	plan, err := prune.Choose(layers, o, nil)
	require.NoError(t, err)
	r := &Run{Options: Defaults(), Trainer: &trainer.Builtin{}, Folder: folder, Layers: Layers(layers, plan)}
	r.Request = trainer.Request{Model: filepath.Join("..", "net.onnx"), Data: data, Workers: 2}
	r.Train.Batch, r.Tune.Batch, r.Train.LearningRate, r.Tune.LearningRate = 32, 32, 0.04, 0.04
	r.Iterations, r.Epochs, r.Retrain = 3, 1, 2
	return r, trainer.Tensors(n)
}

// TestPrune: a small network that was trained keeps its accuracy with an eighth of its weights' kernels' entries, and the
// residuals fall.
func TestPrune(t *testing.T) {
	r, weights := setting(t)
	j := r.job(weights, r.Tune, 4)
	trained, err := r.train("dense", j)
	require.NoError(t, err)
	require.Greater(t, trained.Metrics.Accuracy, 0.95)

	out, err := r.Prune(trained.Weights)
	require.NoError(t, err)
	assert.GreaterOrEqual(t, out.After.Accuracy, out.Before.Accuracy-0.01, "%+v", out)
	require.Len(t, r.Layers, 2, "the first layer, and the last one, stay dense")
	for _, l := range r.Layers {
		w := out.Weights[index(out.Weights, l.Name)].Data
		kept, mask := 0, out.Masks.Layer(l.Name).Weights()
		for i, x := range w {
			assert.True(t, x == 0 || mask[i], l.Name)
			if mask[i] {
				kept++
			}
		}
		assert.InDelta(t, len(w)*2/9, kept, 8, "4 of 9 taps, and half of the kernels")
	}
	per := len(out.Residuals) / r.Iterations
	for k := range per {
		first, last := out.Residuals[k], out.Residuals[len(out.Residuals)-per+k]
		assert.Less(t, last.Patterns, first.Patterns, "%s", first.Layer)
		assert.Less(t, last.Connectivity, first.Connectivity, "%s", first.Layer)
	}
}

func index(ts []trainer.Tensor, name string) int {
	for i, t := range ts {
		if t.Name == name {
			return i
		}
	}
	return -1
}

// recording keeps the jobs that a trainer was given.
type recording struct {
	trainer.Trainer
	jobs []*trainer.Job
}

func (f *recording) Train(folder string, j *trainer.Job) (*trainer.Answer, error) {
	f.jobs = append(f.jobs, j)
	return f.Trainer.Train(folder, j)
}

// TestSteps: patterns are there from the first step on, kernels are dropped a few at a time, and what was dropped does not come back. The network keeps
// its accuracy.
func TestSteps(t *testing.T) {
	r, weights := setting(t)
	trained, err := r.train("dense", r.job(weights, r.Tune, 4))
	require.NoError(t, err)
	jobs := &recording{Trainer: r.Trainer}
	r.Trainer, r.Iterations, r.Steps = jobs, 0, 3
	out, err := r.Prune(trained.Weights)
	require.NoError(t, err)
	assert.GreaterOrEqual(t, out.After.Accuracy, out.Before.Accuracy-0.02)
	var masked []*trainer.Job
	for _, j := range jobs.jobs {
		if j.Kept != nil {
			masked = append(masked, j)
		}
	}
	require.Len(t, masked, 4, "three steps, and the training at the end")
	for _, l := range r.Layers {
		kernels := len(masked[0].Kept[l.Name]) / 9
		var left []int
		for i, j := range masked {
			kept := 0
			for k, here := range j.Kept[l.Name] {
				if !here {
					continue
				}
				kept++
				assert.True(t, i == 0 || masked[i-1].Kept[l.Name][k], "%s: element %d comes back in training %d", l.Name, k, i+1)
			}
			assert.Zero(t, kept%4, "all patterns have four entries")
			left = append(left, kept/4)
		}
		// Of the half that goes, shares of 1 - (3/4)^3, 1 - (2/4)^3 and 1 - (1/4)^3, then all.
		for i, share := range []float64{0.578125, 0.875, 0.984375, 1} {
			assert.InDelta(t, float64(kernels)*(1-share/2), left[i], 1, "%s, training %d", l.Name, i+1)
		}
	}
	seeds := map[uint64]bool{}
	for _, j := range masked[:3] {
		assert.Equal(t, r.Epochs, j.Settings.Epochs)
		seeds[j.Settings.Seed] = true
	}
	assert.Len(t, seeds, 3)
	assert.Equal(t, r.Retrain, masked[3].Settings.Epochs)
}

// failing is a trainer that fails at its n-th job.
type failing struct {
	trainer.Trainer
	left int
}

var errFails = errors.New("the machine was taken away")

func (f *failing) Train(folder string, j *trainer.Job) (*trainer.Answer, error) {
	if f.left--; f.left < 0 {
		return nil, errFails
	}
	return f.Trainer.Train(folder, j)
}

// choosing is a trainer that keeps what it is allowed to, as it was given: the first kernels, by the first pattern.
type choosing struct {
	trainer.Trainer
	job *trainer.Job
}

func (f *choosing) Train(folder string, j *trainer.Job) (*trainer.Answer, error) {
	if j.Choices == nil {
		return f.Trainer.Train(folder, j)
	}
	f.job = j
	a := &trainer.Answer{Weights: copied(j.Weights)}
	for _, c := range j.Choices.Weights {
		w := a.Weights[index(a.Weights, c.Weight)]
		for i := range w.Data {
			if kernel, tap := i/9, i%9; kernel >= c.Kernels || !slices.Contains(c.Patterns[0], tap) {
				w.Data[i] = 0
			}
		}
	}
	return a, nil
}

// TestChoose: the trainer gets all weights and what can be kept of them, and the masks are those of what it gives.
func TestChoose(t *testing.T) {
	r, weights := setting(t)
	r.Iterations, r.Retrain, r.Choose, r.Every = 0, 6, 4, 5
	f := &choosing{Trainer: r.Trainer}
	r.Trainer = f
	out, err := r.Prune(weights)
	require.NoError(t, err)
	assert.Equal(t, weights, f.job.Weights, "nothing is dropped before")
	assert.Nil(t, f.job.Kept)
	c := f.job.Choices
	assert.Equal(t, []int{4, 5, 2}, []int{c.Epochs, c.Every, c.Grow})
	assert.Equal(t, r.Fade, c.Fade)
	assert.Equal(t, 6, f.job.Settings.Epochs)
	require.Len(t, c.Weights, len(r.Layers))
	for i, l := range r.Layers {
		x := c.Weights[i]
		assert.Equal(t, l.Name, x.Weight)
		assert.Len(t, x.Patterns, 8)
		mask, w := out.Masks.Layer(l.Name), out.Weights[index(out.Weights, l.Name)]
		assert.Equal(t, int(w.Shape[0]*w.Shape[1]/2), x.Kernels)
		for k, pattern := range mask.Kernels {
			assert.Equal(t, k < x.Kernels, pattern != 0)
		}
		for k, kept := range mask.Weights() {
			assert.True(t, kept || w.Data[k] == 0)
		}
	}
	r.Steps = 1
	_, err = r.Prune(weights)
	assert.ErrorContains(t, err, "1 steps, and masks chosen again in 4 epochs; want only one of them")
	r.Steps, r.Choose = 0, 7
	_, err = r.Prune(weights)
	assert.ErrorContains(t, err, "the masks are chosen every 5 steps in 7 of the 6 final epochs")
	r.Choose, r.Tune.Average = 6, 0.9
	_, err = r.Prune(weights)
	assert.ErrorContains(t, err, "weights are averaged, and the masks are chosen again in all of the 6 final epochs; choose them in fewer epochs")
}

// TestGoesOn: a run that was interrupted anywhere ends with the same weights.
func TestGoesOn(t *testing.T) {
	r, weights := setting(t)
	r.Iterations, r.Steps, r.Retrain = 1, 1, 1
	var spec map[string]any
	require.NoError(t, json.Unmarshal(r.Request.Data, &spec))
	spec["most"] = 256
	r.Request.Data, _ = json.Marshal(spec)
	builtin := r.Trainer
	for n := range 5 {
		r.Trainer = &failing{builtin, n}
		_, err := r.Prune(weights)
		require.ErrorIs(t, err, errFails)
	}
	r.Trainer = builtin
	on, err := r.Prune(weights)
	require.NoError(t, err)
	r.Folder = t.TempDir()
	for _, name := range []string{"net.onnx", "train-images", "train-labels", "test-images", "test-labels"} {
		b, err := os.ReadFile(filepath.Join(filepath.Dir(r.Folder), "001", name))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(r.Folder, name), b, 0o666))
	}
	whole, err := r.Prune(weights)
	require.NoError(t, err)
	assert.Equal(t, whole, on)
}

// TestRho: rho grows up to its bound, and the dual variables keep their size.
func TestRho(t *testing.T) {
	r := &Run{Options: Defaults()}
	assert.InDelta(t, 1e-3, r.rho(0), 1e-12)
	assert.InDelta(t, 1e-2, r.rho(1), 1e-12)
	assert.InDelta(t, 0.1, r.rho(5), 1e-12)
	c := &side{missed: []float32{4}}
	s := &state{rho: 0.5, layers: []*variables{{sides: []*side{c}}}}
	s.rescale(2)
	assert.Equal(t, float32(1), c.missed[0])
}

func TestRefused(t *testing.T) {
	r := &Run{Options: Defaults(), Layers: []*Layer{{Name: "w"}}}
	_, err := r.Prune(nil)
	require.EqualError(t, err, `the network has no weights "w" to prune`)
	r.Layers, r.Rho = nil, 0
	_, err = r.Prune(nil)
	require.ErrorContains(t, err, "rho is 0")
	r.Steps = -1
	_, err = r.Prune(nil)
	assert.ErrorContains(t, err, "4 iterations and -1 steps; want 0 or more of each")
}

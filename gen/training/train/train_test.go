package train

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/onnx"
)

// bars are images of two bars each, whose orientation and place are their class, in noise.
type bars struct {
	shape []int64
	n     int
	seed  uint64
}

func (b *bars) Len() int { return b.n }

func (b *bars) Image(i int, to []float32) int {
	r := newRandom(b.seed, uint64(i))
	class := r.below(4)
	rows, columns := int(b.shape[1]), int(b.shape[2])
	for k := range to {
		to[k] = float32(r.below(1000))/1000 - 0.5
	}
	at := r.below(columns/2-1) + class%2*columns/2
	for k := range to {
		y, x := k/columns%rows, k%columns
		if class/2 == 0 {
			x = y
		}
		if x == at {
			to[k]++
		}
	}
	return class
}

func values(seed uint64, n int, scale float32) string {
	r := newRandom(seed)
	var out bytes.Buffer
	for i := range n {
		if i > 0 {
			out.WriteString(", ")
		}
		fmt.Fprint(&out, (float32(r.below(2001))/1000-1)*scale)
	}
	return out.String()
}

func repeated(x float32, n int) string {
	var out bytes.Buffer
	for i := range n {
		if i > 0 {
			out.WriteString(", ")
		}
		fmt.Fprint(&out, x)
	}
	return out.String()
}

// lenet is a small network with what networks are made of: strides, padding, normalisation, pools, a reshape.
func lenet() string {
	return `graph "g" opset 17 {
  symbol N 1..1024
  const @w1 f32[8, 1, 3, 3] = {` + values(1, 72, 0.5) + `}
  const @w2 f32[16, 8, 3, 3] = {` + values(2, 1152, 0.2) + `}
  const @s f32[8] = {` + repeated(1, 8) + `}
  const @b f32[8] = {` + repeated(0, 8) + `}
  const @m f32[8] = {` + repeated(0, 8) + `}
  const @v f32[8] = {` + repeated(1, 8) + `}
  const @b2 f32[16] = {` + repeated(0, 16) + `}
  const @w3 f32[4, 64] = {` + values(3, 256, 0.2) + `}
  const @b3 f32[4] = {0, 0, 0, 0}
  input %x f32[N, 1, 8, 8]
  %c ?[*] = Conv.11(%x, @w1) {pads = [1, 1, 1, 1]} "first"
  %n ?[*] = BatchNormalization.15(%c, @s, @b, @m, @v) "norm"
  %r ?[*] = Relu.14(%n)
  %c2 ?[*] = Conv.11(%r, @w2, @b2) {pads = [1, 1, 1, 1], strides = [2, 2]} "second"
  %r2 ?[*] = Relu.14(%c2)
  %p ?[*] = MaxPool.12(%r2) {kernel_shape = [2, 2], strides = [2, 2]} "pool"
  %f ?[*] = Flatten.13(%p)
  %g ?[*] = Gemm.13(%f, @w3, @b3) {transB = 1} "last"
  %y ?[*] = Softmax.13(%g)
  output %y
}
`
}

func network(t *testing.T, text string) *Network {
	g, err := ir.Parse(bytes.NewReader([]byte(text)), nil)
	require.NoError(t, err)
	var model bytes.Buffer
	require.NoError(t, onnx.Write(&model, g))
	n, err := New(&ir.File{R: bytes.NewReader(model.Bytes()), Size: int64(model.Len())}, nil, nil)
	require.NoError(t, err)
	return n
}

func task(epochs int) *Task {
	shape := []int64{1, 8, 8}
	s := Defaults()
	s.Epochs, s.Batch, s.LearningRate, s.Seed = epochs, 32, 0.05, 7
	return &Task{Settings: s, Train: &bars{shape, 1024, 1}, Test: &bars{shape, 256, 2}, Workers: 2}
}

// TestLearns: the network learns the classes, by either optimizer.
func TestLearns(t *testing.T) {
	for _, optimizer := range []string{"sgd", "adam"} {
		n, k := network(t, lenet()), task(4)
		k.Optimizer, k.LabelSmoothing = optimizer, 0.05
		if optimizer == "adam" {
			k.LearningRate = 0.005
		}
		m, err := n.Fit(k, nil)
		require.NoError(t, err)
		assert.Greater(t, m.Accuracy, 0.95, "%s: %v", optimizer, m)
		assert.NotEqual(t, float32(0), n.Find("m").Data[0], "statistics stay")
	}
}

// TestDistillation: settings and teachers that make no sense are refused.
func TestDistillation(t *testing.T) {
	other := network(t, strings.NewReplacer("f32[4, 64]", "f32[5, 64]", values(3, 256, 0.2), values(3, 320, 0.2), "f32[4] = {0", "f32[5] = {0, 0").Replace(lenet()))
	for want, s := range map[string]struct {
		share, temperature float64
		teacher            *Network
	}{
		"distillation needs a teacher":     {0.5, 4, nil},
		"distillation is 2; want 0 to 1":   {2, 4, nil},
		"temperature is 0; want 1 to 100":  {0.5, 0, nil},
		"temperature is -1; want 1 to 100": {0, -1, nil},
		"the teacher has images of shape [1 8 8] and 5 classes; the trained network has [1 8 8] and 4": {0.5, 4, other},
	} {
		k := task(1)
		k.Distillation, k.Temperature, k.Teacher = s.share, s.temperature, s.teacher
		_, err := network(t, lenet()).Fit(k, nil)
		assert.EqualError(t, err, want)
	}
}

// TestDistils: from a teacher alone, without the classes, a network learns them.
func TestDistils(t *testing.T) {
	teacher := network(t, lenet())
	_, err := teacher.Fit(task(4), nil)
	require.NoError(t, err)
	before := slices.Clone(teacher.Find("w2").Data)
	n, k := network(t, lenet()), task(4)
	k.Distillation, k.Temperature, k.Teacher, k.Train = 1, 2, teacher, unlabelled{k.Train}
	first, err := n.newTrainer(k)
	require.NoError(t, err)
	require.NoError(t, first.run())
	m, err := n.Fit(k, nil)
	require.NoError(t, err)
	assert.Greater(t, m.Accuracy, 0.95, "%v", m)
	assert.Less(t, m.Loss, first.last.Loss/2, "a divergence falls")
	assert.Positive(t, m.Loss)
	assert.Equal(t, before, teacher.Find("w2").Data, "the teacher does not learn")
}

// unlabelled are images of which nothing says what they are of.
type unlabelled struct{ Data }

func (u unlabelled) Image(i int, to []float32) int {
	u.Data.Image(i, to)
	return 0
}

// TestLoss: the loss is that of the formula, in double precision.
func TestLoss(t *testing.T) {
	n, other := network(t, lenet()), network(t, strings.ReplaceAll(lenet(), values(3, 256, 0.2), values(9, 256, 0.3)))
	b := n.NewBatch(16)
	require.NoError(t, n.fill(b, &bars{[]int64{1, 8, 8}, 16, 3}, []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}, 0.1, nil))
	wish := softened{0.7, 3}
	entropy, err := (&teacher{other, wish}).teach(b, 1)
	require.NoError(t, err)
	got, err := n.run(b, wish, true, 1)
	require.NoError(t, err)
	logits := slices.Clone(got.logits)
	taught, err := other.run(b, softened{}, false, 1)
	require.NoError(t, err)
	softmax := func(z []float32, temperature float64) (p [4]float64) {
		sum := 0.0
		for c, x := range z {
			p[c] = math.Exp(float64(x) / temperature)
			sum += p[c]
		}
		for c := range p {
			p[c] /= sum
		}
		return p
	}
	want := 0.0
	for i := range 16 {
		z, y := logits[4*i:4*i+4], taught.logits[4*i:4*i+4]
		p, soft, wanted := softmax(z, 1), softmax(z, 3), softmax(y, 3)
		for c := range p {
			want -= 0.3 * float64(f32(b.Targets)[4*i+c]) * math.Log(p[c]) / 16
			want += 0.7 * 9 * wanted[c] * math.Log(wanted[c]/soft[c]) / 16
		}
	}
	assert.InDelta(t, want, float64(got.loss)+entropy, 1e-5)
}

// TestDifferences compares the gradients of a whole training step with differences, with a teacher and without.
func TestDifferences(t *testing.T) {
	for _, soft := range []softened{{}, {0.6, 2}} {
		n := network(t, lenet())
		b := n.NewBatch(16)
		require.NoError(t, n.fill(b, &bars{[]int64{1, 8, 8}, 16, 3}, []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}, 0.1, nil))
		_, err := (&teacher{network(t, strings.ReplaceAll(lenet(), values(3, 256, 0.2), values(9, 256, 0.3))), softened{0.6, 2}}).teach(b, 1)
		require.NoError(t, err)
		out, err := n.run(b, soft, true, 1)
		require.NoError(t, err)
		for k, w := range n.Weights {
			for _, i := range []int{0, len(w.Data) / 2, len(w.Data) - 1} {
				const h = 1e-3
				at := func(d float32) float64 {
					old := w.Data[i]
					w.Data[i] += d
					o, err := n.run(b, soft, true, 1)
					w.Data[i] = old
					require.NoError(t, err)
					return float64(o.loss)
				}
				want := (at(h) - at(-h)) / (2 * h)
				assert.InDelta(t, want, out.gradients[k][i], 2e-3*max(1, math.Abs(want)), "%v: %s, element %d", soft, w.Name, i)
			}
		}
	}
}

// TestSame: weights do not depend on the number of workers, nor on whether the training was interrupted.
func TestSame(t *testing.T) {
	run := func(workers, stopAt int, part int64) []float32 {
		n, k := network(t, lenet()), task(3)
		k.Workers, k.Flip, k.Crop, k.Part = workers, true, 1, part
		k.Distillation, k.Temperature, k.Teacher = 0.5, 2, network(t, lenet())
		k.Train = &bars{[]int64{1, 8, 8}, 128, 1}
		stop := fmt.Errorf("stopped")
		var saved bytes.Buffer
		k.Save = func(s *State) error {
			saved.Reset()
			if err := s.Write(&saved); err != nil {
				return err
			}
			if s.Epoch == stopAt {
				return stop
			}
			return nil
		}
		_, err := n.Fit(k, nil)
		if stopAt > 0 {
			require.ErrorIs(t, err, stop)
			s, err := ReadState(&ir.File{R: bytes.NewReader(saved.Bytes()), Size: int64(saved.Len())})
			require.NoError(t, err)
			stopAt, n = 0, network(t, lenet())
			_, err = n.Fit(k, s)
			require.NoError(t, err)
		} else {
			require.NoError(t, err)
		}
		return n.Find("w2").Data
	}
	var of [][]float32
	for _, part := range []int64{0, 8} {
		whole := run(1, 0, part)
		assert.Equal(t, whole, run(3, 0, part))
		assert.Equal(t, whole, run(9, 0, part))
		assert.Equal(t, whole, run(2, 2, part))
		of = append(of, whole)
	}
	assert.NotEqual(t, of[0], of[1], "parts have statistics of their own")
}

// branches is a network without statistics whose two biases have the same gradient.
func branches() string {
	return `graph "g" opset 17 {
  symbol N 1..1024
  const @w1 f32[4, 64] = {` + values(1, 256, 0.2) + `}
  const @w2 f32[4, 64] = {` + values(2, 256, 0.2) + `}
  const @b1 f32[4] = {0, 0, 0, 0}
  const @b2 f32[4] = {0, 0, 0, 0}
  input %x f32[N, 1, 8, 8]
  %f ?[*] = Flatten.13(%x)
  %g ?[*] = Gemm.13(%f, @w1, @b1) {transB = 1}
  %h ?[*] = Gemm.13(%f, @w2, @b2) {transB = 1}
  %y ?[*] = Add.14(%g, %h)
  output %y
}
`
}

// TestParts: where no statistics are taken, parts give what the batch gives, also of weights whose gradients are the same.
func TestParts(t *testing.T) {
	run := func(part int64) *Network {
		n, k := network(t, branches()), task(2)
		k.Part, k.Momentum = part, 0
		k.Pulls = []Pull{{"b1", 0.5, []float32{1, 1, 1, 1}}}
		_, err := n.Fit(k, nil)
		require.NoError(t, err)
		return n
	}
	whole, parts := run(0), run(8)
	for _, w := range whole.Weights {
		assert.InDeltaSlice(t, w.Data, parts.Find(w.Name).Data, 1e-4, w.Name)
	}
	assert.Greater(t, whole.Find("b1").Data[0], whole.Find("b2").Data[0]+0.1, "the term is of one bias")
	k := task(1)
	k.Part = 5
	_, err := network(t, branches()).Fit(k, nil)
	assert.EqualError(t, err, "part is 5; want 0, or a divisor of the batch, 32")
}

// TestCycles: the first of two cycles is a training of half as many epochs, and the second begins anew.
func TestCycles(t *testing.T) {
	run := func(epochs, cycles int) (weights [][]float32, rates []float64) {
		n, k := network(t, lenet()), task(epochs)
		k.Cycles, k.Train = cycles, &bars{[]int64{1, 8, 8}, 128, 1}
		k.Save = func(*State) error {
			weights = append(weights, slices.Clone(n.Find("w2").Data))
			return nil
		}
		_, err := n.Fit(k, nil)
		require.NoError(t, err)
		for i := range 4 * epochs {
			rates = append(rates, k.rate(i, 4*epochs))
		}
		return weights, rates
	}
	once, rate := run(2, 0)
	twice, rates := run(4, 2)
	assert.Equal(t, once, twice[:2])
	assert.Equal(t, slices.Concat(rate, rate), rates)
	assert.NotEqual(t, twice[2], twice[1])
	for _, k := range []func(*Task){func(k *Task) { k.Cycles = 3 }, func(k *Task) { k.Cycles = -1 }, func(k *Task) { k.Cycles, k.Schedule = 2, "constant" }} {
		wrong := task(4)
		k(wrong)
		_, err := network(t, lenet()).Fit(wrong, nil)
		assert.ErrorContains(t, err, "want 0, or with a cosine schedule a divisor of the epochs, 4")
	}
}

// TestAverage: training gives the moving average of the weights after each step, and goes on with it.
func TestAverage(t *testing.T) {
	const decay = 0.75
	run := func(decay float64, stopAt int) (last []float32, steps [][]float32) {
		n, k := network(t, lenet()), task(4)
		k.Average, k.Train = decay, &bars{[]int64{1, 8, 8}, 32, 1} // an epoch is a step
		stop := fmt.Errorf("stopped")
		var saved bytes.Buffer
		k.Save = func(s *State) error {
			steps = append(steps, slices.Clone(n.Find("m").Data))
			saved.Reset()
			if err := s.Write(&saved); err != nil || s.Epoch != stopAt {
				return err
			}
			return stop
		}
		_, err := n.Fit(k, nil)
		if stopAt > 0 {
			require.ErrorIs(t, err, stop)
			s, err := ReadState(&ir.File{R: bytes.NewReader(saved.Bytes()), Size: int64(saved.Len())})
			require.NoError(t, err)
			n, stopAt = network(t, lenet()), 0
			_, err = n.Fit(k, s)
			require.NoError(t, err)
		} else {
			require.NoError(t, err)
		}
		return n.Find("m").Data, steps
	}
	_, steps := run(0, 0)
	averaged, same := run(decay, 0)
	assert.Equal(t, steps, same, "the average changes no step")
	on, _ := run(decay, 2)
	assert.Equal(t, averaged, on)
	for i, x := range averaged {
		sum, all := 0.0, 0.0
		for _, s := range steps {
			sum, all = sum*decay+float64(s[i]), all*decay+1
		}
		assert.InDelta(t, sum/all, x, 1e-5)
	}
	k := task(1)
	k.Average = 1
	_, err := network(t, lenet()).Fit(k, nil)
	assert.EqualError(t, err, "average is 1; want 0 to 0.999999")
}

// TestMasksAndPulls: what a mask drops is 0, and a strong quadratic term holds a weight.
func TestMasksAndPulls(t *testing.T) {
	n, k := network(t, lenet()), task(1)
	mask := make([]bool, 1152)
	for i := range mask {
		mask[i] = i%3 == 0
	}
	target := make([]float32, 72)
	k.Masks = map[string][]bool{"w2": mask}
	k.Pulls = []Pull{{"w1", 5, target}}
	_, err := n.Fit(k, nil)
	require.NoError(t, err)
	for i, x := range n.Find("w2").Data {
		assert.Equal(t, mask[i], x != 0)
	}
	for _, x := range n.Find("w1").Data {
		assert.InDelta(t, 0, x, 0.15)
	}
	k.Masks = map[string][]bool{"w9": nil}
	_, err = n.Fit(k, nil)
	assert.ErrorContains(t, err, `a mask: the network has no weights "w9" to train`)
}

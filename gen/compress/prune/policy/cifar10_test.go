package policy

import (
	"bytes"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/compress/masks"
	"rules_dnn/gen/compress/prune"
	"rules_dnn/gen/graph/shape"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/onnx"
)

// read reads a file of the repository.
func read(t *testing.T, path string) *ir.File {
	text, err := os.ReadFile("../../../../" + path)
	require.NoError(t, err)
	return &ir.File{R: bytes.NewReader(text), Size: int64(len(text))}
}

func layers(t *testing.T, path string) []*prune.Layer {
	g, err := onnx.Read(read(t, path), nil, onnx.Options{})
	require.NoError(t, err)
	require.NoError(t, shape.Infer(g))
	out, _ := prune.Layers(g)
	return out
}

// choose is the plan by a policy that lies beside the trainer in PyTorch.
func choose(t *testing.T, given []*prune.Layer, name, pruning string) *prune.Plan {
	source, err := os.ReadFile("../../../../trainers/pytorch/policies/" + name)
	require.NoError(t, err)
	decide, err := Parse(name, source)
	require.NoError(t, err)
	options, err := prune.ParseOptions([]byte(pruning))
	require.NoError(t, err)
	plan, err := prune.Choose(given, options, decide)
	require.NoError(t, err)
	return plan
}

// TestResNet20Shortcuts: the other policies leave shortcuts whole, have patterns in every other layer of 3x3 but the first, and reach 4.4, or 4.0 for a short training.
func TestResNet20Shortcuts(t *testing.T) {
	given := layers(t, "app/resnet20_cifar10.onnx")
	for _, c := range []struct {
		policy, pruning string
		times           float64
	}{
		{"resnet20_cifar10_steps.star", `{"patterns": 8, "connectivity": 2, "set": "layer"}`, 4.4},
		{"resnet20_cifar10_night.star", `{"patterns": 8, "connectivity": 1.9, "set": "layer"}`, 4},
	} {
		plan := choose(t, given, c.policy, c.pruning)
		var all, left int64
		for i, l := range given {
			weights, err := l.Floats()
			require.NoError(t, err)
			all += int64(len(weights))
			s := plan.Layers[i]
			if s == nil || s.Dense() {
				assert.True(t, i == 0 || prune.KernelSize(l) != "3x3", l.Name)
				left += int64(len(weights))
				continue
			}
			assert.Len(t, s.Patterns, 8, l.Name)
			mask, _, err := prune.Project(l, weights, *s)
			require.NoError(t, err)
			_, kept := mask.Kept()
			left += kept
		}
		assert.GreaterOrEqual(t, float64(all)/float64(left), c.times, "%s: %d of %d weights", c.policy, left, all)
		assert.Less(t, float64(all)/float64(left), c.times+0.05, "%s: no more than is asked for", c.policy)
	}
}

// TestResNet20: by its policies ResNet-20 has at least 4.4 times fewer weights in all, and patterns in every 3x3 layer but the first.
func TestResNet20(t *testing.T) {
	given := layers(t, "app/resnet20_cifar10.onnx")
	for name, pruning := range map[string]string{
		"resnet20_cifar10.star":       `{"patterns": 8, "connectivity": 2}`,
		"resnet20_cifar10_steps.star": `{"patterns": 8, "connectivity": 2, "set": "layer"}`,
	} {
		plan := choose(t, given, name, pruning)
		var all, left int64
		for i, l := range given {
			weights, err := l.Floats()
			require.NoError(t, err)
			all += int64(len(weights))
			s := plan.Layers[i]
			if s == nil || s.Dense() {
				left += int64(len(weights))
				continue
			}
			assert.Equal(t, prune.KernelSize(l) == "3x3", len(s.Patterns) == 8, "%s: %s", name, l.Name)
			mask, _, err := prune.Project(l, weights, *s)
			require.NoError(t, err)
			_, kept := mask.Kept()
			left += kept
		}
		assert.GreaterOrEqual(t, float64(all)/float64(left), 4.4, "%s: %d of %d weights", name, left, all)
	}
}

// TestPrunedResNet20: the network of app that was pruned is what its masks say, and these are as many as the policy asks for.
func TestPrunedResNet20(t *testing.T) {
	given, pruned := layers(t, "app/resnet20_cifar10.onnx"), layers(t, "app/resnet20_cifar10_pruned.onnx")
	plan := choose(t, given, "resnet20_cifar10_steps.star", `{"patterns": 8, "connectivity": 2, "set": "layer"}`)
	set, err := masks.Read(read(t, "app/resnet20_cifar10_pruned.masks"))
	require.NoError(t, err)
	var all, left int64
	for i, l := range given {
		weights, err := pruned[i].Floats()
		require.NoError(t, err)
		all += int64(len(weights))
		s := plan.Layers[i]
		if s == nil || s.Dense() {
			left += int64(len(weights))
			assert.Nil(t, set.Layer(l.Name), l.Name)
			continue
		}
		mask, _, err := prune.Project(l, weights, *s)
		require.NoError(t, err)
		_, want := mask.Kept()
		_, kept := set.Layer(l.Name).Kept()
		assert.Equal(t, want, kept, l.Name)
		left += kept
		for k, here := range set.Layer(l.Name).Weights() {
			if !here {
				require.Zero(t, weights[k], "%s, element %d", l.Name, k)
			}
		}
	}
	assert.GreaterOrEqual(t, float64(all)/float64(left), 4.4, "%d of %d weights", left, all)
}

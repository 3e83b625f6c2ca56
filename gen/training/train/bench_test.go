package train

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"rules_dnn/gen/ir"
)

// BenchmarkResNet20 is training steps of CIFAR-10's size: by all processors, and of parts that run on one each.
func BenchmarkResNet20(b *testing.B) {
	for _, c := range []struct {
		name            string
		images, workers int
	}{
		{"resnet20_cifar10", 128, runtime.GOMAXPROCS(0)}, {"resnet20_cifar10", 16, 1}, {"resnet20_cifar10_pruned", 16, 1},
	} {
		b.Run(fmt.Sprintf("%s/%d", c.name, c.images), func(b *testing.B) { steps(b, c.name, c.images, c.workers) })
	}
}

func steps(b *testing.B, name string, images, workers int) {
	model, err := os.ReadFile("../../../app/" + name + ".onnx")
	require.NoError(b, err)
	n, err := New(&ir.File{R: bytes.NewReader(model), Size: int64(len(model))}, nil, nil)
	require.NoError(b, err)
	batch := n.NewBatch(int64(images))
	which := make([]int, images)
	require.NoError(b, n.fill(batch, &bars{[]int64{3, 32, 32}, images, 1}, which, 0, nil))
	for b.Loop() {
		out, err := n.run(batch, softened{}, true, workers)
		require.NoError(b, err)
		out.done()
	}
	b.ReportMetric(float64(images*b.N)/b.Elapsed().Seconds(), "images/s")
}

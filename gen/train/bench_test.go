package train

import (
	"bytes"
	"os"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"rules_dnn/gen/ir"
)

// BenchmarkResNet20 is training steps of CIFAR-10's size.
func BenchmarkResNet20(b *testing.B) {
	model, err := os.ReadFile("../../app/resnet20_cifar10.onnx")
	require.NoError(b, err)
	n, err := New(&ir.File{R: bytes.NewReader(model), Size: int64(len(model))}, nil, nil)
	require.NoError(b, err)
	const images = 128
	batch := n.NewBatch(images)
	which := make([]int, images)
	require.NoError(b, n.fill(batch, &bars{[]int64{3, 32, 32}, images, 1}, which, 0, nil))
	for b.Loop() {
		out, err := n.run(batch, softened{}, true, runtime.GOMAXPROCS(0))
		require.NoError(b, err)
		out.done()
	}
	b.ReportMetric(float64(images*b.N)/b.Elapsed().Seconds(), "images/s")
}

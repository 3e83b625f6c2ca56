package main

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"rules_dnn/gen/onnx/onnxpb"
)

const memoryArgs = "DNNC_TEST_ARGS"

// peakMemory runs dnnc in a process of its own, which this test is once more, and gives the most memory that it had:
// that of its image, which it tells itself, since what a parent sees counts the memory of its own until then.
func peakMemory(t *testing.T, args ...string) int64 {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(self, "-test.run=^TestMemory$")
	cmd.Env = append(os.Environ(), memoryArgs+"="+strings.Join(args, "\n"))
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return highWater(t, string(out))
}

// highWater finds the most memory, in bytes, in the text of /proc/self/status.
func highWater(t *testing.T, status string) int64 {
	t.Helper()
	_, rest, found := strings.Cut(status, "VmHWM:")
	require.True(t, found, "%s", status)
	kilobytes := int64(0)
	_, err := fmt.Sscanf(rest, "%d kB", &kilobytes)
	require.NoError(t, err)
	return kilobytes << 10
}

// weightsIn is a constant in weights.bin.
func weightsIn(name string, at *int64, dims ...int64) *onnxpb.TensorProto {
	w := &onnxpb.TensorProto{Name: &name, Dims: dims, DataType: proto.Int32(int32(onnxpb.TensorProto_FLOAT)), DataLocation: onnxpb.TensorProto_EXTERNAL.Enum()}
	size := int64(4)
	for _, d := range dims {
		size *= d
	}
	for key, value := range map[string]string{"location": "weights.bin", "offset": fmt.Sprint(*at), "length": fmt.Sprint(size)} {
		w.ExternalData = append(w.ExternalData, &onnxpb.StringStringEntryProto{Key: proto.String(key), Value: proto.String(value)})
	}
	*at += size
	return w
}

// TestMemory: a model's weights are never held as a whole, whatever becomes of them: matrices in rows and in columns,
// windows that are transformed, a BatchNormalization that is folded.
func TestMemory(t *testing.T) {
	if args := os.Getenv(memoryArgs); args != "" {
		_, err := dnnc(strings.Split(args, "\n")...)
		require.NoError(t, err)
		status, err := os.ReadFile("/proc/self/status")
		require.NoError(t, err)
		fmt.Printf("%s", status)
		return
	}
	chip := factsFile(t, "x86_64_v3")
	t.Chdir(t.TempDir())
	const channels = 1024
	bytes := int64(0)
	m := with(hostileModel(floats("x", 1, channels, 14, 14),
		op("Conv", "x window", "c", "pads", []int64{1, 1, 1, 1}),
		op("BatchNormalization", "c scale shift mean var", "n"),
		op("GlobalAveragePool", "n", "p"),
		op("Flatten", "p", "f"),
		op("MatMul", "f columns", "h"),
		op("Gemm", "h rows", "y", "transB", 1)),
		weightsIn("window", &bytes, channels, channels, 3, 3), weightsIn("columns", &bytes, channels, 10*channels), weightsIn("rows", &bytes, channels, 10*channels),
		ones("scale", channels), ones("shift", channels), ones("mean", channels), ones("var", channels))
	require.NoError(t, os.WriteFile("model.onnx", marshal(t, m), 0o644))
	require.NoError(t, os.WriteFile("weights.bin", nil, 0o644))
	require.NoError(t, os.Truncate("weights.bin", bytes)) // zeros that take no place
	external := "--external=weights.bin=weights.bin"
	for name, args := range map[string][]string{"graph": graphArgs("model.onnx", external), "compile": compileArgs("model.onnx", chip, external)} {
		if name == "compile" {
			mustRun(t, graphArgs("model.onnx", external)...)
		}
		peak := peakMemory(t, args...)
		t.Logf("%s: %d MB for %d MB of weights", name, peak>>20, bytes>>20)
		if assert.Less(t, peak, bytes, name); name == "compile" {
			assert.Less(t, peak, bytes/2, "a piece of the transformed window, and no garbage beside it")
		}
	}
}

// TestMemoryOfFilters: of the filters that Winograd's algorithm makes of a convolution as wide as vgg16's, four times its weights, a few rows are held.
func TestMemoryOfFilters(t *testing.T) {
	chip := factsFile(t, "x86_64_v3")
	t.Chdir(t.TempDir())
	const channels, filters = 512, int64(36 * 512 * 512 * 4)
	bytes := int64(0)
	m := with(hostileModel(floats("x", 1, channels, 14, 14), op("Conv", "x window", "y", "pads", []int64{1, 1, 1, 1})),
		weightsIn("window", &bytes, channels, channels, 3, 3))
	require.NoError(t, os.WriteFile("model.onnx", marshal(t, m), 0o644))
	require.NoError(t, os.WriteFile("weights.bin", nil, 0o644))
	require.NoError(t, os.Truncate("weights.bin", bytes))
	external := "--external=weights.bin=weights.bin"
	mustRun(t, graphArgs("model.onnx", external)...)
	args := compileArgs("model.onnx", chip, external)
	without := peakMemory(t, append(args, "--disable=winograd")...)
	peak := peakMemory(t, args...)
	t.Logf("%d MB, without Winograd %d MB, of %d MB of filters", peak>>20, without>>20, filters>>20)
	written, err := os.Stat("net.weights")
	require.NoError(t, err)
	assert.GreaterOrEqual(t, written.Size(), filters, "weights are transformed")
	assert.Less(t, peak, without+filters/4, "garbage that is not collected yet besides")
}

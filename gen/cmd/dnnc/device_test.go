package main

import (
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const devices = repository + "/platforms/devices/"

// TestDevice: a chip that runs no host program is refused, and a device beside one is shown by dumps alone.
func TestDevice(t *testing.T) {
	chip, buffers, images := factsFile(t, "x86_64_v3"), absolute(t, devices+"opencl_buffers.json"), absolute(t, devices+"opencl_images.json")
	t.Chdir(t.TempDir())
	tiny(t, relu)
	mustRun(t, graphArgs("model.onnx")...)
	for _, c := range []struct {
		args []string
		want string
	}{
		{compileArgs("model.onnx", images), "opencl_images is a device, whose kernels are in the language opencl, and dnnc writes C++ for processors (kernels in cpp or hvx)"},
		{compileArgs("model.onnx", chip, "--device="+buffers), "which launch nothing on a device yet; dumps show what runs where: add --stop-after=plan --dump=plan"},
		{compileArgs("model.onnx", chip, "--device="+chip, "--stop-after=plan"), "want a device's facts, as those of platforms/devices: the facts of x86_64_v3 do not say how OpenCL kernels run"},
		{compileArgs("model.onnx", chip, "--device=model.onnx", "--stop-after=plan"), "want a device's facts"},
		{compileArgs("model.onnx", chip, "--device=nothing.json", "--stop-after=plan"), "nothing.json"},
	} {
		_, err := dnnc(c.args...)
		require.ErrorContains(t, err, c.want)
		assert.NoFileExists(t, "net.manifest.json")
		assert.NoDirExists(t, "kernels")
	}
	mustRun(t, compileArgs("model.onnx", images, "--stop-after=plan")...)
}

// TestDeviceDump: the host program of two targets as text.
func TestDeviceDump(t *testing.T) {
	src, chip, buffers := absolute(t, resnet), factsFile(t, "x86_64_v3"), absolute(t, devices+"opencl_buffers.json")
	t.Chdir(t.TempDir())
	mustRun(t, graphArgs(src, "--dim=N=1..64")...)
	mustRun(t, compileArgs(src, chip, "--device="+buffers, "--dump=select,plan", "--dump-dir=dumps", "--stop-after=plan")...)
	text, err := os.ReadFile("dumps/07-plan.txt")
	require.NoError(t, err)
	for _, want := range []string{"transfer host to device\n", "transfer device to host\n", ": launch Conv ", ", global (", " at device arena + ", " at device weights + ", "\ndevice arena "} {
		assert.Contains(t, string(text), want)
	}
	text, err = os.ReadFile("dumps/04-select.txt")
	require.NoError(t, err)
	assert.Contains(t, string(text), ": transfer: ")
	assert.Contains(t, string(text), "row-major on device")
}

package main

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/emit/manifest"
	"rules_dnn/gen/fusion/tuning"
)

const devices = repository + "/platforms/devices/"

// TestDevice: a chip that runs no host program is refused, and what does not go with a device beside one.
func TestDevice(t *testing.T) {
	chip, buffers, images := factsFile(t, "x86_64_v3"), absolute(t, devices+"opencl_buffers.json"), absolute(t, devices+"opencl_images.json")
	t.Chdir(t.TempDir())
	tiny(t, relu)
	mustRun(t, graphArgs("model.onnx")...)
	for _, c := range []struct {
		args []string
		want string
	}{
		{compileArgs("model.onnx", images), "opencl_images is a device with kernels in the language opencl; --chip needs a processor (kernels in cpp or hvx)"},
		{compileArgs("model.onnx", chip, "--device="+buffers), "--out-device-source is missing"},
		{compileArgs("model.onnx", chip, "--out-device-source=net.cl"), "there are no device kernels without --device"},
		{compileArgs("model.onnx", chip, "--device="+buffers, "--out-device-source=net.cl", "--variant="+chip, "--out-variant=more"), "a model with a device has kernels for only one chip"},
		{compileArgs("model.onnx", chip, "--device="+buffers, "--out-device-source=net.h"), "net.h"},
		{compileArgs("model.onnx", chip, "--device="+chip, "--stop-after=plan"), "want a device's facts, like those in platforms/devices: the facts of x86_64_v3 do not say how OpenCL kernels run"},
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

// TestDeviceTuning: candidates are the device's where it runs a block, its part of a record decides, and the same bytes come of the same record. One of
// another device is refused, but where candidates are asked for: nothing is known of them yet.
func TestDeviceTuning(t *testing.T) {
	chips := []string{factsFile(t, "x86_64_v3"), factsFile(t, "x86_64_v4")}
	chip, buffers, pocl := chips[0], absolute(t, devices+"opencl_buffers.json"), absolute(t, devices+"opencl_pocl.json")
	t.Chdir(t.TempDir())
	tiny(t, smallConv)
	mustRun(t, graphArgs("model.onnx")...)
	on := func(device string, more ...string) []string {
		return append([]string{"--device=" + device, "--out-device-source=net.cl", "--disable=processor"}, more...)
	}
	plain := compiled(t, chip, on(buffers)...)
	require.Len(t, plain.Device.Blocks, 1)
	assert.Empty(t, plain.Blocks)
	assert.Equal(t, "opencl_buffers", plain.Device.Name)
	assert.Nil(t, plain.Device.Blocks[0].Tuning)
	files := tree(t)
	first := compiled(t, chip, on(buffers, "--candidate=1")...).Device.Blocks[0].Tuning
	require.NotNil(t, first)
	require.Greater(t, len(first.Kernels), 2, first)
	assert.Equal(t, first.Kernels[0], first.Kernel)
	assert.Equal(t, files["net.cl"], tree(t)["net.cl"], "the first candidate is what estimates choose")
	second := compiled(t, chip, on(buffers, "--candidate=2")...).Device.Blocks[0].Tuning
	assert.Equal(t, first.Kernels[1], second.Kernel)
	assert.NotEqual(t, files["net.cl"], tree(t)["net.cl"])
	measured := tree(t)["net.cl"]

	r := &tuning.Record{}
	r.OnDevice("opencl_buffers").Set(first.Key, first.What, tuning.Kernel{Name: first.Kernels[0], Micros: 20, Rounds: 1})
	r.OnDevice("opencl_buffers").Set(first.Key, first.What, tuning.Kernel{Name: first.Kernels[1], Micros: 10, Rounds: 1})
	r.OnDevice("opencl_buffers").Set(first.Key, first.What, tuning.Kernel{Name: "removed", Micros: 5, Rounds: 1})
	require.NoError(t, os.WriteFile("net.tune.json", r.Text(), 0o666))
	note := mustRun(t, compileArgs("model.onnx", chip, on(buffers, "--tuning=net.tune.json")...)...)
	assert.Contains(t, note, "net.tune.json is stale, measure again: Conv f32[1 32 20 20]")
	assert.Contains(t, note, `no kernel is "removed"`)
	tuned := tree(t)
	assert.Equal(t, measured, tuned["net.cl"])
	m := compiled(t, chip, on(buffers, "--tuning=net.tune.json")...)
	assert.Equal(t, &manifest.Tuning{Key: first.Key, What: first.What, Kernel: first.Kernels[1], Micros: 10}, m.Device.Blocks[0].Tuning)
	assert.Equal(t, tuned, tree(t))

	_, err := dnnc(compileArgs("model.onnx", chip, on(pocl, "--tuning=net.tune.json")...)...)
	assert.ErrorContains(t, err, "net.tune.json: the tuning record has times of the device opencl_buffers, but the model is compiled for the device opencl_pocl: measure there too, which adds to the record, or use the record only for its devices (in Bazel: tuning = select(...), or device = the facts of opencl_buffers)")
	assert.NotNil(t, compiled(t, chip, on(pocl, "--tuning=net.tune.json", "--candidate=1")...).Device.Blocks[0].Tuning)
	for _, at := range chips {
		assert.Equal(t, first.Kernels[1], compiled(t, at, on(buffers, "--tuning=net.tune.json")...).Device.Blocks[0].Tuning.Kernel, "whichever the processor is")
	}
	_, err = dnnc(compileArgs("model.onnx", chip, "--tuning=none.json", "--device="+buffers, "--out-device-source=net.cl")...)
	assert.ErrorContains(t, err, "none.json: no such file")
}

// TestDeviceDump: the host program of two targets as text.
func TestDeviceDump(t *testing.T) {
	src, chip, buffers := absolute(t, resnet), factsFile(t, "x86_64_v3"), absolute(t, devices+"opencl_buffers.json")
	t.Chdir(t.TempDir())
	mustRun(t, graphArgs(src, "--dim=N=1..64")...)
	mustRun(t, compileArgs(src, chip, "--device="+buffers, "--dump=select,plan", "--dump-dir=dumps", "--stop-after=plan")...)
	text, err := os.ReadFile("dumps/09-plan.txt")
	require.NoError(t, err)
	for _, want := range []string{"transfer host to device\n", "transfer device to host\n", ": launch Conv ", ", global (", " at device arena + ", " at device weights + ", "\ndevice arena "} {
		assert.Contains(t, string(text), want)
	}
	text, err = os.ReadFile("dumps/06-select.txt")
	require.NoError(t, err)
	assert.Contains(t, string(text), ": transfer: ")
	assert.Contains(t, string(text), "row-major on device")
}

// TestDeviceSources: the host program launches what the file of kernels defines, which the sources hold as well; the same bytes each time, and
// none of it where the next run has no device.
func TestDeviceSources(t *testing.T) {
	src, chip, buffers := absolute(t, resnet), factsFile(t, "x86_64_v3"), absolute(t, devices+"opencl_buffers.json")
	t.Chdir(t.TempDir())
	mustRun(t, graphArgs(src, "--dim=N=1..64")...)
	args := compileArgs(src, chip, "--device="+buffers, "--out-device-source=net.cl")
	mustRun(t, args...)
	first := tree(t)
	mustRun(t, args...)
	assert.Equal(t, first, tree(t))
	cl, program, api, device := first["net.cl"], first["kernels/app_net_program.cc"], first["kernels/app_net_api.cc"], first["kernels/app_net_device.cc"]
	kernels := regexp.MustCompile(`__kernel void (k_[0-9a-f]+)\(`).FindAllStringSubmatch(cl, -1)
	require.NotEmpty(t, kernels)
	for _, k := range kernels {
		assert.Contains(t, api, `"`+k[1]+`",`)
		assert.Contains(t, device, k[1])
	}
	for _, want := range []string{"dnn_launch(c, 1, 0, args, ", "dnn_input_to_device(c, {dnn_kind::kArena, ", "dnn_from_device(c, reinterpret_cast<uint8_t*>(c->arena + "} {
		assert.Contains(t, program, want)
	}
	assert.Regexp(t, `const int64_t global\[\] = \{\d+ \* c->sym\[0\], `, program, "dimensions change launch sizes")
	assert.Contains(t, first["net.h"], "const char* platform;")
	var m manifest.Manifest
	require.NoError(t, json.Unmarshal([]byte(first["net.manifest.json"]), &m))
	assert.Len(t, m.Device.Blocks, strings.Count(program, "dnn_launch("))
	assert.Empty(t, m.Warnings, "the last Gemm is a small share of the network's operations")
	moves := regexp.MustCompile(`dnn_(to_device|from_device|input_to_device|device_to_output)\(`)
	assert.Len(t, moves.FindAllString(program, -1), m.Device.Transfers)
	assert.Contains(t, api, "kHostInputs[] = {0}", "transfers alone touch the input, so that it may lie in the device's memory")
	assert.Contains(t, api, "kHostOutputs[] = {1}", "the last Gemm runs on the processor")
	assert.Contains(t, first["net.h"], "app_net_status app_net_start(")
	for _, b := range m.Device.Blocks {
		assert.Contains(t, cl, "__kernel void "+b.Kernel+"(")
		assert.Contains(t, b.Results[0].Place, "device ")
	}
	mustRun(t, compileArgs(src, chip)...)
	assert.NoFileExists(t, "kernels/app_net_device.cc")
}

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/emit/manifest"
	"rules_dnn/gen/fusion/tuning"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/onnx"
	"rules_dnn/tools/check"
)

// TestTuneOnDevice measures kernels of two products on the machine's OpenCL device, in turns as
// NAME.tune does; compiled by the record, each has the kernel that is the fastest there, and
// answers as the interpreter does. A record of another device is refused.
func TestTuneOnDevice(t *testing.T) {
	if _, err := findCxx(&options{}); err != nil {
		t.Skip(err)
	}
	dnnc := ofTests(t)
	t.Setenv("POCL_CACHE_DIR", t.TempDir()) // PoCL keeps what it compiled
	atRoot(t)
	path := filepath.Join(t.TempDir(), "net.tune.json")
	args := []string{products(t), "--disable=processor", "--reference=interpreter", "--dnnc=" + dnnc}
	on := func(device string, more ...string) *options {
		o, err := parse(append(append(more, "--device=platforms/devices/"+device+".json"), args...))
		require.NoError(t, err)
		return o
	}
	o := on("opencl_pocl", "--tune="+path, "--candidates=2", "--rounds=1", "--seconds=0")
	o.runtime = t.TempDir()
	var log strings.Builder
	if err := tune(o, &log); err != nil && strings.Contains(err.Error(), "no OpenCL ") {
		t.Skip("no OpenCL on this machine: install pocl-opencl-icd and ocl-icd-libopencl1 (Debian), or run this in `./bazelw exec`")
	} else {
		require.NoError(t, err)
	}
	assert.Contains(t, log.String(), "round 1 of 1, candidates 2 of 2: ")
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	r, err := tuning.Parse(data)
	require.NoError(t, err)
	d := r.OnDevice("opencl_pocl")
	require.Len(t, d.Blocks, 2, "%s", data)
	for _, b := range d.Blocks {
		require.Len(t, b.Kernels, 2, b.What)
		for _, k := range b.Kernels {
			assert.Positive(t, k.Micros, k.Name)
			assert.Equal(t, 1, k.Rounds)
		}
	}

	// Each kernel in turn is the fastest: estimates choose one of them.
	for fastest := range 2 {
		for _, b := range d.Blocks {
			b.Kernels[fastest].Micros, b.Kernels[1-fastest].Micros = 1, 1000
		}
		require.NoError(t, os.WriteFile(path, r.Text(), 0o666))
		one := on("opencl_pocl", "--tuning="+path, fmt.Sprintf("--keep=%s/%d", t.TempDir(), fastest))
		one.runtime = o.runtime
		_, err := compare(one, io.Discard)
		require.NoError(t, err)
		var m manifest.Manifest
		text, err := os.ReadFile(filepath.Join(one.keep, "model.manifest.json"))
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(text, &m))
		require.Len(t, m.Device.Blocks, 2)
		for _, b := range m.Device.Blocks {
			require.NotNil(t, b.Tuning)
			assert.Equal(t, 1.0, b.Tuning.Micros, b.Tuning.What)
			assert.Equal(t, 1.0, d.Get(b.Tuning.Key, b.Tuning.Kernel).Micros, b.Tuning.What)
		}
	}
	_, err = compare(on("opencl_buffers", "--tuning="+path), io.Discard)
	assert.ErrorContains(t, err, "the tuning record has times of the device opencl_pocl, but the model is compiled for the device opencl_buffers")
}

// products writes y = max(x * v, 0) * w, of shapes that tiles of several sizes compute.
func products(t *testing.T) string {
	value := func(name string, dims ...int64) *ir.Value {
		return &ir.Value{Name: name, Type: ir.F32, Shape: ir.Dims(dims...), HasShape: true}
	}
	x, p, q, y := value("x", 64, 48), value("p", 64, 96), value("q", 64, 96), value("y", 64, 32)
	node := func(op string, version int, result *ir.Value, inputs ...*ir.Value) *ir.Node {
		result.Def = &ir.Node{Op: op, Version: version, Name: result.Name, Inputs: inputs, Outputs: []*ir.Value{result}, Attrs: ir.Attrs{}}
		return result.Def
	}
	g := &ir.Graph{Name: "g", Opset: 17, Inputs: []*ir.Value{x}, Outputs: []*ir.Value{y}, Nodes: []*ir.Node{
		node("MatMul", 13, p, x, ir.ConstValue("v", check.Input(ir.F32, []int64{48, 96}, 1, 1))),
		node("Relu", 14, q, p),
		node("MatMul", 13, y, q, ir.ConstValue("w", check.Input(ir.F32, []int64{96, 32}, 2, 1)))}}
	path := filepath.Join(t.TempDir(), "products.onnx")
	f, err := os.Create(path)
	require.NoError(t, err)
	require.NoError(t, onnx.Write(f, g))
	require.NoError(t, f.Close())
	return path
}

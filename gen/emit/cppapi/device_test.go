package cppapi

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/ir/sym"
)

// onDevice is a model with everything that a device may have.
func onDevice() *Model {
	m := fake()
	n, h := sym.Var("batch size"), sym.Var("H")
	m.Device = &Device{HostInputs: make([]bool, len(m.Inputs)), HostOutputs: make([]bool, len(m.Outputs)), Source: "__kernel void k(void) {}\n// \"quoted\" \\ ??/ */", Kernels: []string{"k_1", "k_2"}, Needs: []string{"cl_khr_fp64"}, IndexBytes: 4, GroupItems: 64,
		Arena: sym.Mul(n, h), Scratch: sym.Const(128), Workers: 512, WeightsAt: 0, WeightsBytes: 16, Images: []Image{{sym.Scale(n, 2), h}}, Flags: []string{"Gather \"pick\""}}
	return m
}

// TestDevice: what is printed of a device compiles as C++, its header as C, too, with variants and without, and of a device
// without any kernel.
func TestDevice(t *testing.T) {
	if _, err := exec.LookPath("g++"); err != nil {
		t.Skip("no g++ on this machine")
	}
	variants, nothing := onDevice(), onDevice()
	variants.Variants = []Variant{{Name: "a", Prefix: "app_fake"}, {Name: "b", Prefix: "app_fake_b"}}
	nothing.Device = &Device{HostInputs: nothing.Device.HostInputs, HostOutputs: nothing.Device.HostOutputs, IndexBytes: 4, Arena: sym.Const(0), Scratch: sym.Const(0), Source: "\n"}
	for _, m := range []*Model{onDevice(), variants, nothing} {
		p := &project{t: t, dir: t.TempDir()}
		f, err := Print(m)
		require.NoError(t, err)
		p.write(m.HeaderName(), f.Header)
		p.write(m.InternalName(), f.Internal)
		p.write(m.SourceName(), f.Source)
		p.write(m.DeviceName(), f.Device)
		p.write(m.ProfileName(), f.Profile)
		for _, file := range []string{m.SourceName(), m.DeviceName(), m.ProfileName()} {
			p.run("g++", append(append([]string{}, strict...), "-std=c++17", "-fsyntax-only", "-fno-exceptions", "-I"+root, "-I"+p.dir, filepath.Join(p.dir, file))...)
		}
		p.write("one.c", "#include \""+m.HeaderName()+"\"\n")
		p.run("gcc", append(append([]string{}, strict...), "-std=c99", "-fsyntax-only", "-I"+p.dir, filepath.Join(p.dir, "one.c"))...)
		assert.Contains(t, f.Header, "app_fake_BUILD_FAILED = 22,")
		assert.Contains(t, f.Profile, "rules_dnn::opencl::MeasurePeaks,")
	}
	f, err := Print(fake())
	require.NoError(t, err)
	assert.NotContains(t, f.Header, "BUILD_FAILED", "only a model on a device has its statuses")
	assert.Empty(t, f.Device)
}

// TestDeviceRefused: constants of the device that are not there, and sizes of symbols that nobody gives.
func TestDeviceRefused(t *testing.T) {
	m := onDevice()
	m.Device.WeightsAt = 8
	_, err := Print(m)
	assert.ErrorContains(t, err, "the device's constants, 16 bytes at 8, are not within the weights of 16 bytes")
	m = onDevice()
	m.Device.Images[0].Width = sym.Var("unknown")
	_, err = Print(m)
	assert.ErrorContains(t, err, `on the device: the size unknown depends on "unknown"`)
}

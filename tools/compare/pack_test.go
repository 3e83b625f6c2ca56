package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestPack: what --pack writes runs where there is no Go and no repository.
func TestPack(t *testing.T) {
	cxx, err := findCxx(&options{})
	if err != nil {
		t.Skip(err)
	}
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("there is no go to build the command with")
	}
	if _, err := os.Stat("../../go.mod"); err != nil {
		t.Skip("there are no sources to build it of, as under Bazel")
	}
	atRoot(t)
	folder, net := t.TempDir(), network(t)
	require.NoError(t, pack(&options{pack: folder}))
	compiler, err := exec.LookPath(cxx[0])
	require.NoError(t, err)
	// A device's program has all that is packed of the runtime; of this network estimates leave
	// nothing to the device, but the program wants OpenCL's library.
	there := exec.Command(filepath.Join(folder, "bin", "compare"), net, "--dims=N=4", "--dnnc=bin/dnnc", "--cxx="+compiler, "--reference=interpreter",
		"--device=platforms/devices/opencl_nvidia.json")
	there.Dir, there.Env = folder, []string{"PATH=/usr/bin:/bin", "TMPDIR=" + t.TempDir()}
	out, err := there.CombinedOutput()
	assert.Contains(t, string(out), "0 blocks on the device, of 0 kernels, and 1 on the processor\n")
	if !strings.Contains(string(out), "no OpenCL library is on this machine") {
		require.NoError(t, err, "%s", out)
		assert.Contains(t, string(out), "output  y f32[4 3]: ")
	}
	assert.FileExists(t, filepath.Join(folder, "opencl.py"))

	t.Chdir(t.TempDir())
	require.ErrorContains(t, pack(&options{pack: t.TempDir()}), "run this command from the repository's root")
}

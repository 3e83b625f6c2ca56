package cppapi

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// remote is a stub with weights in the library or in a file.
func remote(mode Mode) *Model {
	m := fake()
	m.Weights.Mode = mode
	m.Remote = &Remote{Identity: Identity{Graph: [32]byte{1, 2}, Weights: [32]byte{3}}, Versions: []string{"v68", "v73"}}
	return m
}

// TestRemote: what is printed of a stub and of a skeleton compiles as C++, their headers as C, too.
func TestRemote(t *testing.T) {
	if _, err := exec.LookPath("g++"); err != nil {
		t.Skip("no g++ on this machine")
	}
	skeleton := fake()
	skeleton.Skeleton = &remote(Embed).Remote.Identity
	for _, m := range []*Model{remote(Embed), remote(File), skeleton} {
		p := &project{t: t, dir: t.TempDir()}
		f, err := Print(m)
		require.NoError(t, err)
		p.write(m.HeaderName(), f.Header)
		p.write(m.InternalName(), f.Internal)
		files := map[string]string{m.SourceName(): f.Source, "use.cc": "#include \"" + m.HeaderName() + "\"\nvoid use();\nvoid use() { app::fake::Model m; (void)m; }\n"}
		if m.Skeleton != nil {
			files[m.SkeletonName()] = f.Skeleton
			assert.NotContains(t, f.Header, "signed_process", "a skeleton runs where it is")
			assert.Contains(t, f.Skeleton, "kGraph[32] = { 0x01, 0x02, 0x00,")
		} else {
			assert.Empty(t, f.Skeleton)
			assert.Contains(t, f.Header, "It applies only if the processor runs the model: the DSP computes with denormal numbers.")
			assert.Contains(t, f.Header, "app_fake_FOREIGN_SKELETON = 30,")
			assert.Contains(t, f.Header, "libapp_fake_v68_skel.so, libapp_fake_v73_skel.so")
			assert.Contains(t, f.Source, `kTargets[] = {"v68", "v73"};`)
		}
		for name, text := range files {
			p.write(name, text)
			p.run("g++", append(append([]string{}, strict...), "-std=c++17", "-fsyntax-only", "-fno-exceptions", "-I"+root, "-I"+p.dir, filepath.Join(p.dir, name))...)
		}
		p.write("one.c", "#include \""+m.HeaderName()+"\"\n")
		p.run("gcc", append(append([]string{}, strict...), "-std=c99", "-fsyntax-only", "-I"+p.dir, filepath.Join(p.dir, "one.c"))...)
	}
}

// TestBare checks the comments that only the header of a DSP's own library has.
func TestBare(t *testing.T) {
	m := fake()
	m.Bare = true
	f, err := Print(m)
	require.NoError(t, err)
	for _, said := range []string{"The library starts no threads", "the DSP always computes with denormal numbers (below 2^-126 for f32).\n  int32_t keep_denormals;"} {
		assert.Contains(t, f.Header, said)
	}
	assert.NotContains(t, f.Header, "0: treat them as zeros")
}

// TestRemoteRefused: what a call, or a library on the DSP, has no place for.
func TestRemoteRefused(t *testing.T) {
	for want, change := range map[string]func(*Model){
		"254 inputs or outputs; a call of FastRPC supports 253": func(m *Model) {
			for len(m.Inputs) < 254 {
				m.Inputs = append(m.Inputs, m.Inputs[1])
			}
		},
		"a stub cannot have an OpenCL device":                                           func(m *Model) { m.Device = onDevice().Device },
		"a stub without skeletons":                                                      func(m *Model) { m.Remote.Versions = nil },
		`the version "68" of Hexagon; want v and two digits, such as v68`:               func(m *Model) { m.Remote.Versions[0] = "68" },
		"the versions v68, v68 of Hexagon; want each once, in ascending order":          func(m *Model) { m.Remote.Versions[1] = "v68" },
		"a skeleton needs its weights and one chip, and cannot have a device or a stub": func(m *Model) { m.Skeleton = &m.Remote.Identity },
	} {
		m := remote(Embed)
		change(m)
		_, err := Print(m)
		assert.ErrorContains(t, err, want)
	}
}

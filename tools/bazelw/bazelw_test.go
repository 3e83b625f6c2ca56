// Package bazelw tests the script bazelw: how it chooses a Bazel, and what it says when it cannot.
package bazelw

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const (
	// A Bazel that reaches the registry; it prints its arguments.
	reaching = "#!/bin/sh\n[ \"$*\" = --version ] && echo 'bazel 8.1.0' && exit\necho \"ran: $*\"\n"
	// A Bazel that answers nothing but its version.
	isolated = "#!/bin/sh\n[ \"$*\" = --version ] && echo 'bazel 7.7.1'\n"
	old      = "#!/bin/sh\necho 'bazel 7.6.2'\n"
)

// What bazelw itself runs. The PATH of a test has nothing else: no Bazel of this machine.
const utilities = "apt-config apt-get awk cat chmod cut df dirname flock grep head mkdir mktemp mv readlink rm " +
	"sed sh sha256sum tail timeout tr uname unshare wc"

// machine is where one run of bazelw takes place.
type machine struct {
	t     *testing.T
	bin   string // the only folder of PATH
	cache string
}

func newMachine(t *testing.T, programs map[string]string) *machine {
	m := &machine{t: t, bin: t.TempDir(), cache: t.TempDir()}
	for _, name := range strings.Fields(utilities) {
		if path, err := exec.LookPath(name); err == nil {
			require.NoError(t, os.Symlink(path, filepath.Join(m.bin, name)))
		}
	}
	for name, text := range programs {
		require.NoError(t, os.WriteFile(filepath.Join(m.bin, name), []byte(text), 0o755))
	}
	return m
}

// run starts bazelw and returns what it prints, and whether it succeeds.
func (m *machine) run(environment []string, args ...string) (string, bool) {
	script, err := filepath.Abs("../../bazelw")
	require.NoError(m.t, err)
	cmd := exec.Command(script, args...)
	cmd.Dir = m.t.TempDir()
	cmd.Env = append([]string{
		"PATH=" + m.bin,
		"XDG_CACHE_HOME=" + m.cache,
		// These tests may run in a root of bazelw's own.
		"BAZELW_INSIDE_MARKER=" + filepath.Join(m.bin, "none"),
	}, environment...)
	out, err := cmd.CombinedOutput()
	return string(out), err == nil
}

func TestChoice(t *testing.T) {
	for _, c := range []struct {
		name     string
		programs map[string]string
		want     string
	}{
		{"none", nil, "offline (no bazel or bazelisk is on PATH)"},
		{"reaches", map[string]string{"bazel": reaching}, "bazel reaches the public module registry)"},
		{"bazelisk", map[string]string{"bazelisk": reaching}, "bazelisk reaches the public module registry)"},
		{"isolated", map[string]string{"bazel": isolated}, "bazel does not reach the public module registry)"},
		{"old", map[string]string{"bazel": old}, "bazel is 7.6.2, older than 7.7)"},
		{"old, bazelisk", map[string]string{"bazel": old, "bazelisk": reaching}, "bazelisk reaches the public module registry)"},
		{"broken", map[string]string{"bazel": "#!/bin/sh\nexit 1\n"}, "bazel --version gives no version)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			out, ok := newMachine(t, c.programs).run(nil, "doctor")
			assert.True(t, ok)
			assert.Contains(t, out, c.want)
		})
	}
}

func TestSystemBazelRunsWithSharedCaches(t *testing.T) {
	m := newMachine(t, map[string]string{"bazel": reaching})
	out, ok := m.run(nil, "build", "//a b", "--x=*")
	require.True(t, ok, out)
	_, line, found := strings.Cut(out, "ran: --bazelrc=")
	require.True(t, found, out)
	bazelrc, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
	assert.Equal(t, "build //a b --x=*", rest)
	text, err := os.ReadFile(bazelrc)
	require.NoError(t, err)
	assert.Contains(t, string(text), "--disk_cache="+m.cache+"/rules_dnn/")
	assert.Contains(t, string(text), "--repository_cache="+m.cache+"/rules_dnn/")
	assert.NotContains(t, string(text), "override_module")
}

func TestRegistryIsAskedOnce(t *testing.T) {
	m := newMachine(t, map[string]string{"bazel": reaching})
	first, _ := m.run(nil, "version")
	second, _ := m.run(nil, "version")
	assert.Contains(t, first, "asking")
	assert.NotContains(t, second, "asking")
}

func TestGivenBazelIsNotQuestioned(t *testing.T) {
	m := newMachine(t, map[string]string{"mine": "#!/bin/sh\necho \"mine: $2\"\n"})
	out, ok := m.run([]string{"BAZEL=" + filepath.Join(m.bin, "mine")}, "build")
	require.True(t, ok, out)
	assert.Equal(t, "mine: build\n", out)
}

func TestErrorsSayWhatToDo(t *testing.T) {
	for _, c := range []struct {
		name        string
		environment []string
		args        []string
		want, cure  string
	}{
		{"no such root", []string{"BAZELW_ROOT=/nowhere"}, []string{"build"}, "/nowhere is not a root made by bazelw", "unset BAZELW_ROOT"},
		{"nothing to run", []string{"BAZEL=true"}, []string{"exec"}, "exec needs a command", "for example"},
		{"no home", []string{"XDG_CACHE_HOME="}, []string{"doctor"}, "neither HOME nor XDG_CACHE_HOME is set", "set one of them"},
	} {
		t.Run(c.name, func(t *testing.T) {
			out, ok := newMachine(t, nil).run(c.environment, c.args...)
			assert.False(t, ok)
			assert.Contains(t, out, "bazelw: error: "+c.want)
			assert.Contains(t, out, c.cure)
		})
	}
}

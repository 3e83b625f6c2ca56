// Package bazelw tests the script bazelw: how it chooses a Bazel, and what it says when it cannot.
package bazelw

import (
	"os"
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
		{"broken", map[string]string{"bazel": "#!/bin/sh\nexit 1\n"}, "bazel --version prints no version)"},
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
		{"no home", []string{"XDG_CACHE_HOME=here"}, []string{"doctor"}, "neither HOME nor XDG_CACHE_HOME is an absolute path", "set one of them"},
	} {
		t.Run(c.name, func(t *testing.T) {
			out, ok := newMachine(t, nil).run(c.environment, c.args...)
			assert.False(t, ok)
			assert.Contains(t, out, "bazelw: error: "+c.want)
			assert.Contains(t, out, c.cure)
		})
	}
}

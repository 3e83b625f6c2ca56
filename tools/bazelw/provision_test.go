package bazelw

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestProvision(t *testing.T) {
	m := newMachine(t, debian)
	steps := m.steps()
	out, ok := m.run(nil, "build", "//a b")
	require.True(t, ok, out)
	assert.Contains(t, out, "2/3 unpacking 2 packages")
	assert.Contains(t, out, "in the root: bazel --bazelrc=")
	assert.Contains(t, out, " build //a b\n")
	m.requireWhole()

	downloads := called(t, steps, "dpkg-deb")
	out, ok = m.run(nil, "exec", "clang", "a b")
	require.True(t, ok, out)
	assert.Equal(t, "in the root: clang a b\n", out, "a set-up that is there needs no word")
	assert.Equal(t, downloads, called(t, steps, "dpkg-deb"), "unpacked again")
}

// Wherever the power fails, the next run sets up all.
func TestInterruption(t *testing.T) {
	whole := newMachine(t, debian)
	steps := whole.steps()
	out, ok := whole.run(nil, "build")
	require.True(t, ok, out)
	last := called(t, steps, "")
	require.Greater(t, last, 30)
	for at := 1; at <= last; at++ {
		t.Run(fmt.Sprint(at), func(t *testing.T) {
			t.Parallel()
			m := newMachine(t, debian)
			m.steps()
			_, ok := m.run([]string{fmt.Sprintf("KILL_AT=%d", at)}, "build")
			require.False(t, ok, "nothing was interrupted")
			out, ok := m.run(nil, "build")
			require.True(t, ok, out)
			m.requireWhole()
		})
	}
}

// Of two that start at once, one sets up, and the other waits and then runs.
func TestTwoAtOnce(t *testing.T) {
	m := newMachine(t, debian)
	started, proceed := filepath.Join(m.cache, "started"), filepath.Join(m.cache, "proceed")
	m.install("apt-get", strings.Replace(debian["apt-get"], "*install*)",
		fmt.Sprintf("*install*)\n: >%q\nwhile [ ! -e %q ]; do sleep 0.05; done\n", started, proceed), 1))
	steps := m.steps()

	first, second := m.command(nil, "build", "1"), m.command(nil, "build", "2")
	said := map[*exec.Cmd]*os.File{}
	for _, cmd := range []*exec.Cmd{first, second} {
		file, err := os.Create(filepath.Join(m.t.TempDir(), "out"))
		require.NoError(t, err)
		defer file.Close()
		cmd.Stdout, cmd.Stderr = file, file
		said[cmd] = file
	}
	text := func(cmd *exec.Cmd) string {
		out, err := os.ReadFile(said[cmd].Name())
		require.NoError(t, err)
		return string(out)
	}
	require.NoError(t, first.Start())
	require.Eventually(t, func() bool { _, err := os.Stat(started); return err == nil }, time.Minute, 10*time.Millisecond)
	require.NoError(t, second.Start())
	require.Eventually(t, func() bool { return strings.Contains(text(second), "waiting for another bazelw") }, time.Minute, 10*time.Millisecond)
	require.NoError(t, os.WriteFile(proceed, nil, 0o644))
	require.NoError(t, first.Wait(), text(first))
	require.NoError(t, second.Wait(), text(second))

	assert.Contains(t, text(first), "setting up Bazel")
	assert.NotContains(t, text(second), "setting up Bazel")
	assert.Contains(t, text(second), " build 2\n")
	assert.Equal(t, 2, called(t, steps, "dpkg-deb"), "packages that were unpacked")
	require.NoError(t, os.Remove(started))
	require.NoError(t, os.Remove(proceed))
	m.requireWhole()
}

// A root that was made on one machine serves another that has no Debian packages.
func TestPreparedRoot(t *testing.T) {
	m := newMachine(t, debian)
	out, ok := m.run(nil, "build")
	require.True(t, ok, out)
	roots, err := filepath.Glob(filepath.Join(m.cache, "rules_dnn", "root-*"))
	require.NoError(t, err)
	require.Len(t, roots, 1)

	other := newMachine(t, debian)
	other.install("apt-get", "")
	other.install("dpkg-deb", "")
	cmd := other.command([]string{"BAZELW_ROOT=" + filepath.Base(roots[0])}, "build", "//x")
	cmd.Dir = filepath.Dir(roots[0])
	text, err := cmd.CombinedOutput()
	out = string(text)
	require.NoError(t, err, out)
	assert.Contains(t, out, "in the root: bazel")
	assert.Equal(t, []string{"bazelrc", "lock", "modules"}, other.made())

	out, ok = other.run([]string{"BAZELW_ROOT=" + roots[0]}, "doctor")
	require.True(t, ok, out)
	assert.Contains(t, out, "prepared ($BAZELW_ROOT is set)")
	assert.Contains(t, out, roots[0]+", 2 packages")
}

// What a set-up says when it cannot go on; none leaves something that the next run would take for
// whole.
func TestProvisionErrors(t *testing.T) {
	for _, c := range []struct {
		name        string
		programs    map[string]string // instead of debian's; no text: not there
		environment []string
		want, cure  string
	}{
		{
			name:     "no namespaces",
			programs: map[string]string{"unshare": "#!/bin/sh\nexit 1\n"},
			want:     "does not let you make mount namespaces",
			cure:     "kernel.unprivileged_userns_clone=1",
		},
		{
			name:        "small disk",
			environment: []string{"FREE_KIB=1048576"},
			want:        "has 1024 MiB free, the offline set-up needs 4200 MiB",
			cure:        "set XDG_CACHE_HOME to a folder on a larger disk",
		},
		{
			name:        "no mirror",
			environment: []string{"UPDATE=100"},
			want:        "no Debian mirror returned the lists of trixie and sid (tried: http://mirror.example/debian",
			cure:        "Set BAZELW_MIRROR to use another mirror",
		},
		{
			name:     "no sources",
			programs: map[string]string{"apt-get": "#!/bin/sh\n"},
			want:     "no Debian mirror is in this machine's apt sources",
			cure:     "set BAZELW_MIRROR",
		},
		{
			name:     "packages do not arrive",
			programs: map[string]string{"apt-get": strings.Replace(debian["apt-get"], "*install*)", "*install*) exit 100", 1)},
			want:     "Debian's packages could not be downloaded",
			cure:     "run bazelw again",
		},
		{
			name:     "broken package",
			programs: map[string]string{"dpkg-deb": "#!/bin/sh\nexit 2\n"},
			want:     "cannot unpack bazel-bootstrap_7.7.1_amd64.deb",
			cure:     "run bazelw again: it is downloaded anew",
		},
		{
			name: "disk fills up",
			programs: map[string]string{
				"dpkg-deb": "#!/bin/sh\nexit 2\n",
				"df":       "#!/bin/sh\n[ ! -e \"$2/root.partial\" ] || FREE_KIB=5000\n" + strings.TrimPrefix(debian["df"], "#!/bin/sh\n"),
			},
			want: "the disk is full: ",
			cure: "free 4200 MiB, or set XDG_CACHE_HOME",
		},
		{
			name:     "no Debian",
			programs: map[string]string{"dpkg-deb": ""},
			want:     "this machine has no dpkg-deb",
			cure:     "set BAZELW_ROOT to a root prepared on another",
		},
		{
			name:     "no module proxy",
			programs: map[string]string{"go": "#!/bin/sh\n"},
			want:     "the Go module proxy did not return github.com/bazelbuild/rules_go",
			cure:     "go env GOPROXY",
		},
		{
			name:     "root does not run",
			programs: map[string]string{"unshare": strings.Replace(debian["unshare"], "shift 5", "shift 5; [ \"$1\" = clang ] && echo 'no library x' && exit 1", 1)},
			want:     "clang --version does not run in the new root",
			cure:     "no library x",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newMachine(t, debian)
			for name, program := range c.programs {
				m.install(name, program)
			}
			out, ok := m.run(c.environment, "build")
			require.False(t, ok, out)
			assert.Contains(t, out, "bazelw: error: ")
			assert.Contains(t, out, c.want)
			assert.Contains(t, out, c.cure)
			for name, program := range debian {
				m.install(name, program)
			}
			out, ok = m.run(nil, "build")
			require.True(t, ok, out)
			m.requireWhole()
		})
	}
}

// A Go that Debian installed would be covered by the root's own /usr.
func TestHiddenGo(t *testing.T) {
	m := newMachine(t, debian)
	m.install("go", "")
	require.NoError(t, os.Symlink("/usr/bin/env", filepath.Join(m.bin, "go")))
	out, ok := m.run(nil, "build")
	require.False(t, ok, out)
	assert.Contains(t, out, "is hidden by the offline set-up's own /usr")
	assert.Contains(t, out, "install Go 1.24 or newer under /usr/local/go")
}

// The doctor asks Bazel's own sandbox, where Bazel would run it.
func TestDoctorOnSandbox(t *testing.T) {
	m := newMachine(t, debian)
	out, ok := m.run(nil, "doctor")
	require.True(t, ok, out)
	assert.Contains(t, out, "not there yet: the next command makes it from http://mirror.example/debian")
	assert.Contains(t, out, "not known until the root is there")
	out, ok = m.run(nil, "build")
	require.True(t, ok, out)
	out, _ = m.run(nil, "doctor")
	assert.Contains(t, out, "linux-sandbox is active")
	m.install("unshare", strings.Replace(debian["unshare"], "shift 5", "shift 5; [ \"$1\" != /usr/share/bazel/linux-sandbox ] || exit 1", 1))
	out, _ = m.run(nil, "doctor")
	assert.Contains(t, out, "linux-sandbox is NOT active")
	m.install("unshare", "#!/bin/sh\nexit 1\n")
	out, _ = m.run(nil, "doctor")
	assert.Contains(t, out, "NOT allowed here: Bazel cannot run in the root")
}

package bazelw

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// utilities are the programs that bazelw itself runs. The PATH of a test has no others, in
// particular no Bazel of this machine.
const utilities = "apt-config apt-get awk basename cat chmod cp cut df dirname dpkg-deb env find flock grep head ln " +
	"mkdir mktemp mv readlink rm sed sh sha256sum sleep sort tail tar timeout touch tr uname unshare wc"

// machine is the environment of a run of bazelw.
type machine struct {
	t     *testing.T
	bin   string // the only folder of PATH
	cache string // XDG_CACHE_HOME
}

// newMachine creates a machine with the utilities; programs replace utilities of the same name.
func newMachine(t *testing.T, programs map[string]string) *machine {
	m := &machine{t: t, bin: t.TempDir(), cache: t.TempDir()}
	for _, name := range strings.Fields(utilities) {
		if path, err := exec.LookPath(name); err == nil {
			require.NoError(t, os.Symlink(path, filepath.Join(m.bin, name)))
		}
	}
	for name, text := range programs {
		m.install(name, text)
	}
	return m
}

// install adds a program, or removes it if the text is empty.
func (m *machine) install(name, text string) {
	path := filepath.Join(m.bin, name)
	if err := os.Remove(path); err != nil {
		require.ErrorIs(m.t, err, os.ErrNotExist)
	}
	if text != "" {
		require.NoError(m.t, os.WriteFile(path, []byte(text), 0o755))
	}
}

// command prepares a run of bazelw in a separate process group.
func (m *machine) command(environment []string, args ...string) *exec.Cmd {
	script, err := filepath.Abs("../../bazelw")
	require.NoError(m.t, err)
	cmd := exec.Command(script, args...)
	cmd.Dir = m.t.TempDir()
	cmd.Env = append([]string{
		"PATH=" + m.bin,
		"XDG_CACHE_HOME=" + m.cache,
		"TMPDIR=" + m.t.TempDir(),
		// These tests may themselves run in a root of bazelw.
		"BAZELW_INSIDE_MARKER=" + filepath.Join(m.bin, "none"),
	}, environment...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return cmd
}

// run runs bazelw and returns its output and whether it succeeds.
func (m *machine) run(environment []string, args ...string) (string, bool) {
	out, err := m.command(environment, args...).CombinedOutput()
	return string(out), err == nil
}

// made lists the kinds of entries in bazelw's cache, sorted.
func (m *machine) made() []string {
	entries, err := os.ReadDir(filepath.Join(m.cache, "rules_dnn"))
	require.NoError(m.t, err)
	var names []string
	for _, entry := range entries {
		kind, _, _ := strings.Cut(entry.Name(), "-")
		names = append(names, kind)
	}
	return slices.Compact(names) // an interruption may leave an incomplete bazelrc under another name
}

// debian has the programs of a machine on which an offline set-up is possible and fast: two
// packages, no network, no namespaces.
var debian = map[string]string{
	// All files that apt needs are in the folder of its configuration.
	"apt-get": `#!/bin/sh
case "$*" in
  indextargets*) echo 'http://mirror.example/debian trixie main' ;;
  *update) exit ${UPDATE-0} ;;
  *install*)
    archives=$(dirname "$APT_CONFIG")/cache/archives
    for package in ${PACKAGES-bazel-bootstrap_7.7.1_amd64 clang_19_amd64}; do
      echo "$package" >"$archives/$package.deb"
    done ;;
esac
`,
	"apt-config": "#!/bin/sh\n",
	// Each package contains one program of its name, and Java's.
	"dpkg-deb": `#!/bin/sh
made=$(mktemp -d)
mkdir -p "$made/usr/bin" "$made/usr/lib/jvm/java-21-openjdk-amd64/bin" "$made/etc"
basename "$2" >"$made/usr/bin/$(basename "$2" .deb)"
: >"$made/usr/lib/jvm/java-21-openjdk-amd64/bin/java"
tar -c -C "$made" etc usr
rm -rf "$made"
`,
	// Rule sets from the module proxy, with the parts of rules_go that bazelw changes.
	"go": `#!/bin/sh
case "$*" in
  "mod download -json "*)
    dir=$(mktemp -d)
    mkdir -p "$dir/go/private"
    printf 'go_sdk.from_file(\n    name = "x",\n)\n' >"$dir/MODULE.bazel"
    printf 'in enumerate(module.tags.host)\nif not module.is_root:\nfail(x)\n' >"$dir/go/private/extensions.bzl"
    printf '{\n\t"Dir": "%s",\n}\n' "$dir" ;;
  "mod vendor -e") mkdir vendor ;;
  "env GOPROXY") echo https://proxy.example ;;
esac
`,
	// Prints the command that would run in the namespace.
	"unshare": `#!/bin/sh
while [ "$1" != true ] && [ "$1" != sh ]; do shift; done
[ "$1" = true ] && exit
shift 5
echo "in the root: $*"
`,
	"df": "#!/bin/sh\nprintf 'Filesystem\\ndisk 9 9 %s 9%% /\\n' \"${FREE_KIB-99999999}\"\n",
}

// changing lists the programs that change files. Between two calls of them, the state of the files
// is constant, so that interruptions need to be tested only at these calls.
const changing = "apt-get chmod cp dpkg-deb find go ln mkdir mktemp mv rm sed tar unshare"

// steps wraps the programs that change files: each call writes a line to a file. Call number
// KILL_AT kills the run with all its processes, like a power failure.
func (m *machine) steps() string {
	file := filepath.Join(m.t.TempDir(), "steps")
	wc, err := exec.LookPath("wc")
	require.NoError(m.t, err)
	behind := m.t.TempDir()
	for _, name := range strings.Fields(changing) {
		hidden := filepath.Join(behind, name)
		require.NoError(m.t, os.Rename(filepath.Join(m.bin, name), hidden))
		m.install(name, fmt.Sprintf(`#!/bin/sh
echo %s >>%q
[ -z "$KILL_AT" ] || [ "$(%s -l <%q)" -lt "$KILL_AT" ] || kill -9 0
exec %q "$@"
`, name, file, wc, file, hidden))
	}
	return file
}

// called counts the calls in a file of steps: of one program, or of all for "".
func called(t *testing.T, steps, program string) int {
	text, err := os.ReadFile(steps)
	require.NoError(t, err)
	n := 0
	for _, line := range strings.Fields(string(text)) {
		if program == "" || line == program {
			n++
		}
	}
	return n
}

// requireWhole checks that a set-up is complete: the root, its packages and the modules.
func (m *machine) requireWhole() {
	m.t.Helper()
	assert.Equal(m.t, []string{"bazelrc", "lock", "modules", "root"}, m.made(), "entries of the cache")
	for _, pattern := range []string{
		"root-*/usr/bin/bazel-bootstrap_7.7.1_amd64",
		"root-*/usr/bin/clang_19_amd64",
		"root-*/usr/bin/java",
		"root-*/etc/rules_dnn-packages",
		"modules-*/rules_go/MODULE.bazel",
		"modules-*/gazelle/vendor",
		"modules-*/package_metadata/MODULE.bazel",
		"modules-*/zlib/MODULE.bazel",
	} {
		found, err := filepath.Glob(filepath.Join(m.cache, "rules_dnn", pattern))
		require.NoError(m.t, err)
		if assert.Len(m.t, found, 1, pattern) {
			_, err = os.Lstat(found[0])
			assert.NoError(m.t, err)
		}
	}
}

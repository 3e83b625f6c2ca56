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

// What bazelw itself runs. The PATH of a test has nothing else: no Bazel of this machine.
const utilities = "apt-config apt-get awk basename cat chmod cp cut df dirname dpkg-deb env find flock grep head ln " +
	"mkdir mktemp mv readlink rm sed sh sha256sum sleep sort tail tar timeout touch tr uname unshare wc"

// machine is where one run of bazelw takes place.
type machine struct {
	t     *testing.T
	bin   string // the only folder of PATH
	cache string // XDG_CACHE_HOME
}

// newMachine makes a machine that has the utilities, except those of which programs has another.
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

// install adds a program, or takes one away if it has no text.
func (m *machine) install(name, text string) {
	path := filepath.Join(m.bin, name)
	if err := os.Remove(path); err != nil {
		require.ErrorIs(m.t, err, os.ErrNotExist)
	}
	if text != "" {
		require.NoError(m.t, os.WriteFile(path, []byte(text), 0o755))
	}
}

// command prepares a run of bazelw, in a process group of its own.
func (m *machine) command(environment []string, args ...string) *exec.Cmd {
	script, err := filepath.Abs("../../bazelw")
	require.NoError(m.t, err)
	cmd := exec.Command(script, args...)
	cmd.Dir = m.t.TempDir()
	cmd.Env = append([]string{
		"PATH=" + m.bin,
		"XDG_CACHE_HOME=" + m.cache,
		"TMPDIR=" + m.t.TempDir(),
		// These tests may run in a root of bazelw's own.
		"BAZELW_INSIDE_MARKER=" + filepath.Join(m.bin, "none"),
	}, environment...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return cmd
}

// run starts bazelw and returns what it prints, and whether it succeeds.
func (m *machine) run(environment []string, args ...string) (string, bool) {
	out, err := m.command(environment, args...).CombinedOutput()
	return string(out), err == nil
}

// made lists the kinds of things that bazelw has in its cache, sorted.
func (m *machine) made() []string {
	entries, err := os.ReadDir(filepath.Join(m.cache, "rules_dnn"))
	require.NoError(m.t, err)
	var names []string
	for _, entry := range entries {
		kind, _, _ := strings.Cut(entry.Name(), "-")
		names = append(names, kind)
	}
	return slices.Compact(names) // an interruption may leave a bazelrc that is not whole, under another name
}

// Programs of a machine on which an offline set-up can be made, and made fast: two packages, no
// network, no namespaces.
var debian = map[string]string{
	// The folder of its configuration is where bazelw keeps all that apt needs.
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
	// What any package holds: one program of its name, and Java's.
	"dpkg-deb": `#!/bin/sh
made=$(mktemp -d)
mkdir -p "$made/usr/bin" "$made/usr/lib/jvm/java-21-openjdk-amd64/bin" "$made/etc"
basename "$2" >"$made/usr/bin/$(basename "$2" .deb)"
: >"$made/usr/lib/jvm/java-21-openjdk-amd64/bin/java"
tar -c -C "$made" etc usr
rm -rf "$made"
`,
	// Rule sets as the module proxy has them: what bazelw changes of rules_go is there.
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
	// Enters no namespace; says which command would run there.
	"unshare": `#!/bin/sh
while [ "$1" != true ] && [ "$1" != sh ]; do shift; done
[ "$1" = true ] && exit
shift 5
echo "in the root: $*"
`,
	"df": "#!/bin/sh\nprintf 'Filesystem\\ndisk 9 9 %s 9%% /\\n' \"${FREE_KIB-99999999}\"\n",
}

// What changes files: between two calls of these an interruption finds the same state everywhere.
const changing = "apt-get chmod cp dpkg-deb find go ln mkdir mktemp mv rm sed tar unshare"

// steps wraps the programs that change something: each call is a line of a file, and the call whose
// number is in KILL_AT ends the run as a loss of power does, with all that it has started.
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

// requireWhole sees that a set-up is complete: the root, its packages and the modules.
func (m *machine) requireWhole() {
	m.t.Helper()
	assert.Equal(m.t, []string{"bazelrc", "lock", "modules", "root"}, m.made(), "what is in the cache")
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

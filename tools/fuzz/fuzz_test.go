package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestParseOutput(t *testing.T) {
	good := parseOutput("fuzz: elapsed: 3s, execs: 1452 (279/sec), new interesting: 14 (total: 15)\nfuzz: elapsed: 6s, execs: 2000 (0/sec), new interesting: 14 (total: 15)\nPASS\n")
	assert.Equal(t, int64(2000), good.executions)
	assert.Zero(t, good.crashes)
	for _, text := range []string{
		"fuzz: elapsed: 1s, execs: 7 (7/sec)\n--- FAIL: FuzzX (0.52s)\n    --- FAIL: FuzzX (0.02s)\n        x_test.go:81:\n",
		"fuzz: elapsed: 1s, execs: 7 (7/sec)\npanic: FuzzX: after 21s it is still not done\n",
		"fuzz: elapsed: 1s, execs: 7 (7/sec)\nfatal error: stack overflow\n",
	} {
		bad := parseOutput(text)
		assert.Equal(t, int64(7), bad.executions)
		assert.Equal(t, 1, bad.crashes)
		assert.Equal(t, text[strings.Index(text, "\n")+1:], bad.output)
	}
}

// TestTimeOver: that the time is over is no crash, where nothing else is said.
func TestTimeOver(t *testing.T) {
	const over = "fuzz: elapsed: 30s, execs: 7 (7/sec)\n--- FAIL: FuzzX (30.02s)\n    context deadline exceeded\n"
	r := parseOutput(over + "FAIL\n")
	assert.EqualValues(t, 7, r.executions)
	assert.Zero(t, r.crashes)
	assert.Equal(t, 1, parseOutput(over+"panic: at last\n").crashes)
	assert.Equal(t, 1, parseOutput("--- FAIL: FuzzX (3s)\n    x_test.go:81: context deadline exceeded\n").crashes)
}

// TestStalled: what Go's fuzzing ended for the time it took is a crash where the input fails by
// itself, too.
func TestStalled(t *testing.T) {
	const ended = "--- FAIL: FuzzX (9s)\n    fuzzing process hung or terminated unexpectedly: exit status 2\n    Failing input written to testdata/fuzz/FuzzX/12ab\n"
	for _, c := range []struct {
		name, output, alone string
		want, kept          bool
	}{
		{"passes alone", ended, "true", true, false},
		{"fails alone", ended, "false", false, true},
		{"asks for its own input", ended, `test "$1" = "-test.run=^FuzzX$/^12ab$" && test "$PWD" != "${PWD%gen/x}"`, true, false},
		{"fails with a message", "--- FAIL: FuzzX (9s)\n    x_test.go:81: wrong\n    Failing input written to testdata/fuzz/FuzzX/12ab\n", "true", false, true},
		{"killed", strings.Replace(ended, "exit status 2", "signal: segmentation fault", 1), "true", false, true},
		{"no word of it", "--- FAIL: FuzzX (148s)\n    communicating with fuzzing process: EOF\n", "false", true, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			root := t.TempDir()
			input := filepath.Join(root, "gen/x/testdata/fuzz/FuzzX/12ab")
			require.NoError(t, os.MkdirAll(filepath.Dir(input), 0o755))
			require.NoError(t, os.WriteFile(input, nil, 0o644))
			bin := filepath.Join(root, "FuzzX.test")
			require.NoError(t, os.WriteFile(bin, []byte("#!/bin/sh\n"+c.alone+"\n"), 0o755))
			assert.Equal(t, c.want, (&options{root: root}).stalled(target{"FuzzX", "./gen/x"}, bin, c.output))
			_, err := os.Stat(input)
			assert.Equal(t, c.kept, err == nil)
		})
	}
}

// madeUp stands for the go command: what it builds is a target that fails for an input, which it
// writes.
const madeUp = `#!/bin/sh
while [ "$1" != -o ]; do shift; done
cat >"$2" <<'END'
#!/bin/sh
mkdir -p testdata/fuzz/FuzzX
echo 'string("wrong")' >testdata/fuzz/FuzzX/12ab
echo 'fuzz: elapsed: 1s, execs: 7 (7/sec)'
echo '--- FAIL: FuzzX (0.52s)'
echo '    x_test.go:81: another text'
echo '    Failing input written to testdata/fuzz/FuzzX/12ab'
exit 1
END
chmod +x "$2"
`

// TestFailingInputsStay runs a target that fails, as CI does: it is counted, and its input is
// shown, kept where 'go test' runs it, and copied.
func TestFailingInputsStay(t *testing.T) {
	root, found, tools := t.TempDir(), filepath.Join(t.TempDir(), "found"), t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(tools, "go"), []byte(madeUp), 0o755))
	t.Setenv("PATH", tools+string(os.PathListSeparator)+os.Getenv("PATH"))
	require.NoError(t, os.MkdirAll(filepath.Join(root, "gen/x"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(root, "gen/x/x_test.go"), []byte("package x\n\nfunc FuzzX(f *testing.F) {\n}\n"), 0o644))
	o, err := parse([]string{"--found=" + found}, io.Discard)
	require.NoError(t, err)
	o.root = root
	var out strings.Builder
	require.ErrorContains(t, o.run(&out), "1 of 1 targets failed", out.String())
	input := "gen/x/testdata/fuzz/FuzzX/12ab"
	for _, folder := range []string{root, found} {
		data, err := os.ReadFile(filepath.Join(folder, input))
		require.NoError(t, err)
		assert.Equal(t, "string(\"wrong\")\n", string(data))
	}
	for _, want := range []string{"7 executions, 1 crashes", "another text", filepath.Join(root, input) + " is kept, and fails:\nstring(\"wrong\")\n",
		"a copy is " + filepath.Join(found, input)} {
		assert.Contains(t, out.String(), want)
	}
}

// finder stands for the go command: what it builds is a target that finds an input, named like its
// package.
const finder = `#!/bin/sh
while [ "$1" != -o ]; do shift; done
cat >"$2" <<'END'
#!/bin/sh
for a; do case $a in -test.fuzzcachedir=*) cache=${a#*=} ;; esac; done
mkdir -p "$cache/FuzzX"
echo found >"$cache/FuzzX/$(basename "$PWD")"
echo 'fuzz: elapsed: 1s, execs: 7 (7/sec)'
END
chmod +x "$2"
`

// TestTargetsOfOneName: what a target finds is not for that of another package.
func TestTargetsOfOneName(t *testing.T) {
	root, tools := t.TempDir(), t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(tools, "go"), []byte(finder), 0o755))
	t.Setenv("PATH", tools+string(os.PathListSeparator)+os.Getenv("PATH"))
	for _, name := range []string{"one", "two"} {
		require.NoError(t, os.MkdirAll(filepath.Join(root, "gen", name), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(root, "gen", name, "x_test.go"), []byte("package x\n\nfunc FuzzX(f *testing.F) {\n}\n"), 0o644))
	}
	o, err := parse([]string{"--keep=9", "--corpus=" + t.TempDir()}, io.Discard)
	require.NoError(t, err)
	o.root = root
	var out strings.Builder
	require.NoError(t, o.run(&out), out.String())
	for _, name := range []string{"one", "two"} {
		kept, err := os.ReadDir(filepath.Join(root, "gen", name, "testdata/fuzz/FuzzX"))
		require.NoError(t, err)
		require.Len(t, kept, 1)
		assert.Equal(t, name, kept[0].Name())
	}
}

func TestFind(t *testing.T) {
	root := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(root, "gen/a"), 0o755))
	for name, text := range map[string]string{
		"gen/a/x_test.go": "package a\n\nfunc FuzzTwo(f *testing.F) {\n}\n\nfunc FuzzOne(t *testing.F) {}\n\nfunc Fuzzy() {}\n",
		"gen/a/x.go":      "package a\n\nfunc FuzzThree(f *testing.F) {}\n",
	} {
		require.NoError(t, os.WriteFile(filepath.Join(root, name), []byte(text), 0o644))
	}
	got, err := find(root)
	require.NoError(t, err)
	assert.Equal(t, []target{{"FuzzOne", "./gen/a"}, {"FuzzTwo", "./gen/a"}}, got)
}

func TestCopySome(t *testing.T) {
	from, to := t.TempDir(), filepath.Join(t.TempDir(), "new/folder")
	for name, text := range map[string]string{"a": "long text", "b": "short", "c": "1", "d": "22", "e": strings.Repeat("x", mostBytes+1)} {
		require.NoError(t, os.WriteFile(filepath.Join(from, name), []byte(text), 0o644))
	}
	for _, want := range []int{2, 2, 0} {
		n, err := copySome(from, to, 2)
		require.NoError(t, err)
		assert.Equal(t, want, n)
		assert.NoFileExists(t, filepath.Join(to, "e"))
		if want == 2 {
			assert.FileExists(t, filepath.Join(to, "c"))
			assert.FileExists(t, filepath.Join(to, "b"))
		}
	}
	n, err := copySome(filepath.Join(from, "none"), to, 2)
	require.NoError(t, err)
	assert.Zero(t, n)
}

func TestOptions(t *testing.T) {
	for _, args := range [][]string{{"rest"}, {"--time=0s"}, {"--parallel=0"}, {"--keep=-1"}, {"--time=x"}, {"--target=("}, {"--nothing"}} {
		_, err := parse(args, io.Discard)
		assert.Error(t, err, args)
	}
	o, err := parse([]string{"--time=10m", "--target=Import"}, io.Discard)
	require.NoError(t, err)
	assert.Equal(t, "10m0s", o.time)
	assert.True(t, o.target.MatchString("FuzzImport"))
	o.root = t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(o.root, "gen"), 0o755))
	assert.ErrorContains(t, o.run(io.Discard), "no target is called Import")
}

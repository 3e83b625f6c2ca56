package main

import (
	"fmt"
	"math/rand"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestInputKinds: a pipe, a device or a folder where a file is to be read is refused at once, whichever option names it.
func TestInputKinds(t *testing.T) {
	chip := factsFile(t, "x86_64")
	t.Chdir(t.TempDir())
	tiny(t, relu)
	mustRun(t, graphArgs("model.onnx")...)
	require.NoError(t, syscall.Mkfifo("pipe", 0o644))
	require.NoError(t, os.Mkdir("folder", 0o755))
	before := listing(t)
	for path, kind := range map[string]string{"pipe": "a pipe", "/dev/zero": "a device", "folder": "a folder"} {
		facts := path // a text without a folder would be the name of a chip
		if !filepath.IsAbs(facts) {
			facts = "./" + facts
		}
		for _, args := range [][]string{
			graphArgs(path), graphArgs("model.onnx", "--external=w="+path), compileArgs(path, chip), compileArgs("model.onnx", facts),
			compileArgs("model.onnx", chip, "--graph="+path), compileArgs("model.onnx", chip, "--consts="+path),
			compileArgs("model.onnx", chip, "--tuning="+path), compileArgs("model.onnx", chip, "--external=w="+path), {"tune", "--plan=" + path},
		} {
			done := make(chan error, 1)
			go func() {
				_, err := dnnc(args...)
				done <- err
			}()
			select {
			case err := <-done:
				assert.ErrorContains(t, err, path+" is "+kind+", not a file", "%v", args)
			case <-time.After(20 * time.Second):
				t.Fatalf("%v: it waits", args)
			}
		}
	}
	assert.Equal(t, before, listing(t))
}

// listing is all that is below the working directory, with contents of files, and of all else what it is.
func listing(t *testing.T) map[string]string {
	t.Helper()
	list := map[string]string{}
	require.NoError(t, filepath.WalkDir(".", func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		list[path] = d.Type().String()
		if d.Type().IsRegular() {
			data, err := os.ReadFile(path)
			list[path] = string(data)
			return err
		}
		return nil
	}))
	return list
}

// TestOutputPlaces: outputs that would destroy an input, another output or what is no file are refused before any work, and an
// earlier build stays as it is.
func TestOutputPlaces(t *testing.T) {
	chip := factsFile(t, "x86_64")
	t.Chdir(t.TempDir())
	tiny(t, relu)
	mustRun(t, graphArgs("model.onnx")...)
	mustRun(t, compileArgs("model.onnx", chip)...)
	require.NoError(t, os.Link("model.onnx", "hard.onnx"))
	require.NoError(t, os.Symlink("model.onnx", "soft.onnx"))
	require.NoError(t, os.Symlink("kernels", "same"))
	require.NoError(t, os.Mkdir("folder", 0o755))
	require.NoError(t, syscall.Mkfifo("pipe", 0o644))
	if syscall.Mknod("device", syscall.S_IFCHR|0o666, 1<<8|3) != nil {
		require.NoError(t, os.Symlink("/dev/null", "device"))
	}
	before := listing(t)
	compile := func(more ...string) []string { return compileArgs("model.onnx", chip, more...) }
	for _, c := range []struct {
		args []string
		want string
	}{
		{graphArgs("model.onnx", "--out=model.onnx"), "--out=model.onnx is the same file as --src=model.onnx, which is read; use another path for the output"},
		{graphArgs("model.onnx", "--out-consts=soft.onnx"), "--out-consts=soft.onnx is the same file as --src=model.onnx, which is read"},
		{graphArgs("soft.onnx", "--out=hard.onnx"), "--out=hard.onnx is the same file as --src=soft.onnx, which is read"},
		{graphArgs("model.onnx", "--external=w=net.h", "--out=net.h"), "--out=net.h is the same file as --external=w=net.h, which is read"},
		{graphArgs("model.onnx", "--out=same/../x", "--out-consts=X"), "are the same path (upper and lower case are equal); use different paths"},
		{graphArgs("model.onnx", "--out=device"), "--out=device is a device; want a file, or an unused path"},
		{graphArgs("model.onnx", "--out=pipe"), "--out=pipe is a pipe; want a file, or an unused path"},
		{graphArgs("model.onnx", "--out-consts=folder"), "--out-consts=folder is a folder; want a file, or an unused path"},
		{graphArgs("model.onnx", "--out=folder/00-simplify.txt", "--dump=all", "--dump-dir=folder"), "has the name of a file that is written to --dump-dir=folder"},
		{compile("--out-manifest=folder"), "--out-manifest=folder is a folder; want a file, or an unused path"},
		{compile("--out-manifest=device"), "--out-manifest=device is a device; want a file, or an unused path"},
		{compile("--out-header=net.graph.txt"), "--out-header=net.graph.txt is the same file as --graph=net.graph.txt, which is read"},
		{compile("--out-weights=net.consts"), "--out-weights=net.consts is the same file as --consts=net.consts, which is read"},
		{compile("--out-weights=" + chip), "which is read"},
		{compile("--out-header=./NET.weights"), "are the same path"},
		{compile("--out-kernels=model.onnx"), "--out-kernels=model.onnx is not a folder"},
		{compile("--out-header=kernels/app_net_api.cc"), "has the name of a file that is written to --out-kernels=kernels"},
		{compile("--out-manifest=same/app_net_kernels_7.cc"), "has the name of a file that is written to --out-kernels=kernels"},
		{compile("--out-manifest=x", "--out-kernels=x/kernels"), "lies below --out-manifest=x, which is a file"},
	} {
		_, err := dnnc(c.args...)
		assert.ErrorContains(t, err, c.want, "%v", c.args)
		assert.Equal(t, before, listing(t), "%v", c.args)
	}
}

// TestSourceNames: the names of sources are those that dnnc writes.
func TestSourceNames(t *testing.T) {
	chip := factsFile(t, "x86_64")
	t.Chdir(t.TempDir())
	tiny(t, relu)
	mustRun(t, graphArgs("model.onnx")...)
	mustRun(t, compileArgs("model.onnx", chip)...)
	entries, err := os.ReadDir("kernels")
	require.NoError(t, err)
	require.NotEmpty(t, entries)
	for _, e := range entries {
		assert.Regexp(t, sourceNames("app_net"), e.Name())
	}
	for _, other := range []string{"app_net2_api.cc", "app_net_kernels_x.cc", "app_net_kernels_.cc", "mine.cc", "app_net_api.cc.orig"} {
		assert.NotRegexp(t, sourceNames("app_net"), other)
	}
}

const processArgs = "DNNC_TEST_PROCESS"

// TestProcess is dnnc in a process of its own, which other tests start.
func TestProcess(t *testing.T) {
	if args := os.Getenv(processArgs); args != "" {
		_, err := dnnc(strings.Split(args, "\n")...)
		require.NoError(t, err)
	}
}

// start starts dnnc in a process of its own.
func start(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(self, "-test.run=^TestProcess$")
	cmd.Env = append(os.Environ(), processArgs+"="+strings.Join(args, "\n"))
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	return cmd
}

// builds are the outputs of dnnc compile with namespace a and b, which differ in what they are called, in weights and in how many sources there are.
func builds(t *testing.T) (args, whole map[string][]string) {
	t.Helper()
	chip := factsFile(t, "x86_64_v3")
	t.Chdir(t.TempDir())
	args, whole = map[string][]string{}, map[string][]string{}
	for i, name := range []string{"a", "b"} {
		tiny(t, fmt.Sprintf("const @w f32[70] = {%s}\ninput %%x f32[70]\n%%y f32[70] = Add.14(%%x, @w) \"r\"\noutput %%y\n", strings.Repeat(fmt.Sprintf("%d, ", i+1), 69)+"1"))
		require.NoError(t, os.Rename("model.onnx", name+".onnx"))
		mustRun(t, graphArgs(name+".onnx", "--out="+name+".graph", "--out-consts="+name+".consts")...)
		args[name] = compileArgs(name+".onnx", chip, "--graph="+name+".graph", "--consts="+name+".consts", "--namespace="+name, fmt.Sprint("--shards=", 2+2*i),
			"--api="+name, "--out-header=out/net.h", "--out-kernels=out/kernels", "--out-weights=out/net.weights", "--out-weights-asm=out/net.weights.S", "--out-manifest=out/net.manifest.json")
		mustRun(t, args[name]...)
		whole[name] = found(t)
		require.NotContains(t, strings.Join(whole[name], " "), ".tmp")
	}
	require.NotEqual(t, whole["a"], whole["b"])
	return args, whole
}

// found lists the outputs, with their contents.
func found(t *testing.T) []string {
	t.Helper()
	var list []string
	require.NoError(t, filepath.WalkDir("out", func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		list = append(list, path+"\n"+string(data))
		return err
	}))
	return list
}

// TestTwoAtOnce: of two dnnc that write the same outputs, those of one are there in the end, whole.
func TestTwoAtOnce(t *testing.T) {
	args, whole := builds(t)
	for range 25 {
		require.NoError(t, os.RemoveAll("out"))
		a, b := start(t, args["a"]...), start(t, args["b"]...)
		require.NoError(t, a.Wait())
		require.NoError(t, b.Wait())
		got := found(t)
		require.True(t, equal(got, whole["a"]) || equal(got, whole["b"]), "a mixture")
	}
}

func equal(a, b []string) bool { return strings.Join(a, "\n") == strings.Join(b, "\n") }

// TestEnded: a dnnc that a signal ends, whenever, leaves an earlier build or its own, and nothing else. Killed, it may leave
// temporary files besides, and a build without a manifest.
func TestEnded(t *testing.T) {
	args, whole := builds(t)
	r := rand.New(rand.NewSource(1))
	took := time.Hour // the least, of a machine that may be busy
	for range 3 {
		began := time.Now()
		mustRun(t, args["a"]...)
		took = min(took, time.Since(began))
	}
	most := 2 * took
	ended := 0
	for i := range 60 {
		name, sig := []string{"a", "b"}[i%2], []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGKILL}[i%3]
		cmd := start(t, args[name]...)
		time.Sleep(time.Duration(r.Int63n(int64(most))))
		require.NoError(t, cmd.Process.Signal(sig))
		if cmd.Wait() != nil {
			ended++
		}
		got := found(t)
		if sig == syscall.SIGKILL {
			got = withoutTemporary(t, got)
		}
		if _, err := os.Stat("out/net.manifest.json"); err != nil && sig == syscall.SIGKILL {
			mustRun(t, args["a"]...) // it shows; the next one may end before it writes anything
			continue
		}
		require.True(t, equal(got, whole["a"]) || equal(got, whole["b"]), "a mixture after %v", sig)
	}
	t.Logf("%d of 60 ended early", ended)
	assert.Greater(t, ended, 5)
}

// withoutTemporary leaves temporary files out, and takes them away.
func withoutTemporary(t *testing.T, list []string) []string {
	t.Helper()
	var out []string
	for _, x := range list {
		path, _, _ := strings.Cut(x, "\n")
		if base := filepath.Base(path); strings.HasPrefix(base, ".dnnc-") && strings.HasSuffix(base, ".tmp") {
			require.NoError(t, os.Remove(path))
			continue
		}
		out = append(out, x)
	}
	return out
}

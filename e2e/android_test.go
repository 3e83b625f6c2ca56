package e2e_test

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/tests/android/androidtest"
)

var update = flag.Bool("update", false, "write the golden files anew: bazelw test //e2e:e2e_test --test_arg=-update")

// android builds for two ABIs of Android. All other tests run without an NDK, although their
// workspace has ndk.configure().
func android(t *testing.T, w *workspace) {
	t.Run("NoNDK", func(t *testing.T) { noNDK(t, w) })
	ndk := writeNDK(t, "27.2.12479018", androidtest.APILevel)
	use := "--repo_env=ANDROID_NDK_HOME=" + ndk.dir
	t.Run("Libraries", func(t *testing.T) { androidLibraries(t, w, use) })
}

// noNDK builds for Android without a usable NDK, and checks the errors.
func noNDK(t *testing.T, w *workspace) {
	for _, c := range []struct{ name, dir, want string }{
		{"unset", "", "but ANDROID_NDK_HOME is not set."},
		{"another folder", t.TempDir(), "is not an NDK: it has no file source.properties."},
		{"too old", writeNDK(t, "25.2.9519653", androidtest.APILevel).dir, "is revision 25.2.9519653."},
		{"another API level", writeNDK(t, "29.0.14206865", "24").dir, "has no API level 21 for aarch64-linux-android, only [24]."},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, said, err := w.try("build", "--nobuild", "--repo_env=ANDROID_NDK_HOME="+c.dir, "//:android")
			require.Error(t, err)
			assert.Contains(t, said, "needs the Android NDK, one of r26 to r29, but "+c.dir)
			assert.Contains(t, said, c.want)
			assert.Contains(t, said, "common --repo_env=ANDROID_NDK_HOME=/path/to/ndk")
			assert.Contains(t, said, "ndk.configure() in MODULE.bazel")
		})
	}
}

// androidLibraries links a model for two ABIs in one build: alone, with an app's code, and in a
// program. It compares the command lines with golden ones.
func androidLibraries(t *testing.T, w *workspace, use string) {
	spawns := w.logged(t, use, "//:android")
	bin := w.bin(t, use)
	for i, folder := range []string{"arm64-v8a", "x86_64"} {
		t.Run(folder, func(t *testing.T) {
			abi := androidtest.ABIs[i]
			// A library with variants has functions that a library for a single chip does not have.
			platform := "--platforms=@rules_dnn//platforms:" + []string{"android_arm64", "android_x86_64"}[i]
			w.bazel(t, "build", use, platform, "//:relu")
			api := androidtest.Exports(t, filepath.Join(w.bin(t, use, platform), "relu/include/relu.h"), "relu")
			dir := filepath.Join(bin, "android", folder)
			androidtest.CheckLibrary(t, filepath.Join(dir, "librelu_shared.so"), abi, api)
			w.bazel(t, "build", use, platform, "//:relu_hvx")
			stub := androidtest.Exports(t, filepath.Join(w.bin(t, use, platform), "relu_hvx/include/relu_hvx.h"), "relu_hvx")
			androidtest.CheckLibrary(t, filepath.Join(dir, "librelu_hvx_shared.so"), abi, stub)
			androidtest.CheckLibrary(t, filepath.Join(dir, "libapp.so"), abi, append([]string{"app_answer"}, api...))
			androidtest.CheckLibrary(t, filepath.Join(dir, "on_device"), abi, nil)
			compareCommands(t, w, abi.Triple, configuration(t, abi, spawns), outputs, spawns)
		})
	}
}

// oldAndroid builds in a WORKSPACE, without an NDK and with one.
func oldAndroid(t *testing.T, w *workspace) {
	abi := androidtest.ABIs[0]
	build := []string{"--platforms=@rules_dnn//platforms:android_arm64", "//:relu_shared"}
	_, said, err := w.try("build", append(build, "--nobuild", "--repo_env=ANDROID_NDK_HOME=")...)
	require.Error(t, err)
	assert.Contains(t, said, "ANDROID_NDK_HOME is not set")
	assert.Contains(t, said, "android_ndk() in WORKSPACE")
	build = append(build, "--repo_env=ANDROID_NDK_HOME="+writeNDK(t, "26.3.11579264", androidtest.APILevel).dir)
	w.bazel(t, "build", build...)
	bin := w.bin(t, build[0])
	api := androidtest.Exports(t, filepath.Join(bin, "relu/include/relu.h"), "relu")
	androidtest.CheckLibrary(t, filepath.Join(bin, "librelu_shared.so"), abi, api)
}

// outputs are files whose commands are compared with golden ones.
var outputs = []string{"relu_kernels_0.pic.o", "relu_x86_64_v4_kernels_0.pic.o", "relu.weights.pic.o", "relu_hvx_api.pic.o", "session.pic.o", "dnn_pool.pic.o", "librelu.a", "librelu_shared.so", "librelu_hvx_shared.so", "libapp.so", "on_device"}

// compareCommands compares the commands that make files of a configuration with e2e/testdata.
func compareCommands(t *testing.T, w *workspace, name, folder string, outputs []string, spawns []spawn) {
	t.Helper()
	var got strings.Builder
	for _, output := range outputs {
		for _, s := range spawns {
			if s.makes(folder, output) {
				got.WriteString("# " + output + "\n" + commandLine(t, w, s) + "\n")
			}
		}
	}
	golden := filepath.Join(w.root, "e2e", "testdata", name+".txt")
	if *update {
		require.NoError(t, os.WriteFile(golden, []byte(got.String()), 0o644))
		return
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	assert.Equal(t, string(want), got.String(), "commands for %s; to accept them: bazelw test //e2e:e2e_test --test_arg=-update", name)
}

// configuration returns the directory below bazel-out with the files that were compiled for an
// ABI.
func configuration(t *testing.T, abi androidtest.ABI, spawns []spawn) string {
	t.Helper()
	for _, s := range spawns {
		if slices.Contains(s.CommandArgs, "--target="+abi.Triple+androidtest.APILevel) && s.Mnemonic == "CppCompile" {
			return strings.Split(s.ListedOutputs[0], "/")[1]
		}
	}
	require.Fail(t, "nothing was compiled for "+abi.Triple)
	return ""
}

// commandLine returns the words of a command, one on each line, including the words of parameter
// files.
func commandLine(t *testing.T, w *workspace, s spawn) string {
	t.Helper()
	var b strings.Builder
	for _, word := range s.CommandArgs {
		b.WriteString(word + "\n")
		if file, ok := strings.CutPrefix(word, "@"); ok {
			words, err := os.ReadFile(filepath.Join(w.base, "execroot", "_main", file))
			require.NoError(t, err)
			b.Write(words)
		}
	}
	text := b.String()
	for _, v := range variable {
		text = v.pattern.ReplaceAllString(text, v.name)
	}
	return text
}

// Names that depend on Bazel's version, on the configuration and on the runtime's division into
// files.
var variable = []struct {
	pattern *regexp.Regexp
	name    string
}{
	{regexp.MustCompile(`bazel-out/[^/\s]+/bin`), "BIN"},
	{regexp.MustCompile(`external/[^/\s]*rules_dnn_ndk`), "NDK"},
	{regexp.MustCompile(`external/[^/\s]*rules_dnn_hexagon_sdk`), "SDK"},
	{regexp.MustCompile(`external/rules_dnn[~+][^/\s]*`), "RULES_DNN"},
	{regexp.MustCompile(`(?s)-Wl,--start-lib\n.*?-Wl,--end-lib`), "RUNTIME_OBJECTS"},
}

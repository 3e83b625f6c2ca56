package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/scalar"
	"rules_dnn/tests/android/androidtest"
)

// android compiles with clang as the NDK would and with the flags of the rules, in the working directory.
type android struct {
	abi     androidtest.ABI
	flags   []string
	objects []string
}

func newAndroid(t *testing.T, abi androidtest.ABI, root string) *android {
	androidtest.WriteHeaders(t, "bionic")
	return &android{abi: abi, flags: []string{
		"--target=" + abi.Triple + androidtest.APILevel, "-nostdlibinc", "-isystem", "bionic", "-I.", "-I" + root,
		"-fstack-protector-strong", "-Wall", "-Wextra", "-Werror", "-fPIC", "-c",
	}}
}

func execute(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.Command(name, args...).CombinedOutput()
	require.NoError(t, err, "%s %s\n%s", name, strings.Join(args, " "), out)
	return strings.TrimSpace(string(out))
}

// compile makes objects of sources, of which nothing may run when they are loaded.
func (a *android) compile(t *testing.T, sources []string) {
	t.Helper()
	require.NotEmpty(t, sources)
	for _, source := range sources {
		object := fmt.Sprintf("%d.o", len(a.objects))
		flags := a.flags
		if filepath.Ext(source) == ".cc" {
			flags = append(flags[:len(flags):len(flags)], "-std=c++17", "-O3", "-fno-fast-math", "-ffp-contract=fast", "-fno-math-errno", "-fno-exceptions", "-fno-rtti", "-fvisibility=hidden")
		}
		execute(t, "clang", append(flags[:len(flags):len(flags)], source, "-o", object)...)
		androidtest.CheckObject(t, object)
		a.objects = append(a.objects, object)
	}
}

// link makes a shared library of the objects, without any other library but, for x86-64, the compiler's own:
// there its variables tell what the processor is.
func (a *android) link(t *testing.T) string {
	t.Helper()
	const library = "libnet.so"
	args := append([]string{"-shared", "-nostdlib", "-z", "max-page-size=16384", "-o", library}, a.objects...)
	if a.abi.CPU == "x86_64" {
		builtins := execute(t, "clang", "-print-resource-dir") + "/lib/linux/libclang_rt.builtins-x86_64.a"
		if _, err := os.Stat(builtins); err != nil {
			t.Skipf("compiled; this machine's clang has no library of its own to link: %v", err)
		}
		args = append(args, builtins)
	}
	execute(t, "ld.lld", args...)
	return library
}

// everyFunction is C++ that calls each scalar function that kernels may call, on floats and doubles.
func everyFunction() string {
	var b strings.Builder
	b.WriteString("#include \"runtime/dnn_kernel.h\"\nnamespace functions {\n")
	for _, row := range scalar.Table() {
		for _, typ := range []ir.DType{ir.F32, ir.F64} {
			if row.Kinds.Has(typ) && row.Result == scalar.Same {
				name, c := fmt.Sprintf("%s_%s", row.Name, typ), scalar.CType(typ)
				args := []string{"a", "b", "c"}[:row.Arity]
				fmt.Fprintf(&b, "%s f_%s(%s %s) { return %s; }\n", c, name, c, strings.Join(args, ", "+c+" "), row.C(typ, args))
			}
		}
	}
	return b.String() + "}\n"
}

// opaque is a network of operators that are functions of the runtime.
const opaque = `
	symbol N 1..64
	const @k i64[1] = {3}
	const @most i64[] = {10}
	input %x f32[N]
	input %b f32[1, 5, 4]
	input %s f32[1, 1, 5]
	%v ?[*], %i ?[*] = TopK.11(%x, @k) {largest = 1} "best"
	%z ?[*] = NonZero.13(%x) "where"
	%y ?[*], %f ?[*], %j ?[*], %n ?[*] = Unique.11(%x) {sorted = 1} "once"
	%kept ?[*] = NonMaxSuppression.11(%b, %s, @most) {center_point_box = 0} "kept"
	output %v
	output %i
	output %z
	output %y
	output %n
	output %kept
	`

// androidNetworks write a network to model.onnx in the working directory, given resnet20's path.
var androidNetworks = map[string]func(t *testing.T, resnet20 string){
	"resnet20": func(t *testing.T, resnet20 string) {
		data, err := os.ReadFile(resnet20)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile("model.onnx", data, 0o644))
	},
	"opaque": func(t *testing.T, _ string) { tiny(t, opaque) },
}

// TestAndroid links networks, and all functions that kernels may call, for Android: without an NDK, with
// headers of our own. What is linked is what a device loads.
func TestAndroid(t *testing.T) {
	for _, tool := range []string{"clang", "ld.lld"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("no %s on this machine", tool)
		}
	}
	for _, abi := range androidtest.ABIs {
		for name, write := range androidNetworks {
			t.Run(abi.CPU+"/"+name, func(t *testing.T) { linkForAndroid(t, abi, write, "") })
		}
		// A stub of a model on a DSP, with what calls it.
		t.Run(abi.CPU+"/stub", func(t *testing.T) {
			linkForAndroid(t, abi, androidNetworks["opaque"], "/runtime/fastrpc/*.cc", "--remote=v68", "--remote=v73")
		})
	}
}

// linkForAndroid links a network with the runtime, and with more of it where its sources want that.
func linkForAndroid(t *testing.T, abi androidtest.ABI, write func(t *testing.T, resnet20 string), more string, options ...string) {
	root, src := absolute(t, repository), absolute(t, resnet)
	chip := factsFile(t, map[string]string{"aarch64": "arm64", "x86_64": "x86_64"}[abi.CPU])
	t.Chdir(t.TempDir())
	write(t, src)
	mustRun(t, graphArgs("model.onnx", "--dim=N=1..64")...)
	mustRun(t, compileArgs("model.onnx", chip, options...)...)
	require.NoError(t, os.WriteFile("functions.cc", []byte(everyFunction()), 0o644))
	a := newAndroid(t, abi, root)
	patterns := []string{root + "/runtime/dnn_*.cc", "kernels/*.cc", "net.weights.S", "functions.cc"}
	if more != "" {
		patterns = append(patterns, root+more)
	}
	for _, pattern := range patterns {
		sources, err := filepath.Glob(pattern)
		require.NoError(t, err)
		a.compile(t, sources)
	}
	androidtest.CheckLibrary(t, a.link(t), abi, androidtest.Exports(t, "net.h", "app_net"))
}

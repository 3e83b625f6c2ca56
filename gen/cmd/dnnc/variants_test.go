package main

import (
	"debug/elf"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/emit/cpp/cpptest"
	"rules_dnn/gen/emit/manifest"
	"rules_dnn/gen/target/chips"
	"rules_dnn/gen/target/hostcpu"
)

// chooser creates a model with each chip of its arguments, "-" being none, and prints the status, the chip whose kernels run, and
// the results of one input: 10 numbers.
const chooser = `
#include <stdio.h>
#include <string.h>
#include "net.h"

#if app_net_VARIANT_COUNT != 3
#error "the levels"
#endif

int main(int argc, char** argv) {
  static float image[3 * 32 * 32];
  for (int i = 0; i < 3 * 32 * 32; ++i) image[i] = (float)(i % 17) / 8 - 1;
  for (int k = 1; k < argc; ++k) {
    app_net_model* model = NULL;
    app_net_context* context = NULL;
    app_net_options options = {sizeof(options)};
    const app_net_dims dims = {1};
    float y[10] = {0};
    const void* const in[] = {image};
    void* const out[] = {y};
    if (strcmp(argv[k], "-") != 0) options.variant = argv[k];
    const app_net_status status = app_net_create(&options, &model);
    printf("%s %d %s %s\n", argv[k], (int)status, app_net_variant(model), app_net_status_message(status));
    if (status != app_net_OK) continue;
    if (app_net_context_create(model, &context) != app_net_OK || app_net_run(context, &dims, in, out) != app_net_OK) return 1;
    for (int i = 0; i < 10; ++i) printf("%.4f ", y[i] + 0.0f);
    printf("\n");
    app_net_context_destroy(context);
    app_net_destroy(model);
  }
  return 0;
}
`

// levels are the chips of the library for any x86-64, the least capable first.
var levels = []string{"x86_64", "x86_64_v3", "x86_64_v4"}

// factsFiles are the files of facts of chips.
func factsFiles(t *testing.T, names []string) []string {
	t.Helper()
	var out []string
	for _, name := range names {
		out = append(out, factsFile(t, name))
	}
	return out
}

// compileLevels makes sources of resnet20 for all levels in the working directory.
func compileLevels(t *testing.T, src string, facts []string, more ...string) {
	t.Helper()
	mustRun(t, graphArgs(src, "--dim=N=1..4")...)
	compileLibrary(t, src, levels, facts, more...)
}

// compileLibrary makes sources of the network for several chips in the working directory: those of each but the first in a folder of its name.
func compileLibrary(t *testing.T, src string, names, facts []string, more ...string) {
	t.Helper()
	args := compileArgs(src, facts[0], more...)
	for i, name := range names[1:] {
		args = append(args, "--variant="+facts[i+1], "--out-variant="+name)
	}
	mustRun(t, args...)
}

// allChips are the chips of platforms/chips by their names.
func allChips(t *testing.T) map[string]chips.Chip {
	t.Helper()
	out := map[string]chips.Chip{}
	read, err := chips.All()
	require.NoError(t, err)
	for _, c := range read {
		out[c.Name] = c
	}
	return out
}

// variantObjects compiles the sources of a library's chips, each with its flags. Where kernels are for a chip that not every processor is,
// nothing is shared with other objects: a linker might take it for all.
func variantObjects(t *testing.T, compiler, root string, names []string, all map[string]chips.Chip) []string {
	t.Helper()
	var out []string
	for i, name := range names {
		folder := name
		if i == 0 {
			folder = "kernels"
		}
		mine := objects(t, compiler, root, folder, all[name].Copts)
		require.NotEmpty(t, mine, name)
		for _, o := range mine {
			if i > 0 {
				assertOwn(t, o, "app_net_"+name)
			}
		}
		out = append(out, mine...)
	}
	return out
}

// linkChooser makes a program of its text, the runtime and a library's objects.
func linkChooser(t *testing.T, compiler, root, text string, objects []string, flags ...string) {
	t.Helper()
	require.NoError(t, os.WriteFile("chooser.c", []byte(text), 0o644))
	files, err := filepath.Glob(root + "/runtime/dnn_*.cc")
	require.NoError(t, err)
	args := slices.Concat([]string{"-std=c++17", "-O1", "-fno-exceptions", "-fno-rtti", "-I.", "-I" + root, "-pthread", "-o", "chooser"}, flags, []string{"-x", "c++", "chooser.c"}, files,
		[]string{"-x", "assembler-with-cpp", "net.weights.S", "-x", "none"}, objects)
	said, err := exec.Command(compiler, args...).CombinedOutput()
	require.NoError(t, err, "%s", said)
}

// choose runs the program with chips to create models of, and gives its lines.
func choose(t *testing.T, emulator []string, env string, names ...string) []string {
	t.Helper()
	command := slices.Concat(emulator, []string{"./chooser"}, names)
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Env = append(os.Environ(), "DNN_VARIANT="+env)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return strings.Split(strings.TrimSpace(string(out)), "\n")
}

// What create() says of a chip that the processor is not, and of one that the library has no kernels for.
const (
	lacking = " 11  the processor lacks an instruction set that the kernels use, or the system does not permit it"
	unknown = " 18  the options or DNN_VARIANT name a variant that the model does not have"
)

// objects compiles what is in a folder of sources.
func objects(t *testing.T, compiler, root, folder string, copts []string) []string {
	t.Helper()
	files, err := filepath.Glob(folder + "/*.cc")
	require.NoError(t, err)
	var out []string
	for _, f := range files {
		object := f + ".o"
		args := slices.Concat([]string{"-std=c++17", "-Wall", "-Wextra", "-Werror", "-O1", "-fno-exceptions", "-fno-rtti"}, copts, []string{"-I.", "-I" + root, "-c", f, "-o", object})
		text, err := exec.Command(compiler, args...).CombinedOutput()
		require.NoError(t, err, "%s", text)
		out = append(out, object)
	}
	return out
}

// TestVariants: create() chooses among the chips of a library, or takes the one that is named; each gives the network's results.
func TestVariants(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("the levels are those of x86-64")
	}
	compiler := cpptest.Compiler(t)
	root, src := absolute(t, repository), absolute(t, resnet)
	all, facts := allChips(t), factsFiles(t, levels)
	t.Chdir(t.TempDir())
	compileLevels(t, src, facts)
	linkChooser(t, compiler, root, chooser, variantObjects(t, compiler, root, levels, all))

	here := runsHere()
	best := choose(t, nil, "", "-")
	assert.Equal(t, "- 0 "+here[len(here)-1]+" ok", best[0], "the most capable that runs")
	for _, name := range levels {
		got := choose(t, nil, "", name)
		if !slices.Contains(here, name) {
			assert.Equal(t, []string{name + lacking}, got)
			continue
		}
		require.Len(t, got, 2)
		assert.Equal(t, name+" 0 "+name+" ok", got[0])
		assertNear(t, best[1], got[1])
		assert.Equal(t, "- 0 "+name+" ok", choose(t, nil, name, "-")[0], "by the environment")
		assert.Equal(t, name+" 0 "+name+" ok", choose(t, nil, "x86_64_v9", name)[0], "an option counts more than the environment")
	}
	assert.Equal(t, []string{"x86_64_v9" + unknown}, choose(t, nil, "", "x86_64_v9"))
	assert.Equal(t, []string{"-" + unknown}, choose(t, nil, "x86_64_v9", "-"))
}

// runsHere are the levels that this processor has.
func runsHere() []string {
	out := levels[:1:1]
	for _, x := range []struct{ feature, level string }{{"avx2", levels[1]}, {"avx512vl", levels[2]}} {
		if hostcpu.Has(x.feature) {
			out = append(out, x.level)
		}
	}
	return out
}

// assertNear: results of another order of sums.
func assertNear(t *testing.T, want, got string) {
	t.Helper()
	read := func(text string) (out []float64) {
		require.NoError(t, json.Unmarshal([]byte("["+strings.Join(strings.Fields(text), ",")+"]"), &out))
		return out
	}
	a, b := read(want), read(got)
	require.Len(t, a, 10)
	require.Len(t, b, 10)
	assert.InDeltaSlice(t, a, b, 2e-3)
}

// assertOwn: what an object defines for others to see begins with a name of its own, and a linker merges nothing of it.
func assertOwn(t *testing.T, object, name string) {
	t.Helper()
	f, err := elf.Open(object)
	require.NoError(t, err)
	defer f.Close()
	for _, s := range f.Sections {
		assert.NotEqual(t, elf.SHT_GROUP, s.Type, "%s has a COMDAT group %s", object, s.Name)
	}
	symbols, err := f.Symbols()
	require.NoError(t, err)
	for _, s := range symbols {
		switch bind := elf.ST_BIND(s.Info); {
		case s.Section == elf.SHN_UNDEF || bind == elf.STB_LOCAL:
		case bind != elf.STB_GLOBAL:
			t.Errorf("%s: %s is %s", object, s.Name, bind)
		default:
			assert.Contains(t, s.Name, name, object)
		}
	}
}

// TestVariantManifest: what each variant reads and runs, and what it has of its own.
func TestVariantManifest(t *testing.T) {
	src, facts := absolute(t, resnet), factsFiles(t, levels)
	t.Chdir(t.TempDir())
	compileLevels(t, src, facts)
	first := tree(t)
	var m manifest.Manifest
	require.NoError(t, json.Unmarshal([]byte(first["net.manifest.json"]), &m))
	assert.Equal(t, "x86_64_v4", m.Chip)
	assert.Empty(t, m.Warnings, "the baseline is one of several")
	require.Len(t, m.Variants, 3)
	for i, v := range m.Variants {
		assert.Equal(t, levels[i], v.Chip)
		assert.Len(t, v.Kernels, len(m.Blocks))
		assert.NotEmpty(t, v.OwnKernels)
		assert.Positive(t, v.WeightsBytes)
		assert.Less(t, v.OwnWeightsBytes, v.WeightsBytes/10, "weights are shared")
	}
	assert.Zero(t, m.Variants[0].OwnWeightsBytes)
	assert.Equal(t, []string{"avx2", "fma", "bmi2", "f16c"}, m.Variants[1].CPUFeatures)
	assert.Contains(t, m.Variants[2].Copts, "-mavx512f")
	compileLevels(t, src, facts)
	assert.Equal(t, first, tree(t), "the same each time")
	compileLevels(t, src, facts, "--shards=2")
	assert.NotContains(t, tree(t), "x86_64_v4/app_net_x86_64_v4_kernels_3.cc", "files of the last run")
}

// TestEqualVariants: a chip whose kernels are another one's adds none.
func TestEqualVariants(t *testing.T) {
	src, chip := absolute(t, resnet), factsFile(t, "arm64")
	facts, err := os.ReadFile(chip)
	require.NoError(t, err)
	t.Chdir(t.TempDir())
	var fields map[string]any
	require.NoError(t, json.Unmarshal(facts, &fields))
	fields["name"], fields["cpu_features"] = "arm64_more", []string{"asimddp"}
	more, err := json.Marshal(fields)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile("more.json", more, 0o644))
	mustRun(t, graphArgs(src, "--dim=N=1..4")...)
	mustRun(t, compileArgs(src, chip, "--variant=more.json", "--out-variant=more")...)
	entries, err := os.ReadDir("more")
	if err == nil {
		assert.Empty(t, entries)
	}
	text, err := os.ReadFile("kernels/app_net_api.cc")
	require.NoError(t, err)
	assert.Contains(t, string(text), `{ "arm64_more", kCpuFeatures1, 1},`)
	text, err = os.ReadFile("kernels/app_net_program.cc")
	require.NoError(t, err)
	assert.NotContains(t, string(text), "c->variant")
	var m manifest.Manifest
	text, err = os.ReadFile("net.manifest.json")
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &m))
	assert.Empty(t, m.Variants[1].OwnKernels)
}

// TestVariantRefusals: what is wrong with the chips of a library.
func TestVariantRefusals(t *testing.T) {
	src, chip, other, arm := absolute(t, resnet), factsFile(t, "x86_64"), factsFile(t, "x86_64_v3"), factsFile(t, "arm64")
	t.Chdir(t.TempDir())
	mustRun(t, graphArgs(src)...)
	for _, c := range []struct {
		want string
		args []string
	}{
		{"1 --variant and 0 --out-variant: want a folder for the kernels of each variant", []string{"--variant=" + other}},
		{"chip x86_64 is given twice", []string{"--variant=" + chip, "--out-variant=a"}},
		{`chip arm64 has cpu "arm64"`, []string{"--variant=" + arm, "--out-variant=a"}},
		{"are the same folder", []string{"--variant=" + other, "--out-variant=kernels"}},
	} {
		_, err := dnnc(compileArgs(src, chip, c.args...)...)
		assert.ErrorContains(t, err, c.want)
	}
}

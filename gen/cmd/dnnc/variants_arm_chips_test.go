package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/emit/manifest"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/onnx/onnxpb"
	"rules_dnn/gen/onnx/onnxtest"
)

// armChips are those of the library for any 64-bit ARM, the least capable first.
var armChips = []string{"arm64", "arm64_dotprod"}

const armCompiler = "aarch64-linux-gnu-g++"

// needArm skips the test where nothing compiles for 64-bit ARM and runs it.
func needArm(t *testing.T) {
	t.Helper()
	for _, tool := range []string{armCompiler, "qemu-aarch64"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("no %s is here; bazelw exec has it", tool)
		}
	}
}

// The operands of a product of integers: rows, and elements of each sum, neither of which is a whole number of tiles or groups.
const (
	productRows, productSums, productColumns = 21, 37, 40
)

// integerChooser creates a model with each chip of its arguments, "-" being none, and prints the status, the chip whose kernels run, and a
// number that every one of the results changes.
var integerChooser = fmt.Sprintf(`
#include <stdio.h>
#include <string.h>
#include "net.h"

int main(int argc, char** argv) {
  static unsigned char x[%d];
  static int32_t y[%d];
  for (int i = 0; i < (int)sizeof(x); ++i) x[i] = (unsigned char)(i * 37);
  for (int k = 1; k < argc; ++k) {
    app_net_model* model = NULL;
    app_net_context* context = NULL;
    app_net_options options = {sizeof(options)};
    const void* const in[] = {x};
    void* const out[] = {y};
    if (strcmp(argv[k], "-") != 0) options.variant = argv[k];
    const app_net_status status = app_net_create(&options, &model);
    printf("%%s %%d %%s %%s\n", argv[k], (int)status, app_net_variant(model), app_net_status_message(status));
    if (status != app_net_OK) continue;
    if (app_net_context_create(model, &context) != app_net_OK || app_net_run(context, NULL, in, out) != app_net_OK) return 1;
    long long sum = 0;
    for (int i = 0; i < %d; ++i) sum += (long long)y[i] * (i + 1);
    printf("%%lld\n", sum);
    app_net_context_destroy(context);
    app_net_destroy(model);
  }
  return 0;
}
`, productRows*productSums, productRows*productColumns, productRows*productColumns)

// integerProduct is a network of one product of integers, and the number that the program above prints of its results.
func integerProduct() (m *onnxpb.ModelProto, sum int64) {
	w := ir.NewTensor(ir.I8, productSums, productColumns)
	for i := range w.Data {
		w.Data[i] = byte(i * 11)
	}
	for i := range productRows * productColumns {
		r, c := i/productColumns, i%productColumns
		y := int64(0)
		for k := range productSums {
			y += int64(byte((r*productSums+k)*37)) * int64(int8(w.Data[k*productColumns+c]))
		}
		sum += y * int64(i+1)
	}
	node := onnxtest.Op("MatMulInteger", "x", "y")
	node.Input = append(node.Input, "w")
	m = onnxtest.Model([]*onnxpb.ValueInfoProto{onnxtest.Input("x", onnxpb.TensorProto_UINT8, productRows, productSums)}, node)
	m.Graph.Output = []*onnxpb.ValueInfoProto{onnxtest.Output("y")}
	return onnxtest.With(m, onnxtest.Tensor("w", w)), sum
}

// TestArmVariants: on processors without and with dot products create() takes the kernels that are made for them, what is named is taken or
// refused, and each computes the product.
func TestArmVariants(t *testing.T) {
	made := runVariants(t, armChips, map[string]int{"cortex-a53": 0, "cortex-a72": 0, "cortex-a76": 1, "neoverse-n1": 1, "max": 1})
	assert.NotEmpty(t, made.Variants[1].OwnKernels)
	assert.Zero(t, made.Variants[1].OwnWeightsBytes, "weights are shared")
}

// TestArmMatrixProducts: the same of a library that has kernels of products of matrices, too.
func TestArmMatrixProducts(t *testing.T) {
	made := runVariants(t, append(slices.Clone(armChips), "arm64_i8mm"), map[string]int{"cortex-a53": 0, "neoverse-n1": 1, "max": 2})
	assert.NotEmpty(t, made.Variants[2].OwnKernels)
}

// runVariants builds a library for chips and runs it on processors, each with the best one for it; it gives the library's manifest.
func runVariants(t *testing.T, armChips []string, best map[string]int) manifest.Manifest {
	needArm(t)
	root, all, facts := absolute(t, repository), allChips(t), factsFiles(t, armChips)
	t.Chdir(t.TempDir())
	m, sum := integerProduct()
	require.NoError(t, os.WriteFile("net.onnx", onnxtest.Bytes(m), 0o644))
	mustRun(t, graphArgs("net.onnx")...)
	compileLibrary(t, "net.onnx", armChips, facts)
	var made manifest.Manifest
	require.NoError(t, json.Unmarshal([]byte(tree(t)["net.manifest.json"]), &made))
	linkChooser(t, armCompiler, root, integerChooser, variantObjects(t, armCompiler, root, armChips, all), "-static")
	for cpu, best := range best {
		emulator := []string{"qemu-aarch64", "-cpu", cpu}
		right := func(name string) []string { return []string{" 0 " + name + " ok", fmt.Sprint(sum)} }
		said := func(env, option string) []string {
			got := choose(t, emulator, env, option)
			got[0] = got[0][len(option):]
			return got
		}
		assert.Equal(t, right(armChips[best]), said("", "-"), "%s: the most capable that runs", cpu)
		for i, name := range armChips {
			want := right(name)
			if i > best {
				want = []string{lacking}
			}
			assert.Equal(t, want, said("", name), "%s by the options", cpu)
			assert.Equal(t, want, said(name, "-"), "%s by the environment", cpu)
			assert.Equal(t, want, said("arm64_sve9", name), "%s: an option counts more than the environment", cpu)
		}
		assert.Equal(t, []string{unknown}, said("", "arm64_sve9"), cpu)
	}
	return made
}

// TestFloatsForAnyArm: a network of floats has one kernel for all processors of 64-bit ARM, so that the library for any holds what the one for
// the baseline alone holds, and its manifest says so.
func TestFloatsForAnyArm(t *testing.T) {
	src, facts := absolute(t, resnet), factsFiles(t, armChips)
	t.Chdir(t.TempDir())
	mustRun(t, graphArgs(src, "--dim=N=1..4")...)
	mustRun(t, compileArgs(src, facts[0])...)
	alone := tree(t)
	compileLibrary(t, src, armChips, facts)
	both := tree(t)
	var m manifest.Manifest
	require.NoError(t, json.Unmarshal([]byte(both["net.manifest.json"]), &m))
	require.Len(t, m.Variants, 2)
	assert.Equal(t, m.Variants[0].Kernels, m.Variants[1].Kernels)
	assert.Empty(t, m.Variants[1].OwnKernels)
	assert.Zero(t, m.Variants[1].OwnWeightsBytes)
	for name, text := range alone {
		switch name {
		case "net.h", "net.manifest.json", "kernels/app_net_api.cc", "kernels/app_net_profile.cc": // which name the chips
		default:
			assert.True(t, text == both[name], "%s differs", name)
		}
		delete(both, name)
	}
	assert.Empty(t, both, "files that the baseline alone does not have")
}

// apple is the part of Apple's system that the runtime asks: the keys that arguments name, a 0 or 1 each.
const apple = `
#include <stdio.h>
#include <string.h>
#include <sys/sysctl.h>
#include "runtime/dnn_cpu.h"

static int count;
static char** list;

int sysctlbyname(const char* key, void* value, size_t* size, void*, size_t) {
  if (*size != sizeof(int)) return -1;
  for (int i = 1; i + 1 < count; i += 2) {
    if (strcmp(key, list[i]) != 0) continue;
    const int has = list[i + 1][0] == '1';
    memcpy(value, &has, sizeof(has));
    return 0;
  }
  return -1;
}

int main(int argc, char** argv) {
  count = argc, list = argv;
  const char* const features[] = {"asimd", "asimdhp", "asimddp", "asimdfhm", "i8mm", "bf16", "sve", "avx2"};
  for (const char* f : features) {
    if (rules_dnn::CpuHas(f)) printf("%s ", f);
  }
  printf("\n");
}
`

// TestAppleFeatures: on Apple's processors the system tells what they have, and what an older one has not heard of they are not taken to have.
func TestAppleFeatures(t *testing.T) {
	needArm(t)
	root := absolute(t, repository)
	t.Chdir(t.TempDir())
	require.NoError(t, os.MkdirAll("include/sys", 0o755))
	require.NoError(t, os.WriteFile("include/sys/sysctl.h", []byte("#include <stddef.h>\nextern \"C\" int sysctlbyname(const char*, void*, size_t*, void*, size_t);\n"), 0o644))
	require.NoError(t, os.WriteFile("main.cc", []byte(apple), 0o644))
	execute(t, armCompiler, "-std=c++17", "-Wall", "-Wextra", "-Werror", "-U__linux__", "-D__APPLE__", "-static", "-Iinclude", "-I"+root, "-o", "main", "main.cc", root+"/runtime/dnn_cpu.cc")
	for keys, want := range map[string]string{
		"": "",
		"hw.optional.AdvSIMD=1 hw.optional.arm.FEAT_DotProd=0":                                                              "asimd",
		"hw.optional.AdvSIMD=1 hw.optional.arm.FEAT_DotProd=1 hw.optional.arm.FEAT_FP16=1":                                  "asimd asimdhp asimddp",
		"hw.optional.arm.FEAT_FHM=1 hw.optional.arm.FEAT_FP16=0":                                                            "asimdfhm",
		"hw.optional.arm.FEAT_DotProd=1 hw.optional.arm.FEAT_I8MM=1 hw.optional.arm.FEAT_BF16=1 hw.optional.arm.FEAT_SME=1": "asimddp i8mm bf16",
	} {
		args := append([]string{"./main"}, strings.Fields(strings.ReplaceAll(keys, "=", " "))...)
		assert.Equal(t, want, execute(t, "qemu-aarch64", args...), keys)
	}
}

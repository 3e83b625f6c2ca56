package main

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/emit/cpp/cpptest"
	"rules_dnn/gen/graph/interp"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/irtest"
)

// watcher is a program that prints what blocks compute: name, type, dimensions, whether elements lie in another order, and elements in row-major order.
const watcher = `
#include <stdio.h>
#include <string.h>
#include <vector>
#include "net.h"

static void Watch(void* user, const app_net_block* block, const app_net_value* values, int32_t count) {
  ++*static_cast<int*>(user);
  for (int32_t i = 0; i < count; ++i) {
    const app_net_value& v = values[i];
    size_t n = 1;
    printf("%s %s", v.name, v.type);
    for (int32_t k = 0; k < v.rank; ++k) {
      printf(k > 0 ? ",%d" : " %d", static_cast<int>(v.dims[k]));
      n *= static_cast<size_t>(v.dims[k]);
    }
    printf(" %s:", strcmp(v.layout, "row-major") == 0 ? "rows" : "blocks");
    std::vector<uint8_t> bytes(n * static_cast<size_t>(v.element_bytes));
    if (block->nodes[0] == 0 || block->kernel[0] == 0 || app_net_row_major(&v, bytes.data(), bytes.size() + 1) != app_net_BUFFER_SIZE) printf("?");
    if (app_net_row_major(&v, bytes.data(), bytes.size()) != app_net_OK) printf("?");
    for (const uint8_t b : bytes) printf("%02x", b);
    printf("\n");
  }
}

int main() {
  app::net::Model model;
  app::net::Context context;
  app_net_options options = {};
  options.size = sizeof options;
  options.workers = 3;
  if (model.Create(&options) != app_net_OK || context.Create(model) != app_net_OK) return 1;
  std::vector<float> x(3 * 8 * 7 * 7), y(x.size());
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 17) - 8;
  const app::net::Dims dims = {3};
  int64_t trips = 2;
  int blocks = 0;
  if (context.Run(dims, x.data(), &trips, y.data()) != app_net_OK || blocks != 0) return 2;
  if (context.Observe(Watch, &blocks) != app_net_OK || context.Run(dims, x.data(), &trips, y.data()) != app_net_OK || blocks == 0) return 3;
  const int before = blocks;
  if (context.Observe(nullptr, nullptr) != app_net_OK || context.Run(dims, x.data(), &trips, y.data()) != app_net_OK || blocks != before) return 4;
  return app_net_observe(nullptr, Watch, nullptr) != app_net_NULL_ARGUMENT;
}
`

// observedNet has values in blocks of channels, a dimension of the run, and a loop.
func observedNet() string {
	var w [2]strings.Builder
	for i := range w {
		for k := range 8 * 8 * 9 {
			fmt.Fprintf(&w[i], ", %d", (k*(i+3)+k/7)%5-2)
		}
	}
	return fmt.Sprintf(`
		symbol N 1..4
		const @w f32[8, 8, 3, 3] = {%s}
		const @v f32[8, 8, 3, 3] = {%s}
		const @on bool[] = {1}
		input %%x f32[N, 8, 7, 7]
		input %%n i64[]
		%%a ?[*] = Conv.11(%%x, @w) {pads = [1, 1, 1, 1]} "first"
		%%b ?[*] = Relu.14(%%a)
		%%c ?[*] = Conv.11(%%b, @v) {pads = [1, 1, 1, 1]} "second"
		%%y f32[N, 8, 7, 7] = Loop.16(%%n, @on, %%c; %%b) {body = region 0} "loop" regions {
			graph "body" opset 23 {
				input %%i i64[]
				input %%go bool[]
				input %%t f32[N, 8, 7, 7]
				input %%b f32[N, 8, 7, 7]
				%%s f32[N, 8, 7, 7] = Add.14(%%t, %%b) "sum"
				output %%go
				output %%s
			}
		}
		output %%y
		`, w[0].String()[2:], w[1].String()[2:])
}

// TestObserve: a model that is compiled with --observe tells of each block's results, whatever their layout, on three threads, with the run's dimensions,
// and in each iteration of a loop; without an observer it is silent.
func TestObserve(t *testing.T) {
	compiler := cpptest.Compiler(t)
	root, chip := absolute(t, repository), factsFile(t, "x86_64")
	t.Chdir(t.TempDir())
	lines := observedNet()
	tiny(t, lines)
	mustRun(t, graphArgs("model.onnx", "--dim=N=1..4")...)
	mustRun(t, compileArgs("model.onnx", chip, "--observe")...)
	require.NoError(t, os.WriteFile("watcher.cc", []byte(watcher), 0o644))
	runtime, err := filepath.Glob(root + "/runtime/dnn_*.cc")
	require.NoError(t, err)
	kernels, err := filepath.Glob("kernels/*.cc")
	require.NoError(t, err)
	args := append(append([]string{"-std=c++17", "-Wall", "-Wextra", "-Werror", "-O1", "-I.", "-I" + root, "-pthread", "-o", "watcher", "watcher.cc", "net.weights.S"}, kernels...), runtime...)
	out, err := exec.Command(compiler, args...).CombinedOutput()
	require.NoError(t, err, "%s", out)
	out, err = exec.Command("./watcher").CombinedOutput()
	require.NoError(t, err, "%s", out)
	assertObserved(t, lines, string(out))
}

// assertObserved compares what the watcher prints with the interpreter: of Relu and of the second convolution, and of the loop's sums of two iterations.
func assertObserved(t *testing.T, lines, printed string) {
	g := irtest.Parse(t, strings.Replace(lines, "output %y\n", "output %b\noutput %c\noutput %y\n", 1))
	x := ir.NewTensor(ir.F32, 3, 8, 7, 7)
	for i := range x.Len() {
		putFloat(x, i, float32(i%17)-8)
	}
	n := ir.NewTensor(ir.I64)
	n.Data[0] = 2
	want, err := interp.Graph(g, map[string]*ir.Tensor{"x": x, "n": n})
	require.NoError(t, err)
	seen, blocked := map[string][]string{}, false
	for _, line := range strings.Split(strings.TrimSpace(printed), "\n") {
		head, elements, _ := strings.Cut(line, ":")
		name := strings.Fields(head)[0]
		seen[name] = append(seen[name], elements)
		blocked = blocked || strings.HasSuffix(head, "blocks")
		if name == "b" {
			assert.Contains(t, head, "f32 3,8,7,7")
		}
	}
	assert.True(t, blocked, "some value is to lie in blocks:\n%.400s", printed)
	for k, name := range []string{"b", "c", "s"} {
		require.NotEmpty(t, seen[name], "%s is not among the values that are told: %.2000s", name, printed)
		for _, elements := range seen[name] {
			if name == "s" && elements == seen[name][0] {
				continue // the loop's first iteration
			}
			requireNearFloats(t, want[k], elements, name)
		}
	}
	assert.Len(t, seen["s"], 2, "what the loop adds is told in each of two iterations")
}

// requireNearFloats compares elements with a tensor of f32.
func requireNearFloats(t *testing.T, want *ir.Tensor, printed, name string) {
	got, err := hex.DecodeString(printed)
	require.NoError(t, err, name)
	require.Len(t, got, len(want.Data), name)
	for i := 0; i < len(got); i += 4 {
		require.InDelta(t, math.Float32frombits(binary.LittleEndian.Uint32(want.Data[i:])), math.Float32frombits(binary.LittleEndian.Uint32(got[i:])), 1e-2, "%s, element %d", name, i/4)
	}
}

func putFloat(x *ir.Tensor, i int64, v float32) {
	binary.LittleEndian.PutUint32(x.Data[4*i:], math.Float32bits(v))
}

// TestObserveRefused: what runs on a DSP tells nothing block by block.
func TestObserveRefused(t *testing.T) {
	chip := factsFile(t, "x86_64")
	t.Chdir(t.TempDir())
	tiny(t, relu)
	mustRun(t, graphArgs("model.onnx")...)
	_, err := dnnc(compileArgs("model.onnx", chip, "--observe", "--remote=v68")...)
	assert.ErrorContains(t, err, "--observe: a DSP does not return the results of each block to the application")
}

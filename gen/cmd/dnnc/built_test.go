package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/emit/cpp/cpptest"
)

// user is a program that uses the compiled model: dims that a node refuses give a status and
// a sentence, and an index out of bounds a status.
const user = `
#include <stdio.h>
#include "net.h"

static void Dims(int64_t n, int64_t m, int64_t k) {
  const app_net_dims d = {n, m, k};
  char text[200] = "";
  const size_t length = app_net_explain_dims(&d, text, sizeof text);
  printf("%d %d %s\n", (int)app_net_check_dims(&d), length > 0, text);
}

int main(void) {
  app_net_model* model = NULL;
  app_net_context* context = NULL;
  const app_net_dims d = {3, 1, 2};
  const app_net_dims bad = {3, 2, 2};
  const float a[] = {1, 2, 3}, b[] = {10};
  int64_t rows[] = {2, -3};
  float y[2] = {0, 0}, copy[3];
  char text[200];
  int64_t constant[2];
  const void* const in[] = {a, b, rows};
  void* const out[] = {y, copy, constant};
  Dims(3, 3, 1);
  Dims(3, 1, 0);
  Dims(3, 2, 1);
  Dims(65, 1, 1);
  if (app_net_create(NULL, &model) != app_net_OK) return 1;
  if (app_net_context_create(model, &context) != app_net_OK) return 1;
  printf("%d\n", (int)app_net_run(context, &bad, in, out));
  printf("%d", (int)app_net_run(context, &d, in, out));
  printf(" %g %g, %g, %d\n", y[0], y[1], copy[2], (int)constant[1]);
  rows[1] = 3;
  printf("%d", (int)app_net_run(context, &d, in, out));
  app_net_explain_run(context, text, sizeof text);
  printf(" %s\n", text);
  rows[1] = 0;
  printf("%d\n", (int)app_net_run(context, &d, in, out));
  app_net_context_destroy(context);
  app_net_destroy(model);
  return 0;
}
`

// TestBuilt compiles a model, what dnnc makes of it, and a program that uses it.
func TestBuilt(t *testing.T) {
	compiler := cpptest.Compiler(t)
	root, chip := absolute(t, repository), factsFile(t, "x86_64")
	runtime, err := filepath.Glob(root + "/runtime/dnn_*.cc")
	require.NoError(t, err)
	t.Chdir(t.TempDir())
	tiny(t, `
		symbol N 1..64
		symbol M 1..64
		symbol K 0..64
		const @c i64[2] = {7, -7}
		input %a f32[N]
		input %b f32[M]
		input %rows i64[K]
		%s ?[*] = Add.14(%a, %b) "sum"
		%y f32[K] = Gather.13(%s, %rows) "pick"
		output %y
		output %a
		output @c
		`)
	mustRun(t, graphArgs("model.onnx", "--dim=N=1..64", "--dim=M=1..64", "--dim=K=0..64")...)
	mustRun(t, compileArgs("model.onnx", chip)...)
	require.NoError(t, os.WriteFile("user.cc", []byte(user), 0o644))
	kernels, err := filepath.Glob("kernels/*.cc")
	require.NoError(t, err)
	args := append(append([]string{"-std=c++17", "-Wall", "-Wextra", "-Werror", "-O1", "-I.", "-I" + root, "-pthread", "-o", "user", "user.cc", "net.weights.S"}, kernels...), runtime...)
	out, err := exec.Command(compiler, args...).CombinedOutput()
	require.NoError(t, err, "%s", out)
	out, err = exec.Command("./user").CombinedOutput()
	require.NoError(t, err, "%s", out)
	assert.Equal(t, `0 0 
0 0 
4 1 Add "sum": dimensions must be equal or 1 to broadcast: N is 3 and M is 2
4 1 the dimension N is 65; it must be 1 to 64
4
0 13 11, 3, -7
13 Gather "pick": an input's value is outside what an operator allows, for example an index out of bounds
0
`, string(out))
}

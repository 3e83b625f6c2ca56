package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/emit/cpp/cpptest"
	"rules_dnn/gen/onnx/onnxtest"
	"rules_dnn/gen/target/hostcpu"
)

// matrixChips are chips without and with products of matrices.
var matrixChips = []string{"x86_64_v4_vnni", "x86_64_sapphire_rapids"}

// TestMatrixVariants: a processor, or a system, that gives no tile registers runs the kernels that want none; and what wants some computes the product,
// by functions that do what the instructions do.
func TestMatrixVariants(t *testing.T) {
	if !hostcpu.Has("avx512vnni") {
		t.Skip("this machine has no AVX-512 with VNNI, which those kernels use besides")
	}
	compiler := cpptest.Compiler(t)
	root, all, facts := absolute(t, repository), allChips(t), factsFiles(t, matrixChips)
	t.Chdir(t.TempDir())
	m, sum := integerProduct()
	require.NoError(t, os.WriteFile("net.onnx", onnxtest.Bytes(m), 0o644))
	mustRun(t, graphArgs("net.onnx")...)
	compileLibrary(t, "net.onnx", matrixChips, facts)
	vnni, amx := matrixChips[0], matrixChips[1]
	made := ""
	for name, text := range tree(t) {
		if strings.HasPrefix(name, amx+"/") {
			made += text
		}
	}
	assert.Contains(t, made, "dnn_amx_tdpbusd")
	right := func(option, name string) []string { return []string{option + " 0 " + name + " ok", fmt.Sprint(sum)} }

	linkChooser(t, compiler, root, integerChooser, variantObjects(t, compiler, root, matrixChips, all))
	if !hostcpu.Has("amxint8") {
		assert.Equal(t, right("-", vnni), choose(t, nil, "", "-"))
		assert.Equal(t, []string{amx + lacking}, choose(t, nil, "", amx))
	}

	const portable = "-DDNN_AMX_PORTABLE"
	c := all[amx]
	c.Copts = append(slices.Clone(c.Copts), portable)
	all[amx] = c
	linkChooser(t, compiler, root, integerChooser, variantObjects(t, compiler, root, matrixChips, all), portable)
	assert.Equal(t, right("-", amx), choose(t, nil, "", "-"))
	assert.Equal(t, right(vnni, vnni), choose(t, nil, "", vnni))
}

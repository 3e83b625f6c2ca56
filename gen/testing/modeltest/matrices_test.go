package modeltest

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/emit/cpp/cpptest"
	"rules_dnn/gen/graph/interp"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/kernel/loop"
	"rules_dnn/gen/program/run"
)

// portable are the flags with which C++ computes what instructions do that this machine may not have, and sanitizers see what it reads and writes.
var portable = []string{"-DDNN_AMX_PORTABLE", "-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"}

// TestMatrixContractions: products of matrices give the interpreter's bytes, also in C++.
func TestMatrixContractions(t *testing.T) {
	chip, all := without(t, "x86_64_sapphire_rapids", "vpdpbusd_u8i8x16", "vpdpbusd_i8u8x16"), integerContractions() // what is left for integers multiplies matrices
	names := make([]string, 0, len(all))
	for name := range all {
		names = append(names, name)
	}
	slices.Sort(names)
	var cases []cpptest.Case
	var wants [][]*ir.Tensor
	matrices := 0
	for _, name := range names {
		g, inputs := all[name].filled(t)
		want, err := interp.Graph(g, inputs)
		require.NoError(t, err)
		p, err := CompileFor(g, chip, nil)
		require.NoError(t, err, name)
		got, err := run.Program(p, InputsOf(p, inputs))
		require.NoError(t, err, name)
		for k, w := range want {
			assert.Equal(t, w.Data, got[k].Data, name)
		}
		for _, call := range p.Calls() {
			loop.Tiles(call.Kernel.Body, func(x loop.Tile) {
				if x.Micro.Instr.Matrix > 0 {
					matrices++
				}
			})
		}
		cases, wants = append(cases, cpptest.Case{Name: name, Program: p, Dims: map[string]int64{"N": 7}, Inputs: InputsOf(p, inputs)}), append(wants, want)
	}
	assert.GreaterOrEqual(t, matrices, 25, "calls of micro-kernels")
	for i, got := range cpptest.Run(t, "../../..", cases, portable...) {
		require.Zero(t, got.Status, names[i])
		for k, w := range wants[i] {
			assert.Equal(t, w.Data, got.Outputs[k].Data, names[i])
		}
	}
}

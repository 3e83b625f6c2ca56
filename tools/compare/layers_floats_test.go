package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/irtest"
	"rules_dnn/gen/onnx"
	"rules_dnn/tools/check"
)

// floatLayersCompiled: --layers names the first block of a network of floats whose values are too
// far from the reference's, by the interpreter's values and by those of a runtime that takes
// models.
func floatLayersCompiled(t *testing.T, network, dnnc, runtime string) {
	o, err := parse([]string{network, "--dims=N=1..64", "--run=N=7", "--reference=interpreter", "--disable=fuse", "--layers", "--dnnc=" + dnnc})
	require.NoError(t, err)
	o.runtime = runtime
	work := t.TempDir()
	chips, err := chooseChips(o, work)
	require.NoError(t, err)
	m, err := open(o, work)
	require.NoError(t, err)
	ref, err := chooseReference(o, m, work)
	require.NoError(t, err)
	p, err := makeProgram(o, m, chips, work)
	require.NoError(t, err)
	var out strings.Builder
	require.NoError(t, new(outcome).compareRuns(o, m, p, ref, work, &out), out.String())
	assert.Contains(t, out.String(), "layers  2 values of blocks, 2 of them in the model: 0 are farther from the reference than 0.0001 of their range\n")
	for _, wrong := range []string{"p", "y"} {
		ref.values = harmed(wrong)
		out.Reset()
		require.NoError(t, new(outcome).compareRuns(o, m, p, ref, work, &out), out.String())
		node := map[string]string{"p": `MatMul "product"`, "y": `Relu "relu"`}[wrong]
		assert.Contains(t, out.String(), "; the first is "+wrong+", of the block "+node+"\n")
		assert.Contains(t, out.String(), "layer   "+wrong+", of the block "+node+" (")
	}
}

// TestNameAsGiven: a value that a precision stores in 16 bits has its name in the model, unless the
// model has the longer name, too.
func TestNameAsGiven(t *testing.T) {
	m := &model{graph: irtest.Parse(t, "input %x f32[2]\n%p ?[*] = Relu.14(%x)\n%q ?[*] = Relu.14(%p)\n%q.f16 ?[*] = Relu.14(%q)\n%y ?[*] = Relu.14(%q.f16)\noutput %y\n")}
	for precision, want := range map[string][]string{
		"fp16": {"p", "q.f16", "y", "p.bf16", "z.f16"},
		"bf16": {"p.f16", "q.f16", "y", "p", "z.f16"},
		"fp32": {"p.f16", "q.f16", "y", "p.bf16", "z.f16"},
	} {
		got := []check.BlockValue{{Name: "p.f16"}, {Name: "q.f16"}, {Name: "y"}, {Name: "p.bf16"}, {Name: "z.f16"}}
		m.nameAsGiven(got, precision)
		var names []string
		for _, v := range got {
			names = append(names, v.Name)
		}
		assert.Equal(t, want, names, precision)
	}
}

// harmed runs models in the interpreter, and changes one element of a value.
func harmed(name string) func(string, map[string]*ir.Tensor) (map[string]*ir.Tensor, error) {
	return func(path string, inputs map[string]*ir.Tensor) (map[string]*ir.Tensor, error) {
		f, err := openFile(path)
		if err != nil {
			return nil, err
		}
		full := &model{}
		if full.graph, err = onnx.Read(f, nil, onnx.Options{}); err != nil {
			return nil, err
		}
		out, err := full.interpret(inputs)
		if err == nil {
			putFloats(out[name].Data, 100)
		}
		return out, err
	}
}

// TestWidened: values of 16 bits are compared as the floats that they are.
func TestWidened(t *testing.T) {
	half := ir.NewTensor(ir.F16, 2)
	copy(half.Data, []byte{0, 0x3c, 0, 0xc0}) // 1, -2
	short := ir.NewTensor(ir.U16, 1)
	copy(short.Data, []byte{0x80, 0x3f}) // 1, in bf16
	assert.Equal(t, f32(1, -2), widened(half, f32(0, 0)))
	assert.Equal(t, f32(1), widened(short, f32(0)))
	assert.Equal(t, short, widened(short, short), "integers that the reference has, too")
}

func putFloats(data []byte, x float32) { copy(data, f32(x).Data) }

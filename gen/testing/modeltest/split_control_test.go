package modeltest

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/emit/cpp"
	"rules_dnn/gen/emit/opencl"
	"rules_dnn/gen/graph/interp"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/irtest"
	"rules_dnn/gen/onnx"
	"rules_dnn/gen/pipeline"
	"rules_dnn/gen/program/plan"
)

// within counts the launches and the transfers in branches and loops.
func within(p *plan.Program) (launches, transfers int) {
	var count func(steps []plan.Step, inside bool)
	count = func(steps []plan.Step, inside bool) {
		for _, s := range steps {
			switch {
			case s.Launch != nil && inside:
				launches++
			case s.Transfer != nil && inside:
				transfers++
			case s.If != nil:
				count(s.If.Then, true)
				count(s.If.Else, true)
			case s.Loop != nil:
				count(s.Loop.Body, true)
			}
		}
	}
	count(p.Steps, false)
	return launches, transfers
}

// controls are graphs with control flow, whose conditions are computed of values.
var controls = map[string]string{
	"branch": `
		input %x f32[4, 8]
		const @zero f32[] = {0.0}
		%m ?[*] = ReduceSum.13(%x) {keepdims = 0} "sum"
		%c ?[*] = Greater.13(%m, @zero) "positive"
		%b ?[*] = If.16(%c; %x) {else_branch = region 1, then_branch = region 0} "branch" regions {
			graph "then" opset 17 {
				input %x ?[*]
				%p ?[*] = Softmax.13(%x) "softmax"
				%t ?[*] = Transpose.13(%p) {perm = [1, 0]} "turn"
				%q ?[*] = MatMul.13(%p, %t) "product"
				%y ?[*] = MatMul.13(%q, %p) "again"
				output %y
			}
			graph "else" opset 17 {
				input %x ?[*]
				%y ?[*] = Softmax.13(%x) "other"
				output %y
			}
		}
		output %b`,
	"loop": `
		input %x f32[4, 8]
		const @most i64[] = {5}
		const @always bool[] = {1}
		const @half f32[] = {0.5}
		const @w f32[8, 8] = {` + strings.Repeat("0.25, -0.125, 0.5, 0.0, ", 15) + `0.25, -0.125, 0.5, 0.0}
		%y ?[*], %ys ?[*] = Loop.16(@most, @always, %x; %x) {body = region 0} "loop" regions {
			graph "body" opset 17 {
				input %i ?[*]
				input %c ?[*]
				input %s ?[*]
				input %x ?[*]
				%p ?[*] = MatMul.13(%s, @w) "product"
				%r ?[*] = Add.14(%p, %x) "sum"
				%t ?[*] = MatMul.13(%r, @w) "next"
				%m ?[*] = ReduceMax.13(%t) {keepdims = 0} "greatest"
				%go ?[*] = Greater.13(%m, @half) "go on"
				output %go
				output %r
				output %t
			}
		}
		output %y
		output %ys`,
}

// TestSplitControl: branches and loops are the host's, and what they run may be the device's. The conditions are computed on the
// device, too, and read back.
func TestSplitControl(t *testing.T) {
	for _, name := range slices.Sorted(maps.Keys(controls)) {
		for _, split := range Splits {
			for _, device := range Devices {
				for _, scale := range []float32{1. / 64, -1. / 64} {
					t.Run(fmt.Sprintf("%s/%s/%s/%v", name, split, device, scale), func(t *testing.T) {
						inputs := map[string]*ir.Tensor{"x": rising(scale, 4, 8)}
						want, err := interp.Graph(irtest.Parse(t, controls[name]), inputs)
						require.NoError(t, err)
						p, got, err := RunSplit(irtest.Parse(t, controls[name]), Config{Chip: "x86_64_v3"}, device, split, 5, inputs)
						require.NoError(t, err)
						for i := range want {
							require.NoError(t, compare(got[i], want[i]), p.String())
						}
						if split == Devoted {
							launches, transfers := within(p)
							assert.Greater(t, launches, 1, p.String())
							assert.Greater(t, transfers, 0, p.String())
							assert.Empty(t, p.Calls(), "control flow alone is the host's")
						}
					})
				}
			}
		}
	}
}

// rising are multiples of a number, from 0 on.
func rising(by float32, shape ...int64) *ir.Tensor {
	xs := make([]float32, shape[0]*shape[1])
	for i := range xs {
		xs[i] = by * float32(i)
	}
	t := f32(xs...)
	t.Shape = shape
	return t
}

// TestSplitNetwork: a trained network of convolutions, divided in every way.
func TestSplitNetwork(t *testing.T) {
	data, err := os.ReadFile("../../../app/resnet20_cifar10.onnx")
	require.NoError(t, err)
	read := func() *ir.Graph {
		g, err := onnx.Read(&ir.File{R: bytes.NewReader(data), Size: int64(len(data))}, nil, onnx.Options{})
		require.NoError(t, err)
		return g
	}
	x := ir.NewTensor(ir.F32, 1, 3, 32, 32)
	for i := range x.Len() {
		binary.LittleEndian.PutUint32(x.Data[4*i:], math.Float32bits(float32(i%37)/37-0.5))
	}
	inputs := map[string]*ir.Tensor{read().Inputs[0].Name: x}
	want, err := interp.Graph(read(), inputs)
	require.NoError(t, err)
	for i, split := range Splits[:3] {
		device := Devices[i%2]
		p, got, err := RunSplit(read(), Config{Chip: "x86_64_v3"}, device, split, 3, inputs)
		require.NoError(t, err)
		require.NoError(t, compare(got[0], want[0]), "%s, %s", split, device)
		t.Logf("%s, %s: %d calls, %d launches, %d transfers", split, device, len(p.Calls()), len(p.Launches()), len(p.Transfers()))
		if split != Priced {
			assert.NotEmpty(t, p.Calls())
			assert.NotEmpty(t, p.Launches())
		}
	}
}

// TestSplitByPrice: what the device computes in far less time goes there, if the transfers do not cost more.
func TestSplitByPrice(t *testing.T) {
	const text = `
		input %x f32[64, 512]
		const @w f32[512, 512] = {...}
		%a ?[*] = MatMul.13(%x, @w) "first"
		%b ?[*] = MatMul.13(%a, @w) "second"
		%k ?[*], %i ?[*] = TopK.11(%b, @k) "best"
		%y ?[*] = Softmax.13(%k) "small"
		output %y`
	weights := "{" + strings.TrimSuffix(strings.Repeat("0.01, -0.02, 0.03, 0.04, ", 512*512/4), ", ") + "}"
	source := "\t\tconst @k i64[1] = {3}\n" + strings.Replace(text, "{...}", weights, 1)
	host, err := Chip("x86_64_v3")
	require.NoError(t, err)
	for _, c := range []struct {
		gbs      float64 // of the link
		launches []string
	}{
		{12, []string{`MatMul "first"`, `MatMul "second"`}},
		{0.01, nil},
	} {
		device, err := Chip("opencl_buffers")
		require.NoError(t, err)
		device.OpenCL.LinkGBs = c.gbs
		p, err := compile(&pipeline.State{Graph: irtest.Parse(t, source), Target: host, Device: device}, nil)
		require.NoError(t, err)
		var launches []string
		for _, l := range p.Launches() {
			launches = append(launches, l.Block.Label())
		}
		assert.Equal(t, c.launches, launches, p.String())
		assert.Len(t, p.Transfers(), len(launches), "x goes there and b comes back, or none does")
		assert.NotEmpty(t, p.Calls(), "TopK is the host's")

		_, err = cpp.Print(p, "p", 1)
		if len(launches) > 0 {
			require.ErrorContains(t, err, "print the device's kernels first")
		}
		source, err := opencl.Print(p, device)
		require.NoError(t, err)
		require.Len(t, source.Calls, len(launches))
		_, err = cpp.Print(p, "p", 1)
		require.NoError(t, err)
		for i, l := range p.Launches() {
			for d, local := range source.Calls[i].Group {
				assert.True(t, l.Local[d].Is(local), "kernels and launches have the same groups")
			}
		}
	}
}

package opencl_test

import (
	"flag"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/emit/opencl"
)

var update = flag.Bool("update", false, "write the golden files anew")

// TestGolden shows kernels: of images (texels read once for a reduction's lanes, written whole), of a
// chain whose workers have memory of their own, of an index that is loaded and checked, of a register tile.
func TestGolden(t *testing.T) {
	for _, c := range []struct {
		name, device string
		model        *model
	}{
		{"residual", "opencl_images", blocks[1].model},
		{"softmax", "opencl_buffers", newModel().line("symbol N 1..9").line("input %%x f32[N, 300]").
			line("%%y ?[*] = Softmax.13(%%x)").line("output %%y")},
		{"gather", "opencl_buffers", newModel().line("input %%x f16[10, 4]").line("input %%i i64[3]").
			line("%%y ?[*] = Gather.13(%%x, %%i)").line("output %%y")},
		{"gemm", fewCores, newModel().weights("w", 20, 24).line("input %%x f32[50, 20]").
			line("%%y ?[*] = MatMul.13(%%x, @w)").line("output %%y")},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := device(t, c.device)
			source := func() string {
				s, err := opencl.Print(compile(t, c.model.graph(t), d), d)
				require.NoError(t, err)
				return s.Text
			}
			golden, got := "testdata/"+c.name+".cl", source()
			if *update {
				require.NoError(t, os.WriteFile(golden, []byte(got), 0o644))
			}
			want, err := os.ReadFile(golden)
			require.NoError(t, err)
			assert.Equal(t, string(want), got, "go test ./gen/emit/opencl -run TestGolden -update writes the file anew")
			assert.Equal(t, got, source(), "the same each time")
		})
	}
}

// TestNeeds: what a device may lack is said, and nothing else.
func TestNeeds(t *testing.T) {
	d := device(t, "opencl_buffers")
	for op, want := range map[string][]string{"Exp.13": nil, "Sin.7": nil, "Pow.15": {"cl_khr_fp64"}} {
		m := newModel().line("input %%double_x f32[8]")
		args := "%double_x"
		if op == "Pow.15" {
			args = "%double_x, %double_x"
		}
		m.line("%%y ?[*] = %s(%s)", op, args).line("output %%y")
		s, err := opencl.Print(compile(t, m.graph(t), d), d)
		require.NoError(t, err)
		assert.Equal(t, want, s.Needs, op)
	}
	m := newModel().line("input %%x f64[8]").line("%%y ?[*] = Neg.13(%%x)").line("output %%y")
	s, err := opencl.Print(compile(t, m.graph(t), d), d)
	require.NoError(t, err)
	assert.Equal(t, []string{"cl_khr_fp64"}, s.Needs)
	top := newModel().line("const @k i64[1] = {2}").line("input %%x f32[8]").line("%%y ?[*], %%i ?[*] = TopK.11(%%x, @k)").line("output %%y").line("output %%i")
	_, err = opencl.Print(compile(t, top.graph(t), d), d)
	assert.ErrorContains(t, err, "TopK (result \"y\"): it runs on the host")
	d.OpenCL = nil
	_, err = opencl.Print(compile(t, m.graph(t), d), d)
	assert.ErrorContains(t, err, `the facts of opencl_buffers do not say how OpenCL kernels run`)
}

// TestIndices: a program computes indices in 32 bits where they suffice.
func TestIndices(t *testing.T) {
	d := device(t, "opencl_buffers")
	for dims, want := range map[string]int{"1..4096": 4, "1..999999999": 8} {
		m := newModel().line("symbol N %s", dims).line("input %%x f32[N, 16]").line("%%y ?[*] = Neg.13(%%x)").line("output %%y")
		s, err := opencl.Print(compile(t, m.graph(t), d), d)
		require.NoError(t, err)
		assert.Equal(t, want, s.IndexBytes, dims)
	}
}

package opencl_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"rules_dnn/gen/emit/opencl"
	"rules_dnn/gen/kernel/sched/schedtest"
)

// TestTogether: an instruction that items apply together is there where a macro is defined, which a probe is for; copies of halves copy bits, eight at a
// time to memory that items share, and from memory where neighbours lie at multiples of four.
func TestTogether(t *testing.T) {
	x := schedtest.Halves()
	d := device(t, x.Chip)
	src, err := opencl.Print(program(t, x, d), d)
	require.NoError(t, err)
	require.Equal(t, "DNN_TOGETHER", src.Probed)
	require.Contains(t, src.Probe, "mma.sync.aligned.m16n8k16")
	require.Equal(t, 1, strings.Count(src.Text, "#ifdef "+src.Probed))
	require.Equal(t, 2, strings.Count(src.Text, "mma.sync"), "two rows by two registers of two columns")
	require.Equal(t, 2, strings.Count(src.Text, "ldmatrix.sync.aligned.m8n8.x4"), "of each factor")
	require.Contains(t, src.Probe, "ldmatrix.sync.aligned.m8n8.x4")
	require.Contains(t, src.Text, "a0_0_0 = mad(x0, w0_0, a0_0_0);", "and what an item computes by itself elsewhere")
	kernel := src.Text[strings.LastIndex(src.Text, "__kernel"):]
	require.Equal(t, 2, strings.Count(kernel, "*(__local ushort8*)&s"))
	require.NotContains(t, kernel, "__global const ushort4", "what an application brings may lie anywhere")
	require.NotContains(t, kernel, "dnn_f16_to_f32")

	plain := schedtest.Ahead()
	d = device(t, plain.Chip)
	src, err = opencl.Print(program(t, plain, d), d)
	require.NoError(t, err)
	require.Empty(t, src.Probe+src.Probed)
}

package fkw

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"rules_dnn/gen/ir"
)

// patterns of a 3x3 kernel that keep the centre and three of its neighbours.
var patterns = []Pattern{0x1b, 0x36, 0xd8, 0x1b0, 0xb2}

// pruned is random weights, of which each kernel is dropped by a chance, or keeps a pattern.
func pruned(seed uint64, dropped float64, shape ...int64) *ir.Tensor {
	r := rand.New(rand.NewPCG(seed, 1))
	w := ir.NewTensor(ir.F32, shape...)
	taps := int(shape[2] * shape[3])
	for k := range int(shape[0] * shape[1]) {
		if p := patterns[r.IntN(len(patterns))]; r.Float64() >= dropped {
			for _, t := range p.Taps() {
				binary.LittleEndian.PutUint32(w.Data[4*(k*taps+t):], math.Float32bits(r.Float32()+0.5))
			}
		}
	}
	return w
}

// TestRoundTrip: dense weights come back, whatever was dropped.
func TestRoundTrip(t *testing.T) {
	for name, w := range map[string]*ir.Tensor{
		"all kernels":         pruned(1, 0, 8, 6, 3, 3),
		"some kernels":        pruned(2, 0.7, 16, 12, 3, 3),
		"one filter":          pruned(3, 0.5, 1, 7, 3, 3),
		"nothing":             pruned(4, 1, 4, 5, 3, 3),
		"no filters":          pruned(5, 0, 0, 5, 3, 3),
		"more than one block": pruned(6, 0.72, 70, 33, 3, 3),
	} {
		t.Run(name, func(t *testing.T) {
			x, err := Encode(w, patterns)
			require.NoError(t, err)
			require.Equal(t, w.Data, x.Decode(w.Shape).Data)
			e, err := Parse(x.String())
			require.NoError(t, err)
			require.Equal(t, x.Encoding, *e)
			total := int64(0)
			for i, a := range x.Arrays() {
				total += int64(len(a.Data))
				require.Len(t, a.Data, int(a.Len())*a.Type.Size(), "array %d", i)
			}
			require.Equal(t, total, StructureBytes(w.Shape[0], x.Kernels, int64(len(patterns)))+int64(len(x.Values)))
		})
	}
}

// TestOrder: the filters of figure 2.10, and of equal length those next to each other that share kernels.
func TestOrder(t *testing.T) {
	filters := [][]kernel{
		{{2, 0}, {0, 1}},
		{{2, 1}, {3, 1}},
		{{0, 0}, {2, 0}, {3, 1}},
		{{2, 0}, {1, 1}},
		{},
		{{0, 1}, {3, 1}},
	}
	require.Equal(t, []int{2, 0, 3, 1, 5, 4}, order(filters), "longest first; 3 shares a kernel with 0, and 5 with 1")
}

// TestKernels: within a filter, kernels of a pattern lie together.
func TestKernels(t *testing.T) {
	x, err := Encode(pruned(7, 0.4, 9, 20, 3, 3), patterns)
	require.NoError(t, err)
	for f := range x.Reorder {
		stride := x.Stride[f*(len(patterns)+1) : (f+1)*(len(patterns)+1)]
		require.True(t, slices.IsSorted(stride))
		require.Equal(t, x.Offset[f+1]-x.Offset[f], int32(stride[len(patterns)]))
	}
}

// TestOverhead: of the paper's layers L4 and L6 at 8x, beside the 32-bit column indices and row pointers of CSR (figure 2.16).
func TestOverhead(t *testing.T) {
	for _, n := range []int64{128, 256} {
		x, err := Encode(pruned(8, 1-1/3.6, n, n, 3, 3), patterns)
		require.NoError(t, err)
		arrays := x.Arrays()
		ours := 0
		for _, a := range arrays[:4] {
			ours += len(a.Data)
		}
		csr := len(arrays[4].Data) + 4*int(n+1)
		require.InDelta(t, 0.85, 1-float64(ours)/float64(csr), 0.02, "saved of the indices of %d filters", n)
	}
}

// TestRefused: what the format does not take is told.
func TestRefused(t *testing.T) {
	dense := ir.NewTensor(ir.F32, 2, 3, 3, 3)
	for i := range dense.Data {
		dense.Data[i] = 1
	}
	for _, x := range []struct {
		what     string
		w        *ir.Tensor
		patterns []Pattern
		want     string
	}{
		{"a kernel of no pattern", dense, patterns, "the kernel of filter 0 and channel 0 keeps the taps [0 1 2 3 4 5 6 7 8], which no pattern has"},
		{"a matrix", ir.NewTensor(ir.F32, 2, 3), patterns, "weights of shape [2 3]; want filters (at most 65536), channels (fewer than 65536), and taps"},
		{"more taps than a pattern has bits", ir.NewTensor(ir.F32, 1, 1, 9, 9), patterns, "kernels of 81 taps; 64 at most"},
		{"a tap beyond the kernel", ir.NewTensor(ir.F32, 1, 1, 2, 2), []Pattern{0x1b}, "pattern 1b has a tap beyond the 4 of a kernel"},
		{"patterns of other lengths", dense, []Pattern{0x1b, 7}, "pattern 7 has 3 taps, and 1b has 4: kernels keep as many"},
		{"a pattern twice", dense, []Pattern{0x1b, 0x1b}, "pattern 1b occurs twice"},
		{"no taps", dense, []Pattern{0}, "a pattern without taps"},
		{"no patterns", dense, nil, "0 patterns; want 1 to 256"},
	} {
		_, err := Encode(x.w, x.patterns)
		require.EqualError(t, err, x.want, x.what)
	}
	for text, want := range map[string]string{
		"csr":                    `encoding "csr": want fkw of N kernels, and their patterns in hexadecimal`,
		"fkw of x kernels 1b":    `encoding "fkw of x kernels 1b": "x" is no number of kernels`,
		"fkw of 3 kernels 1b zz": `encoding "fkw of 3 kernels 1b zz": "zz" is no pattern: want its taps as bits, in hexadecimal`,
		"fkw of -1 kernels 1b":   "-1 kernels; want 0 to 1073741824",
	} {
		_, err := Parse(text)
		require.EqualError(t, err, want)
	}
}

package fkw

import (
	"encoding/binary"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"rules_dnn/gen/ir"
)

// patterns of a 3x3 kernel that keep the centre and three of its neighbours.
var patterns = []Pattern{0x1b, 0x36, 0xd8, 0x1b0, 0xb2}

// own are patterns of filters each of which keeps what it likes.
func own(patterns []Pattern) Encoding { return Encoding{Patterns: patterns, Share: 1} }

// shared keeps the same kernels and taps of so many neighbouring filters.
func alike(seed uint64, dropped float64, share int64, shape ...int64) *ir.Tensor {
	w := pruned(seed, dropped, shape...)
	one := int(shape[1] * shape[2] * shape[3] * 4)
	for f := range int(shape[0]) {
		copy(w.Data[f*one:(f+1)*one], w.Data[f/int(share)*int(share)*one:])
	}
	return w
}

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

// found is what Find finds.
func found(t *testing.T, w *ir.Tensor, share, block int64) *Encoding {
	t.Helper()
	e, err := Find(w, share, block)
	require.NoError(t, err)
	return e
}

// decoded is the elements that decoding gives.
func decoded(t *testing.T, x *Weights, of *ir.Tensor) []byte {
	t.Helper()
	out, err := x.Decode(of.Shape)
	require.NoError(t, err)
	return out.Data
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
			given := own(patterns)
			given.Given = true
			x, err := Encode(w, given)
			require.NoError(t, err)
			require.Equal(t, w.Data, decoded(t, x, w), "in the order in which it was")
			require.True(t, slices.IsSorted(x.Reorder))
			e, err := Parse(x.String())
			require.NoError(t, err)
			require.Equal(t, x.Encoding, *e)
			x, err = Encode(w, own(patterns))
			require.NoError(t, err)
			require.Equal(t, w.Data, decoded(t, x, w))
			e, err = Parse(x.String())
			require.NoError(t, err)
			require.Equal(t, x.Encoding, *e)
			total := int64(0)
			for i, a := range x.Arrays() {
				data, err := a.Bytes()
				require.NoError(t, err)
				total += int64(len(data))
				require.Len(t, data, int(a.Len())*a.Type.Size(), "array %d", i)
			}
			require.Equal(t, total, StructureBytes(w.Shape[0], x.Kernels, int64(len(patterns)))+4*x.Values.Len())
		})
	}
}

// TestShared: filters that share what they keep are found, stored as one, and come back, those of a group that is not full too.
func TestShared(t *testing.T) {
	for name, x := range map[string]struct {
		w            *ir.Tensor
		share, block int64
	}{
		"groups of 16":         {alike(1, 0.7, 16, 48, 40, 3, 3), 16, 0},
		"blocks of 16":         {alike(2, 0.7, 8, 32, 40, 3, 3), 8, 16},
		"a group of 5":         {alike(3, 0.6, 8, 21, 20, 3, 3), 8, 64},
		"each has its own":     {pruned(4, 0.6, 10, 20, 3, 3), 1, 8},
		"groups of two groups": {alike(5, 0.7, 16, 32, 20, 3, 3), 8, 8},
	} {
		t.Run(name, func(t *testing.T) {
			e := found(t, x.w, x.share, x.block)
			require.NotNil(t, e)
			require.ElementsMatch(t, patterns, e.Patterns)
			out, err := Encode(x.w, *e)
			require.NoError(t, err)
			require.Equal(t, *e, out.Encoding, "Find counts the kernels that Encode stores")
			require.Equal(t, x.w.Data, decoded(t, out, x.w))
			parsed, err := Parse(out.String())
			require.NoError(t, err)
			require.Equal(t, out.Encoding, *parsed)
			require.Len(t, out.Stride, int(out.Stored(x.w.Shape[0])*out.Ends(x.w.Shape[1])))
		})
	}
}

// TestFind: what has few zeros, many patterns or no zeros at the same places is not pruned; kernels that keep fewer taps take a pattern that has them.
func TestFind(t *testing.T) {
	require.Nil(t, found(t, pruned(1, 0, 8, 6, 3, 3), 8, 0), "filters that share nothing")
	require.NotNil(t, found(t, pruned(1, 0, 8, 6, 3, 3), 1, 0), "patterns alone")
	require.Nil(t, found(t, ir.NewTensor(ir.F32, 8, 6, 3, 3), 1, 0), "nothing is kept")
	fewer := pruned(2, 0.5, 8, 6, 3, 3)
	for k := range 8 * 6 {
		binary.LittleEndian.PutUint32(fewer.Data[4*(k*9+4):], 0) // all have the centre
	}
	require.Equal(t, 3, found(t, fewer, 1, 0).Entries())
	binary.LittleEndian.PutUint32(fewer.Data, math.Float32bits(1))
	e := found(t, fewer, 1, 0)
	x, err := Encode(fewer, *e)
	require.NoError(t, err)
	require.Equal(t, fewer.Data, decoded(t, x, fewer))
	require.Nil(t, found(t, alike(3, 1, 1, 8, 6, 3, 3), 1, 0))
}

// TestNegativeZeros: weights times masks are -0 where they were negative, and are dropped as 0 is.
func TestNegativeZeros(t *testing.T) {
	w := pruned(1, 0.5, 8, 6, 3, 3)
	want, n := found(t, w, 1, 0), 0
	for i := range w.Len() {
		if binary.LittleEndian.Uint32(w.Data[4*i:]) == 0 && i%2 == 0 {
			binary.LittleEndian.PutUint32(w.Data[4*i:], 1<<31)
			n++
		}
	}
	require.Positive(t, n)
	require.NotNil(t, want)
	require.Equal(t, want, found(t, w, 1, 0))
	_, err := Encode(w, *want)
	require.NoError(t, err)
	require.True(t, Zero([]byte{0, 0x80}), "halves, too")
	require.False(t, Zero([]byte{0x80, 0}))
	require.False(t, Zero([]byte{0, 1, 0, 0x80}))
}

// TestScattered: of single weights that are kept anywhere there are too many patterns. Kernels of which some are kept are stored whole, if few are.
func TestScattered(t *testing.T) {
	scattered := func(kept float64) *ir.Tensor {
		r := rand.New(rand.NewPCG(9, 9))
		w := ir.NewTensor(ir.F32, 40, 50, 3, 3)
		for i := range w.Len() {
			if r.Float64() < kept {
				binary.LittleEndian.PutUint32(w.Data[4*i:], math.Float32bits(r.Float32()+1))
			}
		}
		return w
	}
	w := scattered(0.04)
	e := found(t, w, 1, 0)
	require.Equal(t, []Pattern{0x1ff}, e.Patterns)
	require.InDelta(t, 0.31, float64(e.Kernels)/2000, 0.02)
	x, err := Encode(w, *e)
	require.NoError(t, err)
	require.Equal(t, w.Data, decoded(t, x, w))
	require.Nil(t, found(t, scattered(0.12), 1, 0), "of too many kernels a weight is kept")
}

// TestPoints: the points of a group are those that any of its filters keeps, and weights that the format does not take have none.
func TestPoints(t *testing.T) {
	w := alike(1, 0.7, 8, 20, 6, 3, 3) // groups of 8, 8 and 4
	for _, share := range []int64{1, 8, 16} {
		points, err := Points(w, share)
		require.NoError(t, err)
		require.Len(t, points, int((20+share-1)/share))
		const row = 6 * 9
		for g, got := range points {
			var want []int32
			for p := range int32(row) {
				for f := int64(g) * share; f < min(20, int64(g+1)*share); f++ {
					if !Zero(w.Data[4*(f*row+int64(p)):][:4]) {
						want = append(want, p)
						break
					}
				}
			}
			require.Equal(t, want, got, "group %d of %d", g, share)
		}
	}
	points, err := Points(ir.NewTensor(ir.F32, 2, 3, 9, 9), 2)
	require.NoError(t, err)
	require.Nil(t, points)
}

// TestLarge: weights that are not in memory, of more than are read at once, are found and stored alike, whichever part of what is stored is read.
func TestLarge(t *testing.T) {
	const filters, channels, share = 300, 20_000, 16
	fill := func(b []byte, first int64) error {
		clear(b)
		for i := range int64(len(b)) / 4 {
			if f, c := (first+i)/channels, (first+i)%channels; (c*7+f/share*3)%10 == 0 {
				binary.LittleEndian.PutUint32(b[4*i:], uint32(first+i)|1<<30)
			}
		}
		return nil
	}
	w := ir.Computed(ir.F32, []int64{filters, channels}, channels, fill)
	require.Greater(t, 4*w.Len(), int64(batchBytes))
	e := found(t, w, share, 64)
	require.NotNil(t, e)
	x, err := Encode(w, *e)
	require.NoError(t, err)
	require.Equal(t, *e, x.Encoding)
	held := ir.NewTensor(ir.F32, filters, channels)
	require.NoError(t, fill(held.Data, 0))
	require.True(t, slices.Equal(held.Data, decoded(t, x, held)))
	whole, err := x.Values.Bytes()
	require.NoError(t, err)
	r := rand.New(rand.NewPCG(1, 2))
	for range 20 {
		from := r.IntN(len(whole))
		part := make([]byte, r.IntN(min(100_000, len(whole)-from)+1))
		require.NoError(t, x.Values.ReadBytes(part, int64(from)))
		require.True(t, slices.Equal(whole[from:from+len(part)], part), "%d bytes from %d on", len(part), from)
	}
	broken := ir.Computed(ir.F32, []int64{filters, channels}, channels, func([]byte, int64) error { return errors.New("cut off") })
	_, err = Find(broken, share, 0)
	require.EqualError(t, err, "cut off")
	_, err = Encode(broken, *e)
	require.EqualError(t, err, "cut off")
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
	require.Equal(t, []int{2, 0, 3, 1, 5, 4}, order(filters, shared), "longest first; 3 shares a kernel with 0, and 5 with 1")
}

// TestManyFilters: neighbours are found among some of very many filters, not all.
func TestManyFilters(t *testing.T) {
	const filters, kernels = maxIndex, 24
	r := rand.New(rand.NewPCG(5, 6))
	all := make([][]kernel, filters)
	for f := range all {
		for c := range int32(kernels) {
			all[f] = append(all[f], kernel{c, r.Int32N(8)})
		}
	}
	compared := 0
	seen := make([]bool, filters)
	counted := func(a, b []kernel) int { compared++; return shared(a, b) }
	for _, f := range order(all, counted) {
		require.False(t, seen[f], "filter %d is stored twice", f)
		seen[f] = true
	}
	require.NotContains(t, seen, false)
	require.LessOrEqual(t, compared, filters*128, "filters that are compared")
}

// TestKernels: within a filter, kernels of a pattern lie together.
func TestKernels(t *testing.T) {
	x, err := Encode(pruned(7, 0.4, 9, 20, 3, 3), own(patterns))
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
		x, err := Encode(pruned(8, 1-1/3.6, n, n, 3, 3), own(patterns))
		require.NoError(t, err)
		arrays := x.Arrays()
		ours := 0
		for _, a := range arrays[:4] {
			ours += len(a.Data)
		}
		csr := 4*int(arrays[4].Len()) + 4*int(n+1)
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
		{"a kernel of no pattern", dense, patterns, "the kernel of filter 0 and channel 0 keeps the taps [0 1 2 3 4 5 6 7 8]; no pattern has these taps"},
		{"a vector", ir.NewTensor(ir.F32, 2), patterns, "weights of shape [2]; want filters (at most 65536), channels (fewer than 65536), and taps"},
		{"more taps than a pattern has bits", ir.NewTensor(ir.F32, 1, 1, 9, 9), patterns, "kernels of 81 taps; want 1 to 64"},
		{"a tap beyond the kernel", ir.NewTensor(ir.F32, 1, 1, 2, 2), []Pattern{0x1b}, "pattern 1b has a tap beyond the 4 taps of a kernel"},
		{"patterns of other lengths", dense, []Pattern{0x1b, 7}, "pattern 7 has 3 taps, and 1b has 4; want the same number in all patterns"},
		{"a pattern twice", dense, []Pattern{0x1b, 0x1b}, "pattern 1b occurs twice"},
		{"no taps", dense, []Pattern{0}, "a pattern without taps"},
		{"no patterns", dense, nil, "0 patterns; want 1 to 256"},
	} {
		_, err := Encode(x.w, own(x.patterns))
		require.EqualError(t, err, x.want, x.what)
	}
	for text, want := range map[string]string{
		"csr":                                     `encoding "csr": want fkw of N kernels, and their patterns in hexadecimal`,
		"fkw of x kernels 1b":                     `encoding "fkw of x kernels 1b": want fkw of N kernels, and their patterns in hexadecimal`,
		"fkw of 3 kernels 1b zz":                  `encoding "fkw of 3 kernels 1b zz": "zz" is not a pattern; want its taps as bits, in hexadecimal`,
		"fkw of 3 kernels shared by 1b":           `encoding "fkw of 3 kernels shared by 1b": want a number of filters after "shared by", and of channels after "in blocks of"`,
		"fkw of 3 kernels by 1b":                  `encoding "fkw of 3 kernels by 1b": want a number of planes after "by"`,
		"fkw of 3 kernels by 65 planes 1b":        "65 planes; want 1 to 64, or none",
		"fkw of 3 kernels by 2 planes as given 1": "planes of unpruned kernels",
		"fkw of 3 kernels shared by 65 1b":        "65 filters share what they keep; want 1 to 64",
		"fkw of 3 kernels in blocks of -1 1b":     "blocks of -1 channels",
		"fkw of -1 kernels 1b":                    "-1 kernels; want 0 to 1073741824",
	} {
		_, err := Parse(text)
		require.EqualError(t, err, want)
	}
}

package opaque

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"rules_dnn/gen/ir"
)

// TestPhilox compares with the known answers that the authors of Philox publish.
func TestPhilox(t *testing.T) {
	require.Equal(t, [4]uint32{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}, words(0, 0, 0, 0))
	all := [4]uint32{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}
	require.Equal(t, all, words(math.MaxUint32, -1, math.MaxUint32, -1))
	seed, iteration := uint64(0x299f31d0a4093822), uint64(0x13198a2e85a308d3)
	require.Equal(t, [4]uint32{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}, words(0x243f6a88, int64(iteration), 0x03707344, int64(seed)))
}

// TestNormalsAreThose compares what integers compute with floats, up to the ends of both words.
func TestNormalsAreThose(t *testing.T) {
	at := []uint32{0, 1, 2, 1 << 29, 1<<29 - 1, 1 << 30, 1 << 31, 1<<31 + 1<<29, math.MaxUint32 - 1, math.MaxUint32, 0xB504F333, 0xB504F334}
	for i := range uint32(1000) {
		at = append(at, i*4294967)
	}
	for i, length := range at {
		turn := at[(i*7)%len(at)]
		x, y := normals(length, turn)
		r := math.Sqrt(-2 * math.Log((float64(length)+0.5)/(1<<32)))
		s, c := math.Sincos(2 * math.Pi * float64(turn) / (1 << 32))
		require.InDelta(t, r*c, float64(x), 5e-5, "%d %d", length, turn) // the least length is the least exact
		require.InDelta(t, r*s, float64(y), 5e-5, "%d %d", length, turn)
		if r > 0.01 {
			require.InDelta(t, r*c, float64(x), 5e-7, "%d %d", length, turn)
		}
	}
}

// drawn are numbers in f32, sorted, and their first four moments around the mean.
func drawn(d Draw, n, seed, iteration int64) (sorted []float64, mean, variance, skew, kurtosis float64) {
	y := Random(ir.F32, []int64{n}, d, seed, iteration)
	l, _ := listOf(y)
	for _, x := range l.floats {
		mean += x / float64(n)
	}
	for _, x := range l.floats {
		z := x - mean
		variance += z * z / float64(n)
		skew += z * z * z / float64(n)
		kurtosis += z * z * z * z / float64(n)
	}
	skew /= math.Pow(variance, 1.5)
	kurtosis /= variance * variance
	slices.Sort(l.floats)
	return l.floats, mean, variance, skew, kurtosis
}

// farthest is the greatest distance between a sample's distribution and one that is given (Kolmogorov and Smirnov).
func farthest(sorted []float64, below func(float64) float64) float64 {
	most, n := 0.0, float64(len(sorted))
	for i, x := range sorted {
		p := below(x)
		most = max(most, math.Abs(p-float64(i)/n), math.Abs(p-float64(i+1)/n))
	}
	return most
}

// TestDistributions holds moments and distributions to five standard deviations, and the farthest
// distance to what one of a million samples exceeds.
func TestDistributions(t *testing.T) {
	const n = 1 << 18
	bound := 5 / math.Sqrt(n)
	for seed := range int64(4) {
		x, mean, variance, skew, kurtosis := drawn(Draw{Normal: true, A: 2, B: 3, Stream: seed}, n, seed, 0)
		require.InDelta(t, 2, mean, 3*bound)
		require.InDelta(t, 9, variance, 9*math.Sqrt2*bound)
		require.InDelta(t, 0, skew, math.Sqrt(6)*bound)
		require.InDelta(t, 3, kurtosis, math.Sqrt(24)*bound)
		require.Less(t, farthest(x, func(x float64) float64 { return math.Erfc(-(x-2)/3/math.Sqrt2) / 2 }), 2.7/math.Sqrt(n))

		x, mean, variance, _, _ = drawn(Draw{A: -1, B: 4, Stream: seed}, n, seed, 0)
		require.InDelta(t, 1, mean, 4/math.Sqrt(12)*bound)
		require.InDelta(t, 16./12, variance, 16*math.Sqrt(1./180)*bound)
		require.Less(t, farthest(x, func(x float64) float64 { return (x + 1) / 4 }), 2.7/math.Sqrt(n))
		require.GreaterOrEqual(t, x[0], -1.0)
		require.Less(t, x[n-1], 3.0)
	}
}

// TestStreams: seeds, streams, iterations and neighbours have nothing to do with each other.
func TestStreams(t *testing.T) {
	const n = 1 << 16
	of := func(stream, seed, iteration int64) []float64 {
		l, err := listOf(Random(ir.F32, []int64{n}, Draw{Normal: true, B: 1, Stream: stream}, seed, iteration))
		require.NoError(t, err)
		return l.floats
	}
	correlation := func(a, b []float64) float64 {
		sum := 0.0
		for i := range b {
			sum += a[i] * b[i] / float64(len(b))
		}
		return sum
	}
	base := of(0, 0, 0)
	for _, other := range [][]float64{of(1, 0, 0), of(0, 1, 0), of(0, 1<<32, 0), of(0, 0, 1), of(0, 0, 1<<32), base[1:], base[2:], base[4:]} {
		require.InDelta(t, 0, correlation(base, other), 5/math.Sqrt(n-4))
	}
	require.Equal(t, base, of(0, 0, 0))
	// A longer tensor begins as a shorter one does, in any type.
	long, err := listOf(Random(ir.F64, []int64{3, n}, Draw{Normal: true, B: 1}, 0, 0))
	require.NoError(t, err)
	require.Equal(t, base, long.floats[:n])
	odd, err := listOf(Random(ir.F32, []int64{7}, Draw{Normal: true, B: 1}, 0, 0))
	require.NoError(t, err)
	require.Equal(t, base[:7], odd.floats)
}

package prune

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"rules_dnn/gen/compress/masks"
	"rules_dnn/gen/kernel/fkw"
)

// random is a layer with random weights.
func random(seed uint64, axis, groups int, shape ...int64) (*Layer, []float32) {
	r := rand.New(rand.NewPCG(seed, 2))
	n := int64(1)
	for _, d := range shape {
		n *= d
	}
	w := make([]float32, n)
	for i := range w {
		w[i] = float32(r.NormFloat64())
	}
	return &Layer{Name: "w", Node: "n", Op: "Conv", Shape: shape, FilterAxis: axis, Groups: groups}, w
}

func norm(w []float32) float64 {
	sum := 0.0
	for _, x := range w {
		sum += float64(x) * float64(x)
	}
	return sum
}

// best is the most of the norm that any choice of patterns and of so many kept kernels keeps, by trying all.
func best(w []float32, taps int, patterns []fkw.Pattern, keep int) float64 {
	kernels := len(w) / taps
	most := 0.0
	var try func(k, left int, sum float64)
	try = func(k, left int, sum float64) {
		if k == kernels {
			most = max(most, sum)
			return
		}
		try(k+1, left, sum)
		if left == 0 {
			return
		}
		for _, p := range patterns {
			x := 0.0
			for _, t := range p.Taps() {
				x += float64(w[k*taps+t]) * float64(w[k*taps+t])
			}
			try(k+1, left-1, sum+x)
		}
	}
	try(0, keep, 0)
	return most
}

// TestNearest: no other weights with these patterns and as many kernels are nearer.
func TestNearest(t *testing.T) {
	patterns := []fkw.Pattern{0x1b, 0x36, 0xd8}
	for seed := range uint64(20) {
		l, w := random(seed, 0, 1, 3, 2, 3, 3)
		_, z, err := Project(l, w, Settings{Patterns: patterns, Connectivity: 1.5, Share: 1})
		require.NoError(t, err)
		require.InDelta(t, best(w, 9, patterns, 4), norm(z), 1e-9)
		for i, x := range z {
			require.True(t, x == 0 || x == w[i])
		}
	}
}

// TestParts: the two projections of ADMM, and that what satisfies the settings stays as it is.
func TestParts(t *testing.T) {
	l, w := random(1, 0, 1, 8, 6, 3, 3)
	s := Settings{Patterns: []fkw.Pattern{0x1b, 0x36}, Connectivity: 3, Share: 1}
	z, _, err := Project(l, w, s.OnlyPatterns())
	require.NoError(t, err)
	require.NotContains(t, z.Kernels, uint8(0))
	y, _, err := Project(l, w, s.OnlyConnectivity())
	require.NoError(t, err)
	require.Equal(t, []fkw.Pattern{0x1ff}, y.Patterns)
	kernels, weights := y.Kept()
	require.Equal(t, []int64{16, 144}, []int64{kernels, weights})
	both, once, err := Project(l, w, s)
	require.NoError(t, err)
	kernels, weights = both.Kept()
	require.Equal(t, []int64{16, 64}, []int64{kernels, weights})
	again, twice, err := Project(l, once, s)
	require.NoError(t, err)
	require.Equal(t, once, twice)
	require.Equal(t, both, again)
	require.NoError(t, both.Verify())
}

// TestShare: filters in a row of a group have the same kernels, those that keep most of all together.
func TestShare(t *testing.T) {
	for _, axis := range []int{0, 1} {
		l, w := random(3, axis, 1, 24, 24, 3, 3)
		m, _, err := Project(l, w, Settings{Patterns: []fkw.Pattern{0x1b, 0x36, 0xd8}, Connectivity: 2, Share: 16})
		require.NoError(t, err)
		require.NoError(t, m.Verify(), "which compares the filters")
		kernels, _ := m.Kept()
		require.Greater(t, kernels, int64(24*24/3))
	}
	l, w := random(4, 0, 2, 12, 5, 3, 3)
	m, _, err := Project(l, w, Settings{Connectivity: 2, Share: 4})
	require.NoError(t, err)
	require.NoError(t, m.Verify(), "groups of 6 filters: 4 and 2 share kernels")
	require.NotEqual(t, m.Kernels[4*5:5*5], m.Kernels[6*5:7*5])
}

// TestFullyConnected: a kernel is one weight, of whichever axis.
func TestFullyConnected(t *testing.T) {
	for axis := range 2 {
		l, w := random(5, axis, 1, 10, 30)
		m, z, err := Project(l, w, Settings{Connectivity: 3, Share: 1})
		require.NoError(t, err)
		require.Equal(t, l.Shape[axis], int64(m.Filters()))
		require.InDelta(t, best100(w), norm(z), 1e-9)
	}
}

// best100 is the norm of the 100 largest weights.
func best100(w []float32) float64 {
	l := &Layer{Shape: []int64{int64(len(w)), 1}, Groups: 1}
	_, z, _ := Project(l, w, Settings{Connectivity: float64(len(w)) / 100, Share: 1})
	return norm(z)
}

// TestEqual: of equals the first is taken.
func TestEqual(t *testing.T) {
	l, w := random(6, 0, 1, 2, 3, 3, 3)
	for i := range w {
		w[i] = 1
	}
	m, _, err := Project(l, w, Settings{Patterns: []fkw.Pattern{0xd8, 0x1b}, Connectivity: 2, Share: 1})
	require.NoError(t, err)
	require.Equal(t, []uint8{1, 1, 1, 0, 0, 0}, m.Kernels)
}

// TestRefused: weights and settings that cannot be.
func TestRefused(t *testing.T) {
	ok := Settings{Patterns: []fkw.Pattern{0x1b}, Connectivity: 2, Share: 1}
	for want, change := range map[string]func(l *Layer, w *[]float32, s *Settings){
		"element 7 of the weights is NaN":    func(_ *Layer, w *[]float32, _ *Settings) { (*w)[7] = float32(math.NaN()) },
		"element 0 of the weights is -Inf":   func(_ *Layer, w *[]float32, _ *Settings) { (*w)[0] = float32(math.Inf(-1)) },
		"53 weights for the shape [3 2 3 3]": func(_ *Layer, w *[]float32, _ *Settings) { *w = (*w)[1:] },
		"connectivity = 0.5":                 func(_ *Layer, _ *[]float32, s *Settings) { s.Connectivity = 0.5 },
		"connectivity = NaN":                 func(_ *Layer, _ *[]float32, s *Settings) { s.Connectivity = math.NaN() },
		"share = 3; want one of [1 4 8 16]":  func(_ *Layer, _ *[]float32, s *Settings) { s.Share = 3 },
		"pattern 1b occurs twice":            func(_ *Layer, _ *[]float32, s *Settings) { s.Patterns = []fkw.Pattern{0x1b, 0x1b} },
		"pattern 401 has a tap beyond the 9": func(_ *Layer, _ *[]float32, s *Settings) { s.Patterns = []fkw.Pattern{0x401} },
		"256 patterns; want at most 255":     func(_ *Layer, _ *[]float32, s *Settings) { s.Patterns = make([]fkw.Pattern, 256) },
		"kernels of 81 taps; want at most 64": func(l *Layer, w *[]float32, s *Settings) {
			l.Shape, *w, s.Patterns = []int64{1, 1, 9, 9}, make([]float32, 81), nil
		},
		`layer "w" (weights of Conv "n"): element`: func(_ *Layer, w *[]float32, _ *Settings) { (*w)[7] = float32(math.NaN()) },
	} {
		l, w := random(7, 0, 1, 3, 2, 3, 3)
		s := ok
		change(l, &w, &s)
		_, _, err := Project(l, w, s)
		require.ErrorContains(t, err, want)
	}
}

// TestNatural: the centre and the largest others.
func TestNatural(t *testing.T) {
	squares := []float64{9, 1, 2, 3, 0, 4, 5, 6, 7}
	require.Equal(t, fkw.Pattern(1|1<<4|1<<7|1<<8), natural(squares, 4, 4))
	require.Equal(t, fkw.Pattern(1|1<<6|1<<7|1<<8), natural(squares, -1, 4), "no centre")
	require.Equal(t, fkw.Pattern(0x17), natural(make([]float64, 9), 4, 4), "of equals the first")
	require.Equal(t, 4, Centre([]int64{3, 3}))
	require.Equal(t, 7, Centre([]int64{3, 5}))
	require.Equal(t, 2, Centre([]int64{5}))
	require.Equal(t, 13, Centre([]int64{3, 3, 3}))
	require.Equal(t, -1, Centre([]int64{2, 3}))
}

// TestTop: the most frequent patterns, all of which have the centre; there are 56 of 4 entries.
func TestTop(t *testing.T) {
	l, w := random(8, 0, 1, 64, 64, 3, 3)
	c := Counts{}
	require.NoError(t, c.Count(l, w, 4, 1))
	require.Len(t, c, 56)
	top := c.Top(8)
	require.Len(t, top, 8)
	for i, p := range top {
		require.Len(t, p.Taps(), 4)
		require.Contains(t, p.Taps(), 4)
		require.True(t, i == 0 || c[p] <= c[top[i-1]])
		require.GreaterOrEqual(t, c[p], c[c.Top(9)[8]])
	}
	require.Len(t, c.Top(100), 56)
	require.NoError(t, Counts{}.Count(l, w, 9, 1))
	require.ErrorContains(t, c.Count(l, w, 10, 1), "patterns of 10 entries for kernels of 9 taps")
	require.ErrorContains(t, c.Count(l, w, 4, 2), "share = 2")
	shared := Counts{}
	require.NoError(t, shared.Count(l, w, 4, 16))
	sum := int64(0)
	for _, n := range shared {
		sum += n
		require.Zero(t, n%16)
	}
	require.Equal(t, int64(64*64), sum)
	none := Counts{}
	require.NoError(t, none.Count(l, make([]float32, len(w)), 4, 1))
	require.Empty(t, none, "kernels that are zero have no pattern")
}

// TestApply: what is not kept is zero, and plus zero.
func TestApply(t *testing.T) {
	m := &masks.Layer{Shape: []int64{1, 2}, Patterns: []fkw.Pattern{1}, Kernels: []uint8{1, 0}, Groups: 1, Share: 1}
	got := Apply(m, []float32{-1, -2})
	require.Equal(t, []float32{-1, 0}, got)
	require.False(t, math.Signbit(float64(got[1])))
}

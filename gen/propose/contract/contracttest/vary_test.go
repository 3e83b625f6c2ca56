package contracttest

import (
	"maps"
	"math/rand"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/fusion/block"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/kernel/layout"
	"rules_dnn/gen/kernel/params"
	"rules_dnn/gen/kernel/sched"
	"rules_dnn/gen/propose/contract/depthwise"
	"rules_dnn/gen/propose/contract/pruned"
	"rules_dnn/gen/propose/contract/tiled"
	"rules_dnn/gen/propose/contract/winograd"
	"rules_dnn/gen/propose/lower"
	"rules_dnn/gen/propose/lower/lowertest"
	"rules_dnn/gen/propose/product"
	"rules_dnn/gen/propose/weights"
)

type proposer func(*block.Block, *lower.Env) ([]*lower.Lowered, error)

func directly(b *block.Block, env *lower.Env) ([]*lower.Lowered, error) {
	l, err := depthwise.Candidate(b, env)
	if l == nil || err != nil {
		return nil, err
	}
	return []*lower.Lowered{l}, nil
}

// from is the kernel that is proposed from a point, nil where there is none.
func from(b *block.Block, env *lower.Env, propose proposer, p *params.Point) (*lower.Lowered, error) {
	given := *env
	given.Given = p
	ls, err := propose(b, &given)
	if len(ls) == 0 || err != nil {
		return nil, err
	}
	return ls[0], nil
}

// explore holds what is proposed from points of a space: what a proposer makes by itself is a point, from which it makes the same again, and
// all others are kernels whose schedules are right. It gives how many there were of both.
func explore(t *testing.T, b *block.Block, env *lower.Env, propose proposer, points int) (own, others int) {
	t.Helper()
	env.Tiles = 2
	ls, err := propose(b, env)
	require.NoError(t, err)
	r := rand.New(rand.NewSource(1))
	for i, l := range ls {
		require.NotNil(t, l.Point, l.Name)
		p, space := l.Point()
		require.NotNil(t, p, "%s is no point of %v", l.Name, space)
		again, err := from(b, env, propose, p)
		require.NoError(t, err)
		require.NotNil(t, again, "nothing is proposed from %q", p)
		require.Equal(t, l.Name, again.Name, "proposed from %q", p)
		q, _ := again.Point()
		require.Equal(t, p, q)
		if own++; i > 0 {
			continue
		}
		for range points {
			values := make([]int64, len(space.Params))
			for k, x := range space.Params {
				values[k] = x.Values[r.Intn(len(x.Values))]
			}
			p := space.Of(values...)
			if space.Check(p) != nil {
				continue
			}
			l, err := from(b, env, propose, p)
			require.NoError(t, err, p)
			if l == nil {
				continue
			}
			if l.Check != nil {
				require.NoError(t, l.Check(), "%s: %s", p, l.Schedule)
			}
			require.NoError(t, l.Make(), p)
			q, _ := l.Point()
			require.Equal(t, p, q)
			others++
		}
	}
	return own, others
}

// TestVary: of contractions in every layout on several chips.
func TestVary(t *testing.T) {
	own, others := 0, 0
	for _, name := range slices.Sorted(maps.Keys(Contractions)) {
		for _, chipName := range []string{"x86_64_v3", "x86_64_v4", "arm64"} {
			for _, blocked := range []bool{false, true} {
				b, env := Convolution(t, ir.F32, Contractions[name], chipName, blocked)
				for _, propose := range []proposer{tiled.Candidates, directly} {
					n, m := explore(t, b, env, propose, 12)
					own, others = own+n, others+m
				}
			}
		}
		b, env := Convolution(t, ir.F16, Contractions[name], "x86_64_v3", true)
		n, m := explore(t, b, env, tiled.Candidates, 12)
		own, others = own+n, others+m
	}
	t.Logf("%d kernels that are proposed, %d of other points", own, others)
	assert.Greater(t, own, 100)
	assert.Greater(t, others, 200)
}

func TestVaryWinograd(t *testing.T) {
	for _, text := range []string{
		"1, 32, 24, 24; 64, 32, 3, 3; pads = [1, 1, 1, 1]",
		"1, 256, 14, 14; 256, 256, 3, 3; pads = [1, 1, 1, 1]",
		"1, 32, M, N; 64, 32, 3, 3; pads = [1, 1, 1, 1]",
	} {
		for _, chipName := range []string{"x86_64_v3", "x86_64_v4"} {
			b, env := Convolution(t, ir.F32, text, chipName, true)
			env.Winograd = true
			own, others := explore(t, b, env, winograd.Candidates, 96)
			assert.Greater(t, own, 1, text)
			assert.Greater(t, others, 2, text)
		}
	}
}

func TestVaryPruned(t *testing.T) {
	b, env := Convolution(t, ir.F32, "1, 64, 28, 28; 128, 64, 3, 3; pads = [1, 1, 1, 1]", "x86_64_v4", true)
	env.Pruned = weights.NewEncodings()
	Prune(b, 4)
	own, others := explore(t, b, env, pruned.Filters, 24)
	assert.Greater(t, own, 1)
	assert.Greater(t, others, 2)

	b, env = Convolution(t, ir.F32, "1, 64, 28, 28; 128, 64, 3, 3; pads = [1, 1, 1, 1]", "x86_64_v4", false)
	env.Pruned = weights.NewEncodings()
	Prune(b, 4)
	own, others = explore(t, b, env, pruned.Pixels, 24)
	assert.Greater(t, own, 0)
	assert.Greater(t, others, 2)
}

// TestVaryKept: of Winograd's algorithm with the kernels that are kept.
func TestVaryKept(t *testing.T) {
	for _, chipName := range []string{"x86_64_v3", "x86_64_v4", "arm64"} {
		b, env := Convolution(t, ir.F32, "1, 64, 28, 28; 128, 64, 3, 3; pads = [1, 1, 1, 1]", chipName, true)
		env.Winograd, env.Pruned = true, weights.NewEncodings()
		Drop(b, 3)
		own, others := explore(t, b, env, winograd.Kept, 96)
		assert.Greater(t, own, 1, chipName)
		assert.Greater(t, others, 2, chipName)
	}
}

// TestVaryApart: of pixels that lie apart, with sums of all channels and of parts of them.
func TestVaryApart(t *testing.T) {
	for _, chipName := range []string{"x86_64_v3", "x86_64_v4", "arm64"} {
		b, env := Convolution(t, ir.F32, "1, 128, 28, 28; 96, 128, 3, 3; pads = [1, 1, 1, 1]", chipName, false)
		env.Pruned = weights.NewEncodings()
		Prune(b, 4)
		layouts := map[*ir.Value]layout.Layout{}
		require.NoError(t, pruned.PixelLayouts(b, env, func(v *ir.Value, l layout.Layout) { layouts[v] = l }))
		env.Layouts = func(v *ir.Value) layout.Layout { return layouts[v] }
		own, others := explore(t, b, env, pruned.Apart, 96)
		assert.Equal(t, 4, own, "kernels of its own choice")
		assert.Greater(t, others, 2)
		p, err := params.Parse("pixels apart rows=1 vectors=7 channels=64 filters=48")
		require.NoError(t, err)
		l, err := from(b, env, pruned.Apart, p)
		require.NoError(t, err)
		require.NotNil(t, l)
		assert.Equal(t, int64(64), l.Tiles[1].Kept.Part)
		assert.Equal(t, sched.Worker, l.Schedule.Stages[1].Sums)
	}
}

// TestSpaceOfSearch: where a search knows the space of a point, it is not found again.
func TestSpaceOfSearch(t *testing.T) {
	filters, env0 := Convolution(t, ir.F32, "1, 64, 28, 28; 128, 64, 3, 3; pads = [1, 1, 1, 1]", "x86_64_v4", true)
	env0.Pruned = weights.NewEncodings()
	Prune(filters, 4)
	window, env1 := Convolution(t, ir.F32, Contractions["depthwise"], "x86_64_v4", true)
	matmul, env2 := lowertest.Product(t)
	for _, c := range []struct {
		b       *block.Block
		env     *lower.Env
		propose proposer
	}{{filters, env0, pruned.Filters}, {window, env1, directly}, {matmul, env2, product.Propose}} {
		ls, err := c.propose(c.b, c.env)
		require.NoError(t, err)
		require.NotEmpty(t, ls)
		p, space := ls[0].Point()
		asked := 0
		known, env := *space, *c.env
		known.Fits = func(values []int64) bool {
			asked++
			return space.Fits(values)
		}
		env.Space = &known
		_, err = from(c.b, &env, c.propose, p)
		require.NoError(t, err)
		assert.Positive(t, asked, p)
	}
}

func TestVaryProduct(t *testing.T) {
	b, env := lowertest.Product(t)
	own, others := explore(t, b, env, product.Propose, 24)
	assert.Greater(t, own, 0)
	assert.Greater(t, others, 2)
}

// TestVaryErrors: a point that is none of the block's, as a record may name, is an error before anything is planned with it.
func TestVaryErrors(t *testing.T) {
	b, env := Convolution(t, ir.F32, Contractions["bands"], "x86_64_v4", true)
	env.Winograd = true
	for text, want := range map[string]string{
		"contraction rows=1000000000000 vectors=1 groups=0 band=1 ahead=0": "rows=1000000000000",
		"contraction rows=1 vectors=1 groups=0 band=7 ahead=0":             "band=7",
		"contraction rows=0 vectors=1 groups=0 band=1 ahead=0":             "rows=0",
		"contraction rows=1 vectors=1 groups=0 band=1 ahead=-1":            "ahead=-1",
		"contraction rows=1 vectors=1":                                     "want rows, vectors, groups, band, ahead",
		"winograd results=3 rows=1 vectors=1 tiles=1 parts=1 ahead=0":      "results=3",
		"winograd results=4 rows=1 vectors=1 tiles=0 parts=0 ahead=0":      "tiles=0",
	} {
		p, err := params.Parse(text)
		require.NoError(t, err)
		for _, propose := range []proposer{tiled.Candidates, winograd.Candidates} {
			if l, e := from(b, env, propose, p); e != nil {
				err = e
			} else {
				assert.Nil(t, l)
			}
		}
		assert.ErrorAs(t, err, new(*params.Error), text)
		assert.ErrorContains(t, err, want)
	}
	p, err := params.Parse("generic rows=1")
	require.NoError(t, err)
	l, err := from(b, env, tiled.Candidates, p)
	assert.NoError(t, err)
	assert.Nil(t, l, "another algorithm's")
}

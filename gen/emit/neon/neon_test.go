package neon

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/kernel/loop"
	"rules_dnn/gen/target/instr"
)

// rows has a row for each kind of processor.
var rows = []string{"fma_f32x4", "fma_f32x4_halves"}

// kernel is a micro-kernel whose W lies in the order of its loops, these from the innermost one.
func kernel(x instr.Operand, rows, vectors, rowStep int64, loops ...[2]int64) *loop.MicroKernel {
	m := &loop.MicroKernel{Instr: instr.Lookup("fma_f32x4"), X: x, Rows: rows, Vectors: vectors, RowStep: rowStep}
	step := vectors * m.Lanes()
	for _, l := range loops {
		m.K = append([]loop.KLoop{{Extent: l[0], XStep: l[1], WStep: step}}, m.K...)
		step *= l[0]
	}
	return m
}

// valueAt is a float of the machine's memory: a small integer, so that sums are exact.
func valueAt(at int64) float64 { return float64(at/4%1009%31 - 15) }

// sums are a micro-kernel's accumulators by address, and the addresses that it reads.
type sums struct {
	of    map[int64]float64
	reads map[int64]bool
}

// sumsOf computes a micro-kernel by its definition.
func sumsOf(m *loop.MicroKernel) sums {
	want := map[int64]float64{}
	allowed := map[int64]bool{}
	for step := range m.Steps() {
		xo, wo := int64(0), int64(0)
		for i := len(m.K) - 1; i >= 0; i-- {
			l := m.K[i]
			xo, wo, step = xo+step%l.Extent*l.XStep, wo+step%l.Extent*l.WStep, step/l.Extent
		}
		for r := range m.Rows {
			for v := range m.Vectors {
				for l := range m.Lanes() {
					x, w := xAt+4*(m.RowAt(r)+xo), wAt+4*(wo+m.VectorAt(v)+l)
					if m.X == instr.Vector {
						x += 4 * (v*m.Lanes() + l)
					}
					allowed[x], allowed[w] = true, true
					want[accAt+4*((r*m.Vectors+v)*m.Lanes()+l)] += valueAt(x) * valueAt(w)
				}
			}
		}
	}
	return sums{want, allowed}
}

// check runs a micro-kernel's assembly and compares with its definition.
func check(t *testing.T, m *loop.MicroKernel) *Kernel {
	k, ok := New(loop.Tile{Micro: m})
	if !ok {
		return nil
	}
	sums := sumsOf(m)
	run := &machine{t: t, allowed: sums.reads}
	run.run(k.Lines, valueAt)
	require.Equal(t, sums.of, run.stored, "%s %dx%d, rows %d apart, %v", m.X, m.Rows, m.Vectors, m.RowStep, m.K)
	clobbers := strings.Join(k.Clobbers, " ") + " "
	for _, l := range k.Lines {
		for _, r := range regexp.MustCompile(`\bx\d+`).FindAllString(l, -1) {
			require.Contains(t, clobbers, r+" ", "%s writes a register that it does not say", l)
		}
	}
	return k
}

// TestKernels: each compute what they are defined as, and read nothing else.
func TestKernels(t *testing.T) {
	for name, m := range map[string]*loop.MicroKernel{
		"blocks of channels":          kernel(instr.Lane, 9, 2, 8, [2]int64{8, 1}, [2]int64{6, 1568}),
		"a window of them":            kernel(instr.Lane, 7, 2, 16, [2]int64{8, 1}, [2]int64{3, 8}, [2]int64{3, 120}, [2]int64{4, 360}),
		"a long row":                  kernel(instr.Lane, 8, 2, 256, [2]int64{256, 1}),
		"rows far apart":              kernel(instr.Lane, 5, 4, 20000, [2]int64{8, 1}),
		"rows at odd addresses":       kernel(instr.Lane, 4, 2, 1001, [2]int64{12, 1}),
		"four vectors":                kernel(instr.Lane, 5, 4, 8, [2]int64{8, 1}, [2]int64{5, 6272}),
		"a single iteration":          kernel(instr.Lane, 3, 2, 8, [2]int64{4, 1}),
		"an image of three channels":  kernel(instr.Register, 5, 4, 2, [2]int64{7, 1}, [2]int64{7, 229}, [2]int64{3, 1603}),
		"planes of a row-major image": kernel(instr.Register, 4, 4, 2, [2]int64{3, 1}, [2]int64{3, 57}, [2]int64{16, 3249}),
		"no loop":                     kernel(instr.Register, 5, 2, 3),
		"depthwise":                   kernel(instr.Vector, 7, 2, 8, [2]int64{3, 8}, [2]int64{3, 128}),
		"depthwise of stride 2":       kernel(instr.Vector, 7, 2, 16, [2]int64{5, 8}, [2]int64{5, 904}),
		"planes far apart":            kernel(instr.Lane, 4, 2, 8, [2]int64{8, 1}, [2]int64{3, 4_000_000}),
	} {
		for _, row := range rows {
			m.Instr = instr.Lookup(row)
			t.Run(name+"/"+row, func(t *testing.T) { assert.NotNil(t, check(t, m), "the kernel is not scheduled") })
		}
	}
}

// TestRandomKernels: of any tile, loops and strides.
func TestRandomKernels(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	scheduled := 0
	for range 400 {
		x := []instr.Operand{instr.Lane, instr.Register, instr.Vector}[random.IntN(3)]
		m := kernel(x, 1+random.Int64N(10), 1+random.Int64N(5), random.Int64N(60))
		m.Instr = instr.Lookup(rows[random.IntN(2)])
		if random.IntN(3) == 0 {
			m.Run, m.RunStep = 2, random.Int64N(3000)
		}
		step := m.Vectors * m.Lanes()
		if random.IntN(4) == 0 {
			m.VecStep, step = 4*random.Int64N(3000), m.Lanes()
		}
		for i := range 1 + random.IntN(4) {
			k := loop.KLoop{Extent: 1 + random.Int64N(6), XStep: random.Int64N(2000), WStep: step}
			if i == 0 {
				k.XStep = 1 + random.Int64N(16)
				if x == instr.Lane {
					k.Extent, k.XStep = 4*k.Extent, 1
				}
			}
			m.K, step = append([]loop.KLoop{k}, m.K...), step*k.Extent
		}
		if check(t, m) != nil {
			scheduled++
		}
	}
	assert.Greater(t, scheduled, 200)
}

// TestBesideProducts: the loop of a convolution over blocks of channels is products with at most one instruction
// between two; only its end has more.
func TestBesideProducts(t *testing.T) {
	for _, rows := range []int64{7, 8, 9} {
		m := kernel(instr.Lane, rows, 2, 8, [2]int64{8, 1}, [2]int64{64, 6272})
		m.Instr = instr.Lookup("fma_f32x4_halves")
		k := check(t, m)
		between, crowded := 0, 0
		for _, l := range k.Lines[indexOf(k.Lines, ".Lloop%=:"):indexOf(k.Lines, "b.ne .Lloop")] {
			if between++; strings.HasPrefix(l, "fmla") {
				between = 0
			}
			if between == 2 {
				crowded++
			}
		}
		assert.LessOrEqual(t, crowded, 3, "%d rows\n%s", rows, strings.Join(k.Lines, "\n"))
	}
}

// TestLoadsAhead: where registers allow, what a product reads was loaded some products before.
func TestLoadsAhead(t *testing.T) {
	k := check(t, kernel(instr.Lane, 7, 2, 8, [2]int64{8, 1}, [2]int64{64, 6272}))
	loop := k.Lines[indexOf(k.Lines, ".Lloop%=:"):indexOf(k.Lines, "b.ne .Lloop")]
	loop = append(loop, loop...)
	loaded, products := map[string]int{}, 0
	written := regexp.MustCompile(`^(?:ldu?r|ins) [dqv](\d+)`)
	for _, l := range loop {
		if m := written.FindStringSubmatch(l); m != nil {
			loaded["v"+m[1]+"."] = products
		}
		if !strings.HasPrefix(l, "fmla") {
			continue
		}
		for r, at := range loaded {
			if strings.Contains(l[strings.Index(l, ","):], " "+r) {
				assert.GreaterOrEqual(t, products-at, latency/2, "%s is read by %s", r, l)
				delete(loaded, r)
			}
		}
		products++
	}
}

// TestNotScheduled: what is left to compilers.
func TestNotScheduled(t *testing.T) {
	for name, change := range map[string]func(m *loop.MicroKernel){
		"another processor":          func(m *loop.MicroKernel) { m.Instr = instr.Lookup("fma_f32x8") },
		"weights fetched ahead":      func(m *loop.MicroKernel) { m.PrefetchW = 512 },
		"rows fetched ahead":         func(m *loop.MicroKernel) { m.PrefetchX = true },
		"later weights":              func(m *loop.MicroKernel) { m.Fetch = 16 },
		"sums of earlier points":     func(m *loop.MicroKernel) { m.Adds = true },
		"later rows":                 func(m *loop.MicroKernel) { m.FetchX = 16 },
		"a single row":               func(m *loop.MicroKernel) { m.Rows = 1 },
		"more than all registers":    func(m *loop.MicroKernel) { m.Rows, m.Vectors = 10, 3 },
		"rows beyond instructions":   func(m *loop.MicroKernel) { m.RowStep = 1 << 23 },
		"planes beyond instructions": func(m *loop.MicroKernel) { m.K[0].XStep = 1 << 23 },
		"more rounds than 16 bits":   func(m *loop.MicroKernel) { m.K[0].Extent = 1 << 16 },
	} {
		m := kernel(instr.Lane, 4, 2, 8, [2]int64{8, 1}, [2]int64{4, 64})
		change(m)
		_, ok := New(loop.Tile{Micro: m})
		assert.False(t, ok, name)
	}
}

func indexOf(lines []string, prefix string) int {
	for i, l := range lines {
		if strings.HasPrefix(l, prefix) {
			return i
		}
	}
	panic(fmt.Sprintf("no line begins with %q", prefix))
}

// TestBlocks schedules tiles of blocks that fill the registers. Some loads have little time.
func TestBlocks(t *testing.T) {
	for _, c := range [][4]int64{
		{6, 4, 576, 144}, {8, 3, 16, 4}, {8, 3, 32, 8}, {6, 4, 320, 80}, {10, 2, 96, 24},
		{7, 3, 64, 16}, {3, 2, 64, 16},
	} {
		m := &loop.MicroKernel{Instr: instr.Lookup("bfmmla_x4"), X: instr.Register, Rows: c[0],
			Vectors: c[1], RowStep: c[2], K: []loop.KLoop{{Extent: c[3], XStep: 4, WStep: 16 * c[1]}}}
		k, ok := New(loop.Tile{Micro: m})
		if !assert.True(t, ok, "%v", c) {
			continue
		}
		loaded := 0
		for _, l := range k.Lines {
			if strings.HasPrefix(l, "ins ") {
				loaded++
			}
			if strings.HasPrefix(l, "bfmmla ") {
				require.Positive(t, loaded, "%v: a product before its rows are loaded", c)
			}
		}
	}
}

package packed_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/emit/hexagon/isa"
	"rules_dnn/gen/emit/hexagon/machine"
	"rules_dnn/gen/emit/hvx/packed"
)

// rowOf is what a row of the caller's table has, as the runtime computes it of a factor.
func rowOf(factor float32) (mantissa, up int32) {
	bits := math.Float32bits(factor)
	return int32(bits&0x7fffff|0x800000) << 7, int32(bits>>23) - 106
}

// checkRows runs a function of rows: packets are legal, the bytes are what floats give where no fraction is near a half, and nothing else is written.
func checkRows(t *testing.T, f packed.Rows, version int, k *packed.Iterated) machine.Count {
	t.Helper()
	r := rand.New(rand.NewPCG(uint64(f.Rows), uint64(f.To)))
	program, err := machine.Parse(k.Program.String())
	require.NoError(t, err)
	require.NoError(t, program.Check(version))
	mem := &memory{read: map[uint32]byte{}, written: map[uint32]byte{}}
	word := func(at uint32, x int32) {
		for i, b := range binary.LittleEndian.AppendUint32(nil, uint32(x)) {
			mem.read[at+uint32(i)] = b
		}
	}
	to, n := uint32(accAt+r.IntN(300)), 1+r.Int64N(f.Lanes)
	want := map[uint32]byte{}
	near := int32(math.MaxInt32)
	for row := range f.Rows {
		factor := math.Float32frombits(uint32(110+r.IntN(20))<<23 | r.Uint32N(1<<23))
		bias := int32(r.IntN(2000) - 1000)
		mantissa, up := rowOf(factor)
		for i, x := range []int32{bias, mantissa, up, 1 << (30 - up), -1 << (30 - up)} {
			word(uint32(wAt+128*int64(i)+4*row), x)
		}
		for lane := range f.Lanes {
			sum := int32((r.Float64()*1000 - 500) / float64(factor))
			if r.IntN(20) == 0 {
				sum = int32(r.Uint32()) / 2
			}
			word(uint32(xAt+row*f.From+4*lane), sum)
			x := float32(sum+bias) * factor
			if lane < n {
				want[to+uint32(row*f.To+lane)] = byte(max(float64(f.Least), min(float64(f.Most), math.RoundToEven(float64(x))+float64(f.Zero))))
			}
			if exact := float64(sum+bias) * float64(factor); math.Abs(exact) < 400 {
				fraction := exact - math.Floor(exact)
				near = min(near, int32((fraction+0.5-math.Floor(fraction+0.5))*(1<<20)))
			}
		}
	}
	s := &isa.State{Mem: mem}
	for i := range s.R {
		s.R[i] = r.Uint32()
		for b := range s.V[i] {
			s.V[i][b] = byte(r.Uint32())
		}
	}
	s.R[0], s.R[1], s.R[2], s.R[3], s.R[29] = xAt, to, uint32(n), wAt, stackAt
	regs := s.R
	count, err := program.Run(version, s)
	require.NoError(t, err, "%+v\n%s", f, k.Program)
	least := int32(math.MaxInt32)
	for l := 0; l < isa.Bytes; l += 4 {
		least = min(least, int32(binary.LittleEndian.Uint32(s.V[0][l:])))
	}
	require.LessOrEqual(t, least, near+80, "%+v: a fraction near a half is told", f)
	if least >= 80 {
		require.Equal(t, want, mem.written, "%+v\n%s", f, k.Program)
	}
	for i := 16; i < 28; i++ {
		require.Equal(t, regs[i], s.R[i], "r%d is the caller's", i)
	}
	return count
}

// TestRows: what becomes of sums in resnet50's convolutions takes as many packets as slots and units allow, or few more.
func TestRows(t *testing.T) {
	for _, f := range []packed.Rows{
		{Rows: 15, Lanes: 64, From: 256, To: 3136, Most: 255},
		{Rows: 26, Lanes: 32, From: 128, To: 784, Most: 255},
		{Rows: 7, Lanes: 128, From: 512, To: 12544, Most: 255},
		{Rows: 13, Lanes: 96, From: 384, To: 40000, Signed: true, Zero: -3, Least: -3, Most: 100},
	} {
		for _, version := range []int{66, 68, 69, 73} {
			k, err := f.Packets(version)
			require.NoError(t, err)
			c := checkRows(t, f, version, k)
			assert.LessOrEqual(t, float64(k.Interval), 1.15*float64(k.Bound), "%+v", f)
			if version == 68 {
				t.Logf("%+v: interval %d, bound %d; %d packets, %d stalls, %d packets of code", f, k.Interval, k.Bound, c.Packets, c.Stalls, len(k.Program))
			}
		}
	}
}

// TestRandomRows: so do any others.
func TestRandomRows(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	for range 40 {
		f := packed.Rows{Rows: 1 + r.Int64N(31), Lanes: 32 * (1 + r.Int64N(4)), To: 128 + r.Int64N(2000), Most: 255, Zero: r.Int64N(256)}
		f.From = 4*f.Lanes + 128*r.Int64N(3)
		if r.IntN(2) == 0 {
			f.Signed, f.Zero, f.Least, f.Most = true, r.Int64N(256)-128, -128, 127
		}
		if r.IntN(3) == 0 {
			f.Least, f.Most = f.Zero, min(f.Most, f.Zero+100)
		}
		version := []int{66, 68, 69, 73}[r.IntN(4)]
		k, err := f.Packets(version)
		require.NoError(t, err, "%+v", f)
		checkRows(t, f, version, k)
		parsed, err := packed.ParseRows(f.Name())
		require.NoError(t, err)
		require.Equal(t, f, parsed)
	}
}

// TestUnsupportedRows: others are not made.
func TestUnsupportedRows(t *testing.T) {
	for n, f := range []packed.Rows{
		{Rows: 0, Lanes: 32, From: 128, To: 784, Most: 255},
		{Rows: 33, Lanes: 32, From: 128, To: 784, Most: 255},
		{Rows: 3, Lanes: 33, From: 128, To: 784, Most: 255},
		{Rows: 3, Lanes: 160, From: 640, To: 784, Most: 255},
		{Rows: 3, Lanes: 32, From: 100, To: 784, Most: 255},
		{Rows: 3, Lanes: 32, From: 128, To: -1, Most: 255},
	} {
		_, err := f.Packets(68)
		assert.ErrorContains(t, err, "no packets of", fmt.Sprint(n))
	}
}

package packed_test

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/emit/hexagon/isa"
	"rules_dnn/gen/emit/hexagon/machine"
	"rules_dnn/gen/emit/hexagon/sched"
	"rules_dnn/gen/emit/hvx/packed"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/kernel/loop"
	"rules_dnn/gen/target/instr"
)

const (
	xAt     = 0x10000000
	wAt     = 0x20000000
	accAt   = 0x30000000
	stackAt = 0x40000000
)

// memory is the operands' storage of a call: what it may read, and what it must write.
type memory struct {
	read, written map[uint32]byte
}

func (m *memory) Read(at uint32, to []byte) error {
	for i := range to {
		b, ok := m.written[at+uint32(i)]
		if !ok {
			b, ok = m.read[at+uint32(i)]
		}
		if !ok {
			return fmt.Errorf("byte %#x is read, which is no operand's", at+uint32(i))
		}
		to[i] = b
	}
	return nil
}

func (m *memory) Write(at uint32, from []byte) error {
	if at < accAt {
		return fmt.Errorf("byte %#x is written", at)
	}
	for i, b := range from {
		m.written[at+uint32(i)] = b
	}
	return nil
}

func extend(t ir.DType, b byte) int32 {
	if t == ir.I8 {
		return int32(int8(b))
	}
	return int32(b)
}

// check runs a kernel on random numbers: packets are legal, the sums are the micro-kernel's meaning, nothing but the operands is read, nothing but the
// accumulators is written, and the caller's registers are as they were.
func check(t *testing.T, m *loop.MicroKernel, version int, k *packed.Kernel) machine.Count {
	t.Helper()
	r := rand.New(rand.NewPCG(1, 2))
	mem := &memory{read: map[uint32]byte{}, written: map[uint32]byte{}}
	byteAt := func(at uint32) byte {
		if _, ok := mem.read[at]; !ok {
			mem.read[at] = byte(r.Uint32())
		}
		return mem.read[at]
	}
	want := make([]int32, m.Rows*m.Vectors*m.Lanes())
	for n := range m.Steps() {
		xo, wo, left := int64(0), int64(0), n
		for i := len(m.K) - 1; i >= 0; i-- {
			l := m.K[i]
			xo, wo, left = xo+left%l.Extent*l.XStep, wo+left%l.Extent*l.WStep, left/l.Extent
		}
		for row := range m.Rows {
			for v := range m.Vectors {
				for l := range m.Lanes() {
					for g := range m.Instr.Group {
						x := extend(m.Instr.X, byteAt(uint32(xAt+m.RowAt(row)+xo+g)))
						w := extend(m.Instr.W, byteAt(uint32(wAt+m.VectorAt(v)+wo+l*m.Instr.Group+g)))
						want[(row*m.Vectors+v)*m.Lanes()+l] += x * w
					}
				}
			}
		}
	}
	require.NoError(t, k.Program.Check(version))
	// The text is what assemblers read.
	program, err := machine.Parse(k.Program.String())
	require.NoError(t, err)
	s := &isa.State{Mem: mem}
	for i := range s.R {
		s.R[i] = r.Uint32()
		for l := range s.V[i] {
			s.V[i][l] = byte(r.Uint32())
		}
	}
	s.R[0], s.R[1], s.R[2], s.R[29] = xAt, wAt, accAt, stackAt
	before := s.R
	count, err := program.Run(version, s)
	require.NoError(t, err, "%s", k.Program)
	for i, w := range want {
		var b [4]byte
		require.NoError(t, mem.Read(uint32(accAt+4*i), b[:]))
		require.Equal(t, w, int32(binary.LittleEndian.Uint32(b[:])), "number %d of %+v\n%s", i, *m, k.Program)
	}
	for at := range mem.written {
		require.True(t, at >= accAt && at < uint32(accAt+4*len(want)) || at < stackAt && at >= stackAt-128, "%#x is written", at)
	}
	for i := 16; i < 28; i++ {
		require.Equal(t, before[i], s.R[i], "r%d is the caller's", i)
	}
	require.Equal(t, uint32(stackAt), s.R[29])
	return count
}

func kernel(name string, rows, vectors, rowStep int64, loops ...loop.KLoop) *loop.MicroKernel {
	i := instr.Lookup(name)
	return &loop.MicroKernel{Instr: i, X: i.Broadcaster(0), Rows: rows, Vectors: vectors, RowStep: rowStep, K: loops}
}

// resnet50 are the micro-kernels of its first eight different convolutions.
var resnet50 = map[string]*loop.MicroKernel{
	"7x7":         kernel("vrmpy_i8u8", 7, 4, 168, loop.KLoop{Extent: 2, XStep: 84, WStep: 1536}, loop.KLoop{Extent: 3, XStep: 28, WStep: 512}, loop.KLoop{Extent: 7, XStep: 4, WStep: 3072}),
	"7x7 rest":    kernel("vrmpy_i8u8", 1, 4, 168, loop.KLoop{Extent: 2, XStep: 84, WStep: 1536}, loop.KLoop{Extent: 3, XStep: 28, WStep: 512}, loop.KLoop{Extent: 7, XStep: 4, WStep: 3072}),
	"1x1 64 64":   kernel("vrmpy_i8u8", 13, 2, 64, loop.KLoop{Extent: 16, XStep: 4, WStep: 256}),
	"3x3 64 64":   kernel("vrmpy_i8u8", 22, 1, 576, loop.KLoop{Extent: 16, XStep: 36, WStep: 136}, loop.KLoop{Extent: 3, XStep: 12, WStep: 2176}, loop.KLoop{Extent: 3, XStep: 4, WStep: 4}),
	"1x1 64 256":  kernel("vrmpy_i8u8", 15, 2, 64, loop.KLoop{Extent: 16, XStep: 4, WStep: 256}),
	"1x1 64 rest": kernel("vrmpy_i8u8", 1, 2, 64, loop.KLoop{Extent: 16, XStep: 4, WStep: 256}),
	"1x1 256 64":  kernel("vrmpy_i8u8", 13, 2, 256, loop.KLoop{Extent: 64, XStep: 4, WStep: 256}),
	"1x1 256 128": kernel("vrmpy_i8u8", 15, 2, 256, loop.KLoop{Extent: 64, XStep: 4, WStep: 256}),
	"3x3 128 s2":  kernel("vrmpy_i8u8", 26, 1, 1152, loop.KLoop{Extent: 32, XStep: 36, WStep: 384}, loop.KLoop{Extent: 3, XStep: 12, WStep: 12288}, loop.KLoop{Extent: 3, XStep: 4, WStep: 128}),
	"1x1 128 512": kernel("vrmpy_i8u8", 5, 5, 128, loop.KLoop{Extent: 32, XStep: 4, WStep: 640}),
	"3x3 512":     kernel("vrmpy_i8u8", 16, 1, 4608, loop.KLoop{Extent: 20, XStep: 36, WStep: 384}, loop.KLoop{Extent: 3, XStep: 12, WStep: 49152}, loop.KLoop{Extent: 3, XStep: 4, WStep: 128}),
	"3x3 256":     kernel("vrmpy_i8u8", 29, 1, 2304, loop.KLoop{Extent: 12, XStep: 36, WStep: 136}, loop.KLoop{Extent: 3, XStep: 12, WStep: 8704}, loop.KLoop{Extent: 3, XStep: 4, WStep: 4}),
	"all vectors": kernel("vrmpy_i8u8", 31, 1, 512, loop.KLoop{Extent: 128, XStep: 4, WStep: 128}),
	"all, 3x3":    kernel("vrmpy_i8u8", 31, 1, 4608, loop.KLoop{Extent: 12, XStep: 36, WStep: 136}, loop.KLoop{Extent: 3, XStep: 12, WStep: 17408}, loop.KLoop{Extent: 3, XStep: 4, WStep: 4}),
	"far steps":   kernel("vrmpy_i8u8", 6, 3, 70000, loop.KLoop{Extent: 12, XStep: 40000, WStep: 100352}),
	"tokens":      kernel("vrmpy_i8u8", 24, 1, 3072, loop.KLoop{Extent: 96, XStep: 4, WStep: 128}),
	"rows":        kernel("vrmpy_u8i8", 5, 2, 8, loop.KLoop{Extent: 2, XStep: 4, WStep: 256}),
	"rows, long":  kernel("vrmpy_u8i8", 5, 2, 256, loop.KLoop{Extent: 64, XStep: 4, WStep: 256}),
	"signed":      kernel("vrmpy_i8i8", 4, 4, 256, loop.KLoop{Extent: 64, XStep: 4, WStep: 512}),
}

func TestKernels(t *testing.T) {
	for name, m := range resnet50 {
		t.Run(name, func(t *testing.T) {
			k, err := packed.New(m, 68, sched.Best)
			require.NoError(t, err)
			c := check(t, m, 68, k)
			assert.Equal(t, k.Cost, c.Packets+c.Stalls)
			t.Logf("interval %d of %d points, bound %d; %d packets, %d stalls, %d instructions; %d packets of code", k.Interval, k.Points, k.Bound, c.Packets, c.Stalls, c.Instructions, len(k.Program))
		})
	}
}

// TestLongLoops: loops that run more often than there can be operands for are not made of packets, and long ones are as fast to make as others.
func TestLongLoops(t *testing.T) {
	long := func(times int64) error {
		m := kernel("vrmpy_i8u8", 4, 2, 4*times, loop.KLoop{Extent: 2 * times, XStep: 4, WStep: 256})
		_, err := packed.New(m, 68, sched.Best)
		return err
	}
	require.NoError(t, long(1<<19))
	require.ErrorContains(t, long(1<<40), "packets allow at most 1048576")
}

// TestModes: iterations of resnet50's loops, packed as straight-line code, take no more packets and stalls where soft dependencies have a penalty than
// where they forbid to share a packet (Figure 4.11's "soft to hard") or cost nothing ("soft to none").
func TestModes(t *testing.T) {
	total := map[sched.Mode]int{}
	for name, m := range resnet50 {
		code, err := packed.Iteration(m, 68)
		require.NoError(t, err, name)
		for mode := range sched.Modes {
			total[mode] += sched.Cost(68, sched.Straight(68, code, mode, false))
		}
	}
	for mode, name := range sched.Modes {
		t.Logf("%s: %d packets and stalls", name, total[mode])
	}
	assert.LessOrEqual(t, total[sched.Aware], total[sched.Hard])
	assert.LessOrEqual(t, total[sched.Aware], total[sched.Ignored])
}

// TestRandomKernels: whatever is made of packets computes what it means.
func TestRandomKernels(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	made := 0
	reasons := map[string]int{}
	for range 90 {
		name := []string{"vrmpy_i8u8", "vrmpy_u8i8", "vrmpy_i8i8"}[r.IntN(3)]
		m := kernel(name, 1+r.Int64N(9), 1+r.Int64N(4), 4*(1+r.Int64N(300)))
		if r.IntN(4) == 0 {
			m.Rows = 1 + r.Int64N(26)
		}
		if r.IntN(4) == 0 {
			m.Run, m.RunStep = 2, 4*r.Int64N(3000)
		}
		whole := int64(isa.Bytes)
		if r.IntN(3) == 0 {
			whole = 4
		}
		if r.IntN(3) == 0 {
			m.VecStep = whole * r.Int64N(40)
		}
		for range 1 + r.IntN(3) {
			m.K = append(m.K, loop.KLoop{Extent: 1 + r.Int64N(7), XStep: 4 * r.Int64N(200), WStep: whole * r.Int64N(60)})
		}
		if r.IntN(4) == 0 {
			m.K = []loop.KLoop{{Extent: 1 + r.Int64N(2500), XStep: 4, WStep: isa.Bytes}}
		}
		version := []int{66, 68, 69, 73}[r.IntN(4)]
		k, err := packed.New(m, version, sched.Best)
		if err != nil {
			reasons[err.Error()]++
			continue
		}
		check(t, m, version, k)
		made++
	}
	t.Logf("%d are made; others are not: %v", made, reasons)
	require.Greater(t, made, 60)
}

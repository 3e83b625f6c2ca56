package packed_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/emit/hexagon/isa"
	"rules_dnn/gen/emit/hexagon/machine"
	"rules_dnn/gen/emit/hvx/packed"
)

// checkLines runs a copy of lines on random bytes: packets are legal, what is stored is what they mean, nothing else is, and nothing is read beyond their reach.
func checkLines(t *testing.T, l packed.Lines, version int, k *packed.Iterated) machine.Count {
	t.Helper()
	r := rand.New(rand.NewPCG(3, 4))
	program, err := machine.Parse(k.Program.String())
	require.NoError(t, err)
	require.NoError(t, program.Check(version))
	from, to := uint32(xAt+r.IntN(300)), uint32(accAt+r.IntN(100))
	if l.Aligned {
		to = accAt
	}
	mem := &memory{read: map[uint32]byte{}, written: map[uint32]byte{}}
	for i := range uint32(l.Reach()) {
		mem.read[from+i] = byte(r.Uint32())
	}
	s := &isa.State{Mem: mem}
	for i := range s.R {
		s.R[i] = r.Uint32()
		for b := range s.V[i] {
			s.V[i][b] = byte(r.Uint32())
		}
	}
	s.R[0], s.R[1], s.R[29] = from, to, stackAt
	regs, masks := s.R, s.V
	count, err := program.Run(version, s)
	require.NoError(t, err, "%+v\n%s", l, k.Program)
	stored := map[uint32]byte{}
	for g := range l.Groups {
		for lane := range l.Lanes {
			for line := range int64(4) {
				n := 4*lane + line
				b := mem.read[from+uint32(g*l.GroupStep+line*l.LineStep+lane*l.Stride)]
				if l.Masked {
					part := 2 * (n / isa.Bytes)
					b = b&masks[part][n%isa.Bytes] | masks[part+1][n%isa.Bytes]
				}
				stored[to+uint32(g*l.ToStep+n)] = b
			}
		}
	}
	require.Equal(t, stored, mem.written, "%+v\n%s", l, k.Program)
	for i := 16; i < 28; i++ {
		require.Equal(t, regs[i], s.R[i], "r%d is the caller's", i)
	}
	return count
}

// resnet50's packings of images.
var resnet50Lines = []packed.Lines{
	{Stride: 2, Lanes: 64, Groups: 13, LineStep: 1, GroupStep: 224, ToStep: 3072, Aligned: true, Masked: true},
	{Stride: 1, Lanes: 34, Groups: 16, LineStep: 3136, GroupStep: 12544, ToStep: 136, Masked: true},
	{Stride: 1, Lanes: 64, Groups: 64, LineStep: 3136, GroupStep: 12544, ToStep: 256, Aligned: true},
	{Stride: 2, Lanes: 32, Groups: 32, LineStep: 3136, GroupStep: 12544, ToStep: 384, Aligned: true, Masked: true},
}

// TestLines: packings of images in packets are what they mean, and their loops take as many packets as slots and units allow.
func TestLines(t *testing.T) {
	for _, l := range resnet50Lines {
		for _, version := range []int{66, 68, 69, 73} {
			k, err := l.Packets(version)
			require.NoError(t, err)
			c := checkLines(t, l, version, k)
			assert.Equal(t, k.Bound, k.Interval, "%+v", l)
			if version == 68 {
				t.Logf("%+v: interval %d, bound %d; %d packets, %d stalls, %d packets of code", l, k.Interval, k.Bound, c.Packets, c.Stalls, len(k.Program))
			}
		}
	}
}

// TestRandomLines: so are any others.
func TestRandomLines(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for range 60 {
		l := packed.Lines{
			Stride: 1 + r.Int64N(2), Lanes: 32 + r.Int64N(33), Groups: 1 + r.Int64N(9), LineStep: r.Int64N(500), GroupStep: r.Int64N(2000),
			Aligned: r.IntN(2) == 0, Masked: r.IntN(2) == 0,
		}
		if r.IntN(4) == 0 {
			l.LineStep, l.GroupStep = 40000+r.Int64N(40000), 100000+r.Int64N(1000)
		}
		l.ToStep = l.Stored() + r.Int64N(300)
		if r.IntN(8) == 0 {
			l.ToStep = 70000
		}
		if l.Aligned {
			l.Lanes, l.ToStep = 32*(1+r.Int64N(2)), 128*(2+r.Int64N(3))
		}
		version := []int{66, 68, 69, 73}[r.IntN(4)]
		k, err := l.Packets(version)
		require.NoError(t, err, "%+v", l)
		checkLines(t, l, version, k)
		parsed, err := packed.ParseLines(l.Name())
		require.NoError(t, err)
		require.Equal(t, l, parsed)
	}
}

// TestUnsupportedLines: others are not made.
func TestUnsupportedLines(t *testing.T) {
	good := resnet50Lines[1]
	for n, change := range []func(l *packed.Lines){
		func(l *packed.Lines) { l.Stride = 3 },
		func(l *packed.Lines) { l.Lanes = 31 },
		func(l *packed.Lines) { l.Lanes = 65 },
		func(l *packed.Lines) { l.LineStep = -1 },
		func(l *packed.Lines) { l.GroupStep = 1 << 30 },
		func(l *packed.Lines) { l.GroupStep, l.Groups = 1<<20, 1000 },
		func(l *packed.Lines) { l.ToStep = 100 },
		func(l *packed.Lines) { l.Groups = 0 },
	} {
		l := good
		change(&l)
		_, err := l.Packets(68)
		assert.ErrorContains(t, err, "no packets of", fmt.Sprint(n))
	}
}

package sched_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"rules_dnn/gen/emit/hexagon/isa"
	"rules_dnn/gen/emit/hexagon/packet"
	"rules_dnn/gen/emit/hexagon/sched"
)

// block is memory for loads, from 0 on, and for stores after them.
type block struct{ data [64 * isa.Bytes]byte }

const storesAt = 32 * isa.Bytes

func (m *block) Read(at uint32, to []byte) error {
	if at+uint32(len(to)) > storesAt {
		return fmt.Errorf("%#x is read", at)
	}
	copy(to, m.data[at:])
	return nil
}

func (m *block) Write(at uint32, from []byte) error {
	if at < storesAt || int(at)+len(from) > len(m.data) {
		return fmt.Errorf("%#x is written", at)
	}
	copy(m.data[at:], from)
	return nil
}

// code is random straight-line code of a few registers: r8 is an address of loads, r9 one of stores, which steps so that no two of them meet.
func code(r *rand.Rand) []isa.Inst {
	rows := slices.DeleteFunc(slices.Clone(isa.Table()), func(x *isa.Row) bool {
		return x.Compilers || x.Form != isa.Plain || strings.HasPrefix(x.Name, "J2") || x.Memory == isa.Stores && x.Name != "V6_vS32b_pi"
	})
	var out []isa.Inst
	stores := 0
	for range 4 + r.IntN(24) {
		row := rows[r.IntN(len(rows))]
		if row.Memory == isa.Stores {
			if stores++; stores > 8 {
				continue
			}
		}
		i := isa.Inst{Row: row}
		for _, o := range row.Operands {
			switch {
			case row.Memory == isa.Loads && o.Class == isa.Scalar && o.Reads:
				i.Args = append(i.Args, 8)
			case row.Memory == isa.Stores && o.Class == isa.Scalar:
				i.Args = append(i.Args, 9)
			case row.Memory == isa.Stores && o.Class == isa.Immediate:
				i.Args = append(i.Args, 1)
			case o.Class == isa.Immediate:
				n := r.Int64N(3) - 1
				if row.Memory == isa.Loads && !row.IsVector() {
					n *= 8 / min(o.Step, 8) // addresses stay multiples of 8
				}
				i.Args = append(i.Args, max(o.Least, n*o.Step))
			case o.Pair:
				i.Args = append(i.Args, 2*r.Int64N(3))
			case o.Class == isa.Mask:
				i.Args = append(i.Args, r.Int64N(4))
			default:
				i.Args = append(i.Args, r.Int64N(6))
			}
		}
		out = append(out, i)
	}
	return out
}

func start(r *rand.Rand) *isa.State {
	m := &block{}
	s := &isa.State{Mem: m}
	for i := range m.data {
		m.data[i] = byte(r.Uint32())
	}
	for i := range s.R {
		s.R[i] = r.Uint32()
		for l := range s.V[i] {
			s.V[i][l] = byte(r.Uint32())
		}
	}
	for i := range s.Q {
		for l := range s.Q[i] {
			s.Q[i][l] = r.IntN(2) == 0
		}
	}
	s.R[8], s.R[9] = 12*isa.Bytes, storesAt
	return s
}

// TestRandomCode: packed code is legal and does what its instructions do one after the other, in each mode; without live registers, to memory.
func TestRandomCode(t *testing.T) {
	for seed := range uint64(600) {
		insts := code(rand.New(rand.NewPCG(seed, 1)))
		want := start(rand.New(rand.NewPCG(seed, 2)))
		for _, i := range insts {
			_, err := want.Step([]isa.Inst{i})
			require.NoError(t, err)
		}
		for mode, name := range sched.Modes {
			for _, live := range []bool{true, false} {
				packed := sched.Straight(68, insts, mode, live)
				got := start(rand.New(rand.NewPCG(seed, 2)))
				n := 0
				for _, p := range packed {
					require.NoError(t, packet.Check(68, p))
					_, err := got.Step(p)
					require.NoError(t, err)
					n += len(p)
				}
				require.Equal(t, len(insts), n)
				require.Equal(t, want.Mem.(*block).data, got.Mem.(*block).data, "seed %d, %s: %v\n%v", seed, name, insts, packed)
				if live {
					require.Equal(t, want.V, got.V, "seed %d, %s: %v\n%v", seed, name, insts, packed)
					require.Equal(t, want.Q, got.Q, "seed %d, %s: %v\n%v", seed, name, insts, packed)
					require.Equal(t, want.R, got.R, "seed %d, %s: %v\n%v", seed, name, insts, packed)
				}
			}
		}
	}
}

// TestAssign: lives that overlap in some packet of the loop have different registers.
func TestAssign(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	assigned := 0
	for range 300 {
		interval := 1 + r.IntN(12)
		var lives []sched.Life
		for range 1 + r.IntN(10) {
			begin := r.IntN(3 * interval)
			lives = append(lives, sched.Life{Begin: begin, End: begin + 1 + r.IntN(interval), Wide: r.IntN(4) == 0})
		}
		got, ok := sched.Assign(lives, interval, []int64{0, 1, 2, 3, 4, 5, 6, 7})
		if !ok {
			continue
		}
		assigned++
		taken := map[[2]int64]int{}
		for n, l := range lives {
			width := int64(1)
			if l.Wide {
				width = 2
				require.Zero(t, got[n]%2)
			}
			for at := l.Begin + 1; at <= l.End; at++ {
				for w := range width {
					key := [2]int64{got[n] + w, int64(at % interval)}
					other, twice := taken[key]
					require.False(t, twice && other != n, "%v and %v share a register of an interval of %d", lives[n], lives[other], interval)
					taken[key] = n
				}
			}
		}
	}
	require.Greater(t, assigned, 100)
}

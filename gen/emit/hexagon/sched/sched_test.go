package sched_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/emit/hexagon/isa"
	"rules_dnn/gen/emit/hexagon/packet"
	"rules_dnn/gen/emit/hexagon/sched"
)

const (
	version = 68
	// Registers of the loop: addresses of A, B, C and the sums, what vshuff takes, and zeros.
	a, b, c, r, sizes = 0, 1, 2, 3, 4
	zeros             = 31
	// Values of an iteration.
	va, vb, vc, sum, shuffled = 100, 101, 102, 104, 106
)

// add is the loop of Figure 4.5, R = A + B + C of bytes, summed in half-words: three loads and two stores of vectors. A shuffle puts the sums in
// the bytes' order. Values live for longer than three packets, so that two iterations, with registers of their own, are one of the schedule.
func add() []isa.Inst {
	var out []isa.Inst
	for _, n := range []int64{0, 10} {
		out = append(out,
			isa.New("V6_vL32b_pi", va+n, a, 1),
			isa.New("V6_vL32b_pi", vb+n, b, 1),
			isa.New("V6_vL32b_pi", vc+n, c, 1),
			isa.New("V6_vaddubh", sum+n, va+n, vb+n),
			isa.New("V6_vaddubh_acc", sum+n, vc+n, zeros),
			isa.New("V6_vshuffvdd", shuffled+n, sum+n+1, sum+n, sizes),
			isa.New("V6_vS32b_pi", r, 1, shuffled+n),
			isa.New("V6_vS32b_pi", r, 1, shuffled+n+1))
	}
	return out
}

// memory is A, B, C and the sums.
type memory [4][4096]byte

const iterations = 8

func (m *memory) Read(at uint32, to []byte) error {
	if at>>16 > 2 || at&0xffff >= 2*iterations*isa.Bytes {
		return fmt.Errorf("%#x is read", at)
	}
	copy(to, m[at>>16][at&0xffff:])
	return nil
}

func (m *memory) Write(at uint32, from []byte) error {
	if at>>16 != 3 || at&0xffff >= 4*iterations*isa.Bytes {
		return fmt.Errorf("%#x is written", at)
	}
	copy(m[3][at&0xffff:], from)
	return nil
}

// interval schedules the loop with the least interval.
func interval(t *testing.T) *sched.Modulo {
	var body []sched.Op
	var order []int
	for i, x := range add() {
		body = append(body, sched.Op{Inst: x, Late: x.Row.Memory == isa.Loads, At: float64(i/8) / 2})
		if i%8 < 3 {
			body[i].At = 0
		}
	}
	for _, i := range []int{3, 4, 5, 6, 7, 0, 1, 2} {
		order = append(order, i, i+8)
	}
	for n := 1; n < 20; n++ {
		if m := sched.Loop(version, body, order, n, false); m != nil {
			return m
		}
	}
	t.Fatal("no schedule")
	return nil
}

// TestFigure45: the loop takes three packets an iteration, one for each load, legal and without stalls, and computes what it means.
func TestFigure45(t *testing.T) {
	m := interval(t)
	require.Equal(t, 2*3, m.Interval)
	lives, of := m.Lives(isa.Vector, func(n int64) bool { return n >= 100 })
	var registers []int64
	for n := range int64(30) {
		registers = append(registers, n)
	}
	got, ok := sched.Assign(lives, m.Interval, registers)
	require.True(t, ok)
	physical := map[int64]int64{}
	for n, v := range of {
		physical[v], physical[v+1] = got[n], got[n]+1
		if !lives[n].Wide {
			delete(physical, v+1)
		}
	}
	for n, v := range of { // neighbours of single ones are values of their own
		physical[v] = got[n]
	}
	inst := func(i int) isa.Inst {
		x := add()[i]
		args := append([]int64{}, x.Args...)
		for k, o := range x.Row.Operands {
			if p, ok := physical[args[k]]; ok && o.Class == isa.Vector {
				args[k] = p
			}
		}
		return isa.Inst{Row: x.Row, Args: args}
	}
	mem := &memory{}
	for op := range 3 {
		for i := range 2 * iterations * isa.Bytes {
			mem[op][i] = byte((i*7 + op*91) ^ i>>3)
		}
	}
	s := &isa.State{Mem: mem}
	s.R[b], s.R[c], s.R[r] = 1<<16, 2<<16, 3<<16
	s.R[sizes] = 0xfffffffe // units of two bytes and more
	stalls := packet.NewStalls(version)
	for at := 0; at < m.Interval*(iterations+m.Stages()); at++ {
		var p []isa.Inst
		for i, t := range m.Times {
			if j := at - t; j >= 0 && j%m.Interval == 0 && j/m.Interval < iterations {
				p = append(p, inst(i))
			}
		}
		if len(p) == 0 {
			continue
		}
		require.NoError(t, packet.Check(version, p))
		stalls.Step(p)
		_, err := s.Step(p)
		require.NoError(t, err)
	}
	assert.Zero(t, stalls.Count)
	for i := range 2 * iterations * isa.Bytes {
		want := int(mem[0][i]) + int(mem[1][i]) + int(mem[2][i])
		require.Equal(t, want, int(mem[3][2*i])+int(mem[3][2*i+1])<<8, "sum %d", i)
	}
	for n, row := range m.Packets() {
		var texts []string
		for _, i := range row {
			texts = append(texts, inst(i).String())
		}
		t.Logf("packet %d: %v", n, texts)
	}
}

// TestModes: packing that is aware of soft dependencies takes fewer packets and stalls than where they forbid to share one, and no more than where they
// cost nothing, for two iterations of Figure 4.5's loop as straight-line code.
func TestModes(t *testing.T) {
	code := add()
	cost := map[sched.Mode]int{}
	for mode, name := range sched.Modes {
		p := sched.Straight(version, code, mode, false)
		n := 0
		for _, x := range p {
			require.NoError(t, packet.Check(version, x), "%s", name)
			n += len(x)
		}
		require.Equal(t, len(code), n)
		cost[mode] = sched.Cost(version, p)
		t.Logf("%s: %d packets, %d with stalls", name, len(p), cost[mode])
	}
	assert.LessOrEqual(t, cost[sched.Aware], cost[sched.Ignored])
	assert.Less(t, cost[sched.Aware], cost[sched.Hard])
}

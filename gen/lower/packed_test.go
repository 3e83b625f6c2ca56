package lower

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"rules_dnn/gen/ir"
)

// numbers are elements 1, 2, ... in a file that counts what is read of it.
type numbers struct {
	size        int64 // of an element
	reads, read int64
}

func (n *numbers) ReadAt(b []byte, at int64) (int, error) {
	n.reads++
	n.read += int64(len(b))
	var e [4]byte
	for i := range b {
		binary.LittleEndian.PutUint32(e[:], uint32(1+(at+int64(i))/n.size))
		b[i] = e[(at+int64(i))%n.size]
	}
	return len(b), nil
}

func (n *numbers) tensor(t ir.DType, elements int64) *ir.Tensor {
	n.size = int64(t.Size())
	return &ir.Tensor{Type: t, Shape: []int64{elements}, Src: &ir.Source{File: &ir.File{R: n, Size: elements * n.size}, Length: elements * n.size}}
}

// at is element e of the packed constant by its definition.
func (p *packed) at(e int64) uint32 {
	lane, run := e%p.lanes, e/p.lanes
	step, group := run%p.steps(), run/p.steps()
	perSet := p.slots() / p.lanes
	channel := group%perSet*p.lanes + lane
	k := p.points[step]
	if channel >= p.channels || k < 0 {
		return 0
	}
	channel += group / perSet * p.channels
	x := uint32(1 + p.offset + channel*p.stride + k)
	if p.to == ir.F32 && p.from.Type != ir.F32 {
		return math.Float32bits(widened(p.from.Type, uint16(x)))
	}
	return x
}

// TestPacked compares each element with its definition, whole and in parts of all sizes.
func TestPacked(t *testing.T) {
	rows := func(n, step int64) (out []int64) {
		for i := range n {
			out = append(out, i*step)
		}
		return out
	}
	for i, c := range []struct {
		packed
		t    ir.DType
		sets int64
	}{
		{packed{channels: 8, lanes: 4, stride: 6, points: rows(6, 1)}, ir.F32, 1},
		{packed{channels: 7, lanes: 4, stride: 6, points: rows(6, 1)}, ir.F32, 1},                   // channels that are not there
		{packed{channels: 6, lanes: 4, stride: 1, points: rows(5, 18)}, ir.F32, 3},                  // several convolutions
		{packed{channels: 5, lanes: 2, offset: 59, stride: -1, points: rows(10, 5)[:9]}, ir.F32, 1}, // backwards
		{packed{channels: 3, lanes: 8, stride: 4, points: []int64{0, 2, -1, 1, 3, -1}}, ir.F32, 2},  // blocks of a sum that are not full
		{packed{channels: 4, lanes: 4, stride: 0, points: rows(3, 1)}, ir.F32, 1},                   // one row for all
		{packed{channels: 7, lanes: 4, stride: 6, points: rows(6, 1)}, ir.F16, 1},                   // of 16 bits
		{packed{channels: 7, lanes: 4, stride: 6, points: rows(6, 1), to: ir.F32}, ir.F16, 1},       // and converted
		{packed{channels: 6, lanes: 4, stride: 1, points: append(rows(4, 18), -1), to: ir.F32}, ir.BF16, 3},
	} {
		p := c.packed
		p.from = (&numbers{}).tensor(c.t, 200)
		groups := c.sets * p.slots() / p.lanes
		size := p.size()
		n := groups * int64(len(p.points)) * p.lanes
		want := make([]byte, 0, n*size)
		for e := range n {
			want = append(want, binary.LittleEndian.AppendUint32(nil, p.at(e))[:size]...)
		}
		if c.to == ir.Invalid {
			c.to = c.t
		}
		x := p.tensor(c.to, groups, p.steps(), p.lanes)
		got, err := x.Bytes()
		require.NoError(t, err)
		require.Equal(t, want, got, "case %d", i)
		for from := range n {
			for to := from; to <= n; to += 1 + to%3 {
				b := make([]byte, (to-from)*size)
				require.NoError(t, x.ReadBytes(b, from*size))
				require.Equal(t, want[from*size:to*size], b, "case %d, elements %d to %d", i, from, to)
			}
		}
	}
}

// TestPackedReads: weights of either order are read a few times at most, and not element by element.
func TestPackedReads(t *testing.T) {
	const channels, points = 2000, 1500
	line := make([]int64, points)
	for _, c := range []struct{ stride, step int64 }{{points, 1}, {1, channels}} {
		for k := range line {
			line[k] = int64(k) * c.step
		}
		file := &numbers{}
		p := &packed{from: file.tensor(ir.F32, channels*points), channels: channels, lanes: 32, stride: c.stride, points: line}
		_, err := p.tensor(ir.F32, 63, points, 32).WriteTo(io.Discard)
		require.NoError(t, err)
		what := fmt.Sprintf("a stride of %d: %d reads of %d bytes", c.stride, file.reads, file.read)
		require.Less(t, file.read, int64(5*4*channels*points), what)
		require.Less(t, file.reads, int64(4*points), what)
	}
}

// TestPackedErrors: a file that ends too early.
func TestPackedErrors(t *testing.T) {
	from := (&numbers{}).tensor(ir.F32, 100)
	from.Src.File.R = bytes.NewReader(make([]byte, 40))
	p := &packed{from: from, channels: 10, lanes: 4, stride: 10, points: []int64{0, 1, 2}}
	n, err := p.tensor(ir.F32, 3, 3, 4).WriteTo(io.Discard)
	require.EqualError(t, err, "the file of the model ends before byte 372")
	require.Zero(t, n)
}

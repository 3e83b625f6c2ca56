package weights

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
func (p *Packed) at(e int64) uint32 {
	lane, run := e%p.Lanes, e/p.Lanes
	step, group := run%p.steps(), run/p.steps()
	perSet := p.slots() / p.Lanes
	channel := group%perSet*p.Lanes + lane
	k := p.Points[step]
	if channel >= p.Channels || k < 0 {
		return 0
	}
	channel += group / perSet * p.Channels
	x := uint32(1 + p.Offset + channel*p.Stride + k)
	if p.To == ir.F32 && p.From.Type != ir.F32 {
		return math.Float32bits(widened(p.From.Type, uint16(x)))
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
		Packed
		t    ir.DType
		sets int64
	}{
		{Packed{Channels: 8, Lanes: 4, Stride: 6, Points: rows(6, 1)}, ir.F32, 1},
		{Packed{Channels: 7, Lanes: 4, Stride: 6, Points: rows(6, 1)}, ir.F32, 1},                   // channels that are not there
		{Packed{Channels: 6, Lanes: 4, Stride: 1, Points: rows(5, 18)}, ir.F32, 3},                  // several convolutions
		{Packed{Channels: 5, Lanes: 2, Offset: 59, Stride: -1, Points: rows(10, 5)[:9]}, ir.F32, 1}, // backwards
		{Packed{Channels: 3, Lanes: 8, Stride: 4, Points: []int64{0, 2, -1, 1, 3, -1}}, ir.F32, 2},  // blocks of a sum that are not full
		{Packed{Channels: 4, Lanes: 4, Stride: 0, Points: rows(3, 1)}, ir.F32, 1},                   // one row for all
		{Packed{Channels: 7, Lanes: 4, Stride: 6, Points: rows(6, 1)}, ir.F16, 1},                   // of 16 bits
		{Packed{Channels: 7, Lanes: 4, Stride: 6, Points: rows(6, 1), To: ir.F32}, ir.F16, 1},       // and converted
		{Packed{Channels: 6, Lanes: 4, Stride: 1, Points: append(rows(4, 18), -1), To: ir.F32}, ir.BF16, 3},
	} {
		p := c.Packed
		p.From = (&numbers{}).tensor(c.t, 200)
		groups := c.sets * p.slots() / p.Lanes
		size := p.size()
		n := groups * int64(len(p.Points)) * p.Lanes
		want := make([]byte, 0, n*size)
		for e := range n {
			want = append(want, binary.LittleEndian.AppendUint32(nil, p.at(e))[:size]...)
		}
		if c.To == ir.Invalid {
			c.To = c.t
		}
		x := p.Tensor(c.To, groups, p.steps(), p.Lanes)
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
		p := &Packed{From: file.tensor(ir.F32, channels*points), Channels: channels, Lanes: 32, Stride: c.stride, Points: line}
		_, err := p.Tensor(ir.F32, 63, points, 32).WriteTo(io.Discard)
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
	p := &Packed{From: from, Channels: 10, Lanes: 4, Stride: 10, Points: []int64{0, 1, 2}}
	n, err := p.Tensor(ir.F32, 3, 3, 4).WriteTo(io.Discard)
	require.EqualError(t, err, "the file of the model ends before byte 372")
	require.Zero(t, n)
}

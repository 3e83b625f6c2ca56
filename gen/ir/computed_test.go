package ir

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"github.com/stretchr/testify/require"
)

// counting are the numbers 0, 1, ... as a computed constant, in units.
func counting(t *testing.T, n, unit int64) *Tensor {
	return Computed(U8, []int64{n}, unit, func(b []byte, first int64) error {
		require.Zero(t, first%unit, "the first element")
		require.True(t, int64(len(b))%unit == 0 || first+int64(len(b)) == n, "%d elements from %d on", len(b), first)
		for i := range b {
			b[i] = byte(first) + byte(i)
		}
		return nil
	})
}

// TestComputed reads constants that are computed in units at all positions.
func TestComputed(t *testing.T) {
	for _, c := range []struct{ n, unit int64 }{{0, 1}, {1, 1}, {7, 1}, {7, 3}, {12, 4}, {13, 4}, {5, 5}, {5, 9}} {
		x := counting(t, c.n, c.unit)
		require.NoError(t, checkTensor(x))
		want := make([]byte, c.n)
		for i := range want {
			want[i] = byte(i)
		}
		for from := range c.n + 1 {
			for to := from; to <= c.n; to++ {
				b := make([]byte, to-from)
				require.NoError(t, x.ReadBytes(b, from))
				require.Equal(t, want[from:to], b, "%d elements in units of %d: from %d to %d", c.n, c.unit, from, to)
			}
		}
		require.ErrorContains(t, x.ReadBytes(make([]byte, 2), c.n-1), "computed ones")
	}
}

// TestWriteTo: constants of more than one part are written whole, wherever they are.
func TestWriteTo(t *testing.T) {
	const n = 2*partBytes + 100
	data := make([]byte, n)
	for i := range data {
		data[i] = byte(i)
	}
	inFile := &Tensor{Type: U8, Shape: []int64{n}, Src: &Source{File: &File{R: bytes.NewReader(append([]byte{99}, data...)), Size: n + 1}, Offset: 1, Length: n}}
	for name, x := range map[string]*Tensor{
		"memory":   {Type: U8, Shape: []int64{n}, Data: data},
		"file":     inFile,
		"computed": counting(t, n, 1000),
		"at once":  counting(t, n, n),
	} {
		var b bytes.Buffer
		written, err := x.WriteTo(&b)
		require.NoError(t, err, name)
		require.EqualValues(t, n, written, name)
		require.True(t, bytes.Equal(data, b.Bytes()), name)
		all, err := x.Bytes()
		require.NoError(t, err, name)
		require.True(t, bytes.Equal(data, all), name)
	}
}

// TestTogether: what is best computed together is computed so where it fits into mostBytes; where it does not, in
// pieces of at most so much, none of which has a share in two.
func TestTogether(t *testing.T) {
	for name, c := range map[string]struct{ together, n int64 }{
		"a few in a part":      {3000, 2*partBytes + 504},
		"one in a part":        {2*partBytes + 1000, 5 * partBytes},
		"more than is held":    {2*mostBytes + 1000, 4*mostBytes + 3000},
		"not even one of them": {4 * mostBytes, 2*mostBytes + 7},
	} {
		t.Run(name, func(t *testing.T) {
			const unit = 8
			ends := int64(0) // of what is computed so far
			x := ComputedTogether(U8, []int64{c.n}, unit, c.together, func(b []byte, first int64) error {
				end := first + int64(len(b))
				require.Equal(t, ends, first)
				require.True(t, end%unit == 0 || end == c.n, "up to %d", end)
				require.LessOrEqual(t, len(b), mostBytes+unit)
				if c.together > mostBytes {
					require.Equal(t, first/c.together, (end-1)/c.together, "%d to %d", first, end)
				} else {
					require.Zero(t, first%c.together)
				}
				ends = end
				return nil
			})
			n, err := x.WriteTo(io.Discard)
			require.NoError(t, err)
			require.Equal(t, c.n, n)
			require.Equal(t, c.n, ends)
		})
	}
}

// full is a disk with space for some bytes.
type full int

var errFull = errors.New("no space")

func (f *full) Write(b []byte) (int, error) {
	n := min(int(*f), len(b))
	if *f -= full(n); n < len(b) {
		return n, errFull
	}
	return n, nil
}

// TestReadErrors: files that have become shorter, what cannot be computed and a full disk.
func TestReadErrors(t *testing.T) {
	short := func(name string) *Tensor {
		return &Tensor{Type: U8, Shape: []int64{8}, Src: &Source{File: &File{Name: name, R: bytes.NewReader(make([]byte, 10)), Size: 100}, Offset: 4, Length: 8}}
	}
	failing := Computed(F32, []int64{8}, 2, func([]byte, int64) error { return errors.New("no idea") })
	for _, c := range []struct {
		x    *Tensor
		want string
	}{
		{short(""), "the file of the model ends before byte 12"},
		{short(ConstsName), "the file of constants ends before byte 12"},
		{short("a.bin"), `the file "a.bin" ends before byte 12`},
		{failing, "no idea"},
	} {
		_, err := c.x.WriteTo(io.Discard)
		require.EqualError(t, err, c.want)
		_, err = c.x.Bytes()
		require.EqualError(t, err, c.want)
	}
	g := &Graph{Outputs: []*Value{ConstValue("c", NewTensor(U8, 100))}}
	little := full(99)
	require.ErrorIs(t, PrintConsts(io.Discard, g, NewConstWriter(&little)), errFull)
	space := full(partBytes + 1)
	n, err := counting(t, 2*partBytes, 1).WriteTo(&space)
	require.ErrorIs(t, err, errFull)
	require.EqualValues(t, partBytes+1, n)
}

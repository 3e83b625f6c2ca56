package check

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/ir"
)

// told is what a program writes: numbers, texts after their lengths, bytes.
func told(list ...any) []byte {
	var b bytes.Buffer
	for _, x := range list {
		switch x := x.(type) {
		case int:
			b.Write(binary.LittleEndian.AppendUint64(nil, uint64(x)))
		case string:
			b.Write(binary.LittleEndian.AppendUint64(nil, uint64(len(x))))
			b.WriteString(x)
		case []byte:
			b.Write(x)
		}
	}
	return b.Bytes()
}

// TestEmulated: what a program tells is read, and a program that ends or tells nonsense is an
// error.
func TestEmulated(t *testing.T) {
	model := told(1, 1, 1, 2, "N", "x", "y", "u8", 1, "Relu", "generic", "Conv", "product")
	answer := told(0, "", 3, 3, []byte{7, 8, 9}, 10, 20, 3, 100, 200, 30)
	for _, c := range []struct {
		name, start, says string
		out               []byte
	}{
		{"right", "", "", append(bytes.Clone(model), answer...)},
		{"refused", "", "status 4: dimensions", append(bytes.Clone(model), told(4, "dimensions", 0, 0, 0, 0, 0, 0)...)},
		{"other size", "", "output y has 4 bytes, and dimensions of 3 elements of u8", append(bytes.Clone(model), told(0, "", 3, 4)...)},
		{"dimensions of nonsense", "", "output y has 3 bytes, and dimensions of 4611686018427387904 elements", append(bytes.Clone(model), told(0, "", 1<<62, 3)...)},
		{"bytes of nonsense", "", "found 4611686018427387904, want at most", append(bytes.Clone(model), told(0, "", 3, 1<<62)...)},
		{"cut off", "", "did not answer", append(bytes.Clone(model), answer[:len(answer)-1]...)},
		{"nonsense", "does not say what it serves: found -1, want at most", "", told(-1)},
		{"nothing", "does not say what it serves: EOF", "", nil},
		{"rank of nonsense", "found 4611686018427387904, want at most 32", "", told(0, 0, 1, 0, "y", "u8", 1<<62)},
		{"no type", "unknown element type", "", told(0, 0, 1, 0, "y", "u9", 1)},
	} {
		t.Run(c.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "out")
			require.NoError(t, os.WriteFile(file, c.out, 0o644))
			e, err := StartEmulated("sh", "-c", "cat "+file+"; exec >&-; cat >"+file+".in")
			if c.start != "" {
				require.ErrorContains(t, err, c.start)
				return
			}
			require.NoError(t, err)
			x := &ir.Tensor{Type: ir.U8, Shape: []int64{3}, Data: []byte{1, 2, 3}}
			y, err := e.Run(map[string]int64{"N": 3}, map[string]*ir.Tensor{"x": x})
			require.NoError(t, e.Close())
			if c.says != "" {
				require.ErrorContains(t, err, c.says)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, map[string]*ir.Tensor{"y": {Type: ir.U8, Shape: []int64{3}, Data: []byte{7, 8, 9}}}, y)
			assert.Equal(t, []Executed{{"Relu", "generic", 10, 20, 3}, {"Conv", "product", 100, 200, 30}}, e.Blocks)
			request, err := os.ReadFile(file + ".in")
			require.NoError(t, err)
			assert.Equal(t, told(1, 3, 3, []byte{1, 2, 3}), request)
		})
	}
}

package masks

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/safetensors"
	"rules_dnn/gen/kernel/fkw"
)

func example() *Set {
	return &Set{Layers: []*Layer{
		{Name: "conv", Shape: []int64{3, 2, 3, 3}, Groups: 1, Patterns: []fkw.Pattern{0x1b, 0x36}, Kernels: []uint8{1, 0, 2, 1, 0, 0}, Share: 1},
		{Name: "fc", Shape: []int64{2, 4}, FilterAxis: 1, Groups: 1, Patterns: []fkw.Pattern{1}, Kernels: []uint8{1, 0, 0, 1, 1, 1, 0, 0}, Share: 1, Packed: true},
		{Name: "shared", Shape: []int64{6, 1, 1}, Groups: 2, Patterns: []fkw.Pattern{1}, Kernels: []uint8{1, 1, 1, 0, 0, 0}, Share: 4},
	}}
}

func write(t testing.TB, s *Set) []byte {
	var b bytes.Buffer
	require.NoError(t, Write(&b, s))
	return b.Bytes()
}

func open(b []byte) *ir.File { return &ir.File{R: bytes.NewReader(b), Size: int64(len(b))} }

func TestRoundTrip(t *testing.T) {
	got, err := Read(open(write(t, example())))
	require.NoError(t, err)
	require.Equal(t, example(), got)
	empty, err := Read(open(write(t, &Set{})))
	require.NoError(t, err)
	require.Empty(t, empty.Layers)
}

// TestWeights: the kept elements, also where the second axis is the filters'.
func TestWeights(t *testing.T) {
	s := example()
	w := s.Layer("conv").Weights()
	require.Equal(t, []bool{true, true, false, true, true, false, false, false, false}, w[:9])
	require.NotContains(t, w[9:18], true)
	require.Equal(t, []bool{false, true, true, false, true, true, false, false, false}, w[18:27])
	// Filters are columns: filter 0 keeps channel 0, 1 channel 1, 2 both, 3 none.
	require.Equal(t, []bool{true, false, true, false, false, true, true, false}, s.Layer("fc").Weights())
	kernels, weights := s.Layer("conv").Kept()
	require.Equal(t, []int64{3, 12}, []int64{kernels, weights})
	kernels, weights = s.Layer("conv").Total()
	require.Equal(t, []int64{6, 54}, []int64{kernels, weights})
	require.Nil(t, s.Layer("other"))
}

// TestRefused: masks that make no sense.
func TestRefused(t *testing.T) {
	for want, change := range map[string]func(*Layer){
		"6 kernels for weights of shape [4 2 3 3], which have 8":              func(l *Layer) { l.Shape[0] = 4 },
		"filter_axis 2; want 0 or 1":                                          func(l *Layer) { l.FilterAxis = 2 },
		"weights of shape [6]; want filters":                                  func(l *Layer) { l.Shape = []int64{6} },
		"negative dimension":                                                  func(l *Layer) { l.Shape[0] = -3 },
		"2 groups of 3 filters":                                               func(l *Layer) { l.Groups = 2 },
		"share = 0":                                                           func(l *Layer) { l.Share = 0 },
		"filters 0 and 1 have different kernels; share = 4":                   func(l *Layer) { l.Share = 4 },
		"the kernel of filter 1 and channel 1 has pattern 3; the table has 2": func(l *Layer) { l.Kernels[3] = 3 },
		"0 patterns":                            func(l *Layer) { l.Patterns = nil },
		"pattern 1b occurs twice":               func(l *Layer) { l.Patterns[1] = 0x1b },
		"pattern 3 has 2 taps, and 1b has 4":    func(l *Layer) { l.Patterns[1] = 3 },
		"pattern 1e0000 has a tap beyond the 9": func(l *Layer) { l.Patterns[1] = 0x1e0000 },
		"kernels of 81 taps; want at most 64":   func(l *Layer) { l.Shape = []int64{3, 2, 9, 9} },
	} {
		s := example()
		change(s.Layers[0])
		require.ErrorContains(t, s.Verify(), want)
		require.ErrorContains(t, s.Verify(), `mask of "conv"`)
		require.Error(t, Write(&bytes.Buffer{}, s))
	}
	s := example()
	s.Layers[1].Name = "conv"
	require.ErrorContains(t, s.Verify(), "twice")
}

// TestFiles: files of another shape than they say.
func TestFiles(t *testing.T) {
	for want, change := range map[string]func(f *safetensors.File, heads []map[string]any){
		`"format" is "pt"; want "rules_dnn masks 1"`:           func(f *safetensors.File, _ []map[string]any) { f.Metadata["format"] = "pt" },
		"has 3 layers; the file has 2 tensors":                 func(f *safetensors.File, _ []map[string]any) { f.Tensors = f.Tensors[1:] },
		`mask of "other": the file has no tensor`:              func(_ *safetensors.File, h []map[string]any) { h[0]["name"] = "other" },
		"the tensor has type i8; want U8":                      func(f *safetensors.File, _ []map[string]any) { f.Tensors[0].Type = ir.I8 },
		"the tensor has shape [3 2]; want [filters, channels]": func(_ *safetensors.File, h []map[string]any) { h[0]["shape"] = []int{2, 3, 3, 3} },
		`"zz" is not a pattern`:                                func(_ *safetensors.File, h []map[string]any) { h[0]["patterns"] = []string{"zz"} },
		"unknown field":                                        func(_ *safetensors.File, h []map[string]any) { h[0]["pattern"] = 1 },
		"weights of shape []":                                  func(_ *safetensors.File, h []map[string]any) { delete(h[0], "shape") },
		"has pattern 2; the table has 1":                       func(_ *safetensors.File, h []map[string]any) { h[0]["patterns"] = []string{"1b"} },
	} {
		f, err := safetensors.Read(open(write(t, example())))
		require.NoError(t, err)
		var heads []map[string]any
		require.NoError(t, json.Unmarshal([]byte(f.Metadata["layers"]), &heads))
		change(f, heads)
		text, err := json.Marshal(heads)
		require.NoError(t, err)
		f.Metadata["layers"] = string(text)
		var b bytes.Buffer
		require.NoError(t, safetensors.Write(&b, f))
		_, err = Read(open(b.Bytes()))
		require.ErrorContains(t, err, want)
	}
}

func TestFits(t *testing.T) {
	l := example().Layer("conv")
	require.NoError(t, l.Fits([]int64{3, 2, 3, 3}, 0, 1))
	require.ErrorContains(t, l.Fits([]int64{3, 2, 5, 5}, 0, 1), "the network's have [3 2 5 5]")
	require.ErrorContains(t, l.Fits([]int64{3, 2, 3, 3}, 1, 1), "axis 1")
	require.ErrorContains(t, l.Fits([]int64{3, 2, 3, 3}, 0, 3), "3")
}

// FuzzRead: no file ends the program, and what is read is valid.
func FuzzRead(f *testing.F) {
	f.Add(write(f, example()))
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := Read(open(b))
		if err != nil {
			return
		}
		require.NoError(t, s.Verify())
		write(t, s)
	})
}

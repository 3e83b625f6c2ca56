package prune

import (
	"encoding/binary"
	"errors"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"rules_dnn/gen/ir"
)

// network are four layers: a first one, one of 3x3, a depthwise one and a fully connected one.
func network() []*Layer {
	shapes := [][]int64{{8, 3, 3, 3}, {8, 8, 3, 3}, {8, 1, 3, 3}, {10, 8}, {8, 8, 1, 1}}
	names := []string{"first", "second", "depthwise", "fc", "point"}
	var out []*Layer
	for i, s := range shapes {
		l, w := random(uint64(i)+10, 0, 1, s...)
		l.Name, l.Node, l.Position, l.Weights = names[i], "node_"+names[i], i, ir.NewTensor(ir.F32, s...)
		for k, x := range w {
			binary.LittleEndian.PutUint32(l.Weights.Data[4*k:], math.Float32bits(x))
		}
		out = append(out, l)
	}
	out[2].Groups = 8
	return out
}

func TestUniform(t *testing.T) {
	o := Defaults()
	o.Connectivity, o.FullyConnected = 3.6, 2
	p, err := Choose(network(), o, nil)
	require.NoError(t, err)
	require.Nil(t, p.Layers[0], "the first layer is exempt")
	require.Len(t, p.Layers[1].Patterns, 8)
	require.Equal(t, 3.6, p.Layers[1].Connectivity)
	require.Equal(t, p.Layers[1].Patterns, p.Layers[2].Patterns, "one set for the model")
	require.Equal(t, 1.0, p.Layers[2].Connectivity, "a kernel of a depthwise convolution is a channel")
	require.Equal(t, Settings{Connectivity: 2, Share: 1}, *p.Layers[3])
	require.Equal(t, Settings{Connectivity: 3.6, Share: 1}, *p.Layers[4])

	o.Set, o.ExemptFirst, o.Exempt = SetOfLayer, false, []string{"node_second", "fc"}
	p, err = Choose(network(), o, nil)
	require.NoError(t, err)
	require.NotEqual(t, p.Layers[0].Patterns, p.Layers[2].Patterns, "a set for each layer")
	require.Nil(t, p.Layers[1])
	require.Nil(t, p.Layers[3])

	o.Exempt = []string{"third"}
	_, err = Choose(network(), o, nil)
	require.ErrorContains(t, err, `exempt names "third", which is not a layer`)
}

// TestPolicy: it may change the options' settings, or exempt a layer, and what it asks for is checked.
func TestPolicy(t *testing.T) {
	o := Defaults()
	o.Sensitivity = map[string]float64{"fc": 0.5}
	p, err := Choose(network(), o, func(f Facts) (*Wish, error) {
		require.Equal(t, 5, f.Count)
		require.Equal(t, f.Name == "fc", f.Sensitivity != nil)
		require.NotZero(t, f.Position, "an exempt layer")
		if f.Name == "second" {
			return &Wish{Patterns: 4, Entries: 3, Connectivity: 2, Share: 1}, nil
		}
		return nil, nil
	})
	require.NoError(t, err)
	require.Len(t, p.Layers[1].Patterns, 4)
	require.Len(t, p.Layers[1].Patterns[0].Taps(), 3)
	require.Nil(t, p.Layers[4])
	for want, w := range map[string]*Wish{
		"entries = 10; want 1 to 9": {Patterns: 4, Entries: 10, Connectivity: 1, Share: 1},
		"patterns = 300":            {Patterns: 300, Entries: 4, Connectivity: 1, Share: 1},
		"connectivity = 0":          {Patterns: 8, Entries: 4, Connectivity: 0, Share: 1},
		"share = 5":                 {Patterns: 8, Entries: 4, Connectivity: 1, Share: 5},
		"both patterns and entries": {Patterns: 8, Entries: 0, Connectivity: 1, Share: 1},
	} {
		_, err := Choose(network(), o, func(Facts) (*Wish, error) { return w, nil })
		require.ErrorContains(t, err, want)
	}
	_, err = Choose(network(), o, func(Facts) (*Wish, error) { return nil, errors.New("no") })
	require.EqualError(t, err, "no")
}

func TestOptions(t *testing.T) {
	o, err := ParseOptions([]byte(`{"entries": {"5x5": 9}, "connectivity": 2}`))
	require.NoError(t, err)
	want := Defaults()
	want.Entries, want.Connectivity = map[string]int{"5x5": 9}, 2
	require.Equal(t, want, o)
	o, err = ParseOptions([]byte(`{"packed": true}`))
	require.NoError(t, err)
	p, err := Choose(network(), o, nil)
	require.NoError(t, err)
	require.True(t, p.Layers[1].Packed, "each layer is to be packed that no policy decides for")
	o, err = ParseOptions([]byte(`{}`))
	require.NoError(t, err)
	require.Equal(t, Defaults(), o)
	for want, text := range map[string]string{
		"unknown field":                                     `{"pattern": 8}`,
		"trailing data":                                     `{}{}`,
		"patterns = -1; want 1 to 255, or 0":                `{"patterns": -1}`,
		`entries of "3x"; want a kernel size`:               `{"entries": {"3x": 4}}`,
		`entries of "9x9"; want kernels of at most 64 taps`: `{"entries": {"9x9": 4}}`,
		`entries of "3x3" are 10; want 1 to 9`:              `{"entries": {"3x3": 10}}`,
		`set = "all"`:                                       `{"set": "all"}`,
		"connectivity = 0.9":                                `{"connectivity": 0.9}`,
		"fully_connected = -1":                              `{"fully_connected": -1}`,
		"share = 2":                                         `{"share": 2}`,
	} {
		_, err := ParseOptions([]byte(text))
		require.ErrorContains(t, err, want)
	}
}

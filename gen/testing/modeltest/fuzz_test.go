package modeltest

import (
	"testing"

	"rules_dnn/gen/testing/wildtest"
)

// choices is a source of random numbers, a byte of the input each; when they end it goes on
// with zeros for bytes.
type choices struct {
	*wildtest.Source
	n uint64
}

// Uint64 spreads a byte over all bits, in another way each time.
func (c *choices) Uint64() uint64 {
	c.n++
	x := (c.n<<8 | uint64(c.N(256))) * 0x9E3779B97F4A7C15
	x = (x ^ x>>30) * 0xBF58476D1CE4E5B9
	x = (x ^ x>>27) * 0x94D049BB133111EB
	return x ^ x>>31
}

// trialOf makes a graph of no purpose, but right, or one of arbitrary nodes, and a way to compile it.
func trialOf(data []byte) *trial {
	s := wildtest.NewSource(data)
	configs := Configs(s.N(len(Chips)))
	t := &trial{config: wildtest.Among(s, configs), wild: s.N(2) == 1}
	if t.wild {
		t.g = wildtest.Graph(s)
		t.inputs, _ = wildtest.Inputs(s, t.g)
		return t
	}
	r := randomOf(&choices{Source: s})
	if !s.Empty() && s.N(3) == 2 {
		r.emptied()
	}
	t.g, t.inputs = r.g, r.inputs
	return t
}

// FuzzGraph compiles graphs and compares with the interpreter of stages. Of what fails it shows a
// graph that is as small as it could make it.
func FuzzGraph(f *testing.F) {
	f.Fuzz(func(t *testing.T, data []byte) {
		x := trialOf(data)
		if len(x.g.Outputs) == 0 {
			return
		}
		before := text(x.g)
		wildtest.Guard(t, func() string { return x.config.String() + "\n" + before })
		if err := x.survives(); err != nil {
			err = x.shrink(err)
			t.Fatalf("with %s: %v\n%s", x.config, err, text(x.g))
		}
	})
}

package fuse

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"rules_dnn/gen/fusion/block"
)

// TestSpread: each move that reads a move's result gets a block of its own for that; what computes, what callers get and what too many read stays one.
func TestSpread(t *testing.T) {
	const in, by = "input %x f32[2, 3, 4]\n", " ?[*] = Transpose.13(%t) {perm = [0, 2, 1]}\n"
	const move = in + "%t ?[*] = Transpose.13(%x) {perm = [2, 0, 1]}\n"
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"two readers":             {move + "%a" + by + "%b" + by + "output %a\noutput %b", []string{"Transpose", "Transpose", "Transpose", "Transpose"}},
		"one reader":              {move + "%a" + by + "output %a", []string{"Transpose", "Transpose"}},
		"a reader that computes":  {move + "%a" + by + "%b ?[*] = Exp.13(%t)\noutput %a\noutput %b", []string{"Transpose", "Transpose", "Exp"}},
		"what computes is moved":  {in + "%t ?[*] = Exp.13(%x)\n%a" + by + "%b" + by + "output %a\noutput %b", []string{"Exp", "Transpose", "Transpose"}},
		"what callers get":        {move + "%a" + by + "%b" + by + "output %t\noutput %a\noutput %b", []string{"Transpose", "Transpose", "Transpose"}},
		"more readers than four":  {move + "%a" + by + "%b" + by + "%c" + by + "%d" + by + "%e" + by + "output %a\noutput %b\noutput %c\noutput %d\noutput %e", []string{"Transpose", "Transpose", "Transpose", "Transpose", "Transpose", "Transpose"}},
		"as many readers as four": {move + "%a" + by + "%b" + by + "%c" + by + "%d" + by + "output %a\noutput %b\noutput %c\noutput %d", []string{"Transpose", "Transpose", "Transpose", "Transpose", "Transpose", "Transpose", "Transpose", "Transpose"}},
	} {
		t.Run(name, func(t *testing.T) {
			g := blocks(t, c.text)
			spread(moving(g))
			require.NoError(t, g.Verify(), "in an order in which they can run")
			assert.Equal(t, c.want, summary(g))
		})
	}
	g := blocks(t, move+"%a"+by+"%b"+by+"output %a\noutput %b")
	Run(g, Options{Moves: true})
	assert.Len(t, g.Blocks, 2, "elements are moved once for each reader")
	g = blocks(t, move+"%a"+by+"%b"+by+"output %a\noutput %b")
	Run(g, Options{})
	assert.Len(t, g.Blocks, 3, "only where the options ask for it")
	g = blocks(t, move+"%a"+by+"%b"+by+"output %a\noutput %b")
	Run(g, Options{Moves: true, Off: off("spread")})
	assert.Len(t, g.Blocks, 3, "the rule is disabled")
}

// TestSpreadNames: what is moved once more has a name that no value of the model has.
func TestSpreadNames(t *testing.T) {
	const by = " ?[*] = Transpose.13(%t) {perm = [0, 2, 1]}\n"
	g := blocks(t, "input %x f32[2, 3, 4]\n%t ?[*] = Transpose.13(%x) {perm = [2, 0, 1]}\n%t.read1"+by+"%b"+by+"%t.read2"+by+"output %t.read1\noutput %b\noutput %t.read2")
	assert.Equal(t, 2, spread(moving(g)))
	require.NoError(t, g.Verify())
	var names []string
	for _, b := range g.Blocks {
		names = append(names, b.Results[0].Name)
	}
	assert.ElementsMatch(t, []string{"t", "t.read1.1", "t.read2.1", "t.read1", "b", "t.read2"}, names)
}

// TestApart: moves stay blocks of their own where that is asked for, and what computes is composed as ever.
func TestApart(t *testing.T) {
	const text = "input %x f32[2, 3, 4]\n%a ?[*] = Exp.13(%x)\n%b ?[*] = Neg.13(%a)\n%t ?[*] = Transpose.13(%b) {perm = [0, 2, 1]}\n%y ?[*] = Relu.14(%t)\noutput %y"
	g := blocks(t, text)
	Run(g, Options{})
	assert.Equal(t, []string{"Exp+Neg+Transpose+Relu"}, summary(g))
	g = blocks(t, text)
	Run(g, Options{Apart: true})
	require.NoError(t, g.Verify())
	assert.Equal(t, []string{"Exp+Neg", "Transpose", "Relu"}, summary(g))
}

// moving returns a fuser that may repeat data movement.
func moving(g *block.Graph) *fuser {
	f := newFuser(g, Options{Moves: true}, 0)
	f.names = namesOf(g)
	return f
}

package plan

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/kernel/layout"
)

// TestStack: what lives at different times shares memory though nobody knows which is larger, and what lives at one time
// lies apart for every N and M.
func TestStack(t *testing.T) {
	x := value("x", ir.F32, n)
	a, b, c, d := value("a", ir.F32, n, sym.Const(16)), value("b", ir.F32, m, sym.Const(16)), value("c", ir.F32, sym.Const(16)), value("d", ir.F32, sym.Scale(n, 2), sym.Const(16))
	y := value("y", ir.F32, n)
	p := &Program{Inputs: []*ir.Value{x}, Outputs: []*ir.Value{y}, Symbols: []ir.Symbol{{Name: "M", Hi: 9}, {Name: "N", Hi: sym.MaxDim}},
		Steps: []Step{step(x, a), step(a, b), step(b, c), step(c, d), step(d, y)}}
	run(t, p)
	assert.Equal(t, "arena + 0", p.Places[d].String())
	assert.Equal(t, "arena + 0", p.Places[a].String(), "a is dead")
	assert.Equal(t, "arena + 64*N", p.Places[b].String())
	assert.Equal(t, "arena + max(128*N, 64*M + 64*N)", p.Places[c].String(), "above b and d")
	assert.Equal(t, "max(128*N, 64*M + 64*N) + 64", p.ArenaBytes.String())
	assert.Equal(t, "max(64*M + 64, max(128*N + 64, 64*M + 64*N))", p.LowerBoundBytes.String())
}

// TestSlots: where offsets would be too long, areas of one unit each take turns in memory as large as the largest.
func TestSlots(t *testing.T) {
	const steps = 200
	var values []*ir.Value
	p := &Program{Symbols: []ir.Symbol{{Name: "M", Hi: 9}, {Name: "N", Hi: sym.MaxDim}}}
	for i := range steps {
		unit := []sym.Expr{n, m}[i/20%2]
		v := value(fmt.Sprint("v", i), ir.F32, unit, sym.Const(int64(16+16*(i*7%5))))
		values = append(values, v)
	}
	for i, v := range values {
		args := []*ir.Value{v}
		for k := max(0, i-3); k < i; k++ {
			args = append([]*ir.Value{values[k]}, args...)
		}
		p.Steps = append(p.Steps, step(args...))
	}
	a := &arena{facts: sym.Facts{}, sizes: p.large()}
	p.Places = map[*ir.Value]Place{}
	ivs := p.lives(p.unplaced(layout.Host)).list
	for _, iv := range ivs {
		iv.bytes = bytesOf(iv.value.Shape[0], ir.F32, 64)
		iv.bytes = sym.Mul(iv.bytes, iv.value.Shape[1])
	}
	var areas []*area
	for _, x := range areasOf(ivs) {
		areas = append(areas, x.connected()...)
	}
	require.Greater(t, len(areas), 2, "of each unit several")
	slots, large := a.assign(areas)
	require.Len(t, slots, 2, "areas of both units overlap for some steps only")
	a.useSlots(slots)
	assert.Equal(t, large, eval(t, a.bytes, p.large()))
	for _, env := range []map[string]int64{{"N": 1, "M": 9}, {"N": 9, "M": 1}} {
		var boxes []*box
		for _, iv := range ivs {
			boxes = append(boxes, &box{first: iv.first, last: iv.last, size: eval(t, iv.bytes, env), offset: eval(t, a.at[iv], env)})
		}
		for i, x := range boxes {
			require.LessOrEqual(t, x.offset+x.size, eval(t, a.bytes, env))
			for _, y := range boxes[:i] {
				require.False(t, x.overlaps(y) && x.offset < y.offset+y.size && y.offset < x.offset+x.size)
			}
		}
	}
}

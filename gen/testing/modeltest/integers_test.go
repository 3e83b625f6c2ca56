package modeltest

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/graph/interp"
	"rules_dnn/gen/graph/passes/islands"
	"rules_dnn/gen/graph/passes/simplify"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/kernel/layout"
	"rules_dnn/gen/kernel/loop"
	"rules_dnn/gen/program/run"
	"rules_dnn/gen/target"
)

// TestRandomIntegers compiles random graphs on integers for Hexagon, whose instructions multiply them, and for the other chips, and
// compares bytes with the interpreter of stages.
func TestRandomIntegers(t *testing.T) {
	chips := []*target.Target{hexagon(t), hexagon(t, "vrmpy_i8u8"), hexagon(t, "vrmpy_u8i8")}
	for _, name := range integerChips {
		c, err := Chip(name)
		require.NoError(t, err)
		chips = append(chips, c)
	}
	from, to := uint64(1), uint64(90)
	if *seed != 0 {
		from, to = *seed, *seed
	}
	ops, dots, tiles, found, last := map[string]int{}, 0, 0, 0, 0
	for s := from; s <= to; s++ {
		x := NewIntegers(s)
		if len(x.Graph.Outputs) == 0 {
			continue
		}
		for _, op := range x.Ops {
			ops[op]++
		}
		plain := NewIntegers(s)
		require.NoError(t, simplify.RunBut(plain.Graph, islands.Keeps), "seed %d", s)
		if islands.Run(plain.Graph) { // sums of floats round otherwise: package islands tests by how much
			found++
		}
		want, err := interp.Graph(plain.Graph, x.Inputs)
		require.NoError(t, err, "seed %d\n%s", s, text(x.Graph))
		for i, c := range chips {
			if others := len(chips) - len(integerChips); i >= others && int(s)%3 != i%3 {
				continue // each graph for some of them
			}
			x := NewIntegers(s)
			p, err := CompileFor(x.Graph, c, [][]string{nil, {"fuse", "sweep"}}[s%2])
			if !assert.NoError(t, err, "seed %d for chip %d, %s\n%s", s, i, c.Name, text(NewIntegers(s).Graph)) {
				continue
			}
			got, err := run.Program(p, InputsOf(p, x.Inputs))
			if !assert.NoError(t, err, "seed %d for chip %d, %s\n%s", s, i, c.Name, text(NewIntegers(s).Graph)) {
				continue
			}
			for k, w := range want {
				assert.Equal(t, w.Data, got[k].Data, "seed %d for chip %d, %s: output %d\n%s", s, i, c.Name, k, text(NewIntegers(s).Graph))
			}
			for _, call := range p.Calls() {
				for _, v := range call.Block.Results {
					if p.Layouts[v] == layout.Of(layout.Part{Axis: 1}) && len(v.Shape) == 4 {
						last++
					}
				}
				switch tiled := call.Kernel.Anchor == "product" && integersOnly(call.Kernel); {
				case tiled && c.StoresDots():
					dots++
				case tiled:
					tiles++
				}
			}
		}
	}
	t.Logf("%d kernels of Hexagon's instructions, %d of others; %d graphs with islands, %d values with channels last; operators: %v", dots, tiles, found, last, ops)
	if *seed == 0 {
		assert.GreaterOrEqual(t, dots, 30)
		assert.GreaterOrEqual(t, tiles, 20)
		assert.GreaterOrEqual(t, found, 10)
		assert.GreaterOrEqual(t, last, 3)
		assert.Greater(t, len(ops), 20)
	}
}

// integersOnly reports whether a kernel's tiles multiply integers.
func integersOnly(k *loop.Kernel) bool {
	found := false
	loop.Walk(k.Body, func(s loop.Stmt) bool {
		x, ok := s.(loop.Tile)
		found = found || ok && x.Micro.Instr.Acc == ir.I32
		return true
	})
	return found
}

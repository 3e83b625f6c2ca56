package sched

import (
	"fmt"
	"slices"

	"rules_dnn/gen/instr"
)

// tile checks the loops of a tile against its instruction.
func (v *verifier) tile(n int) error {
	sc, st := &v.s.Stages[n], v.w.Stages[n]
	first := slices.IndexFunc(sc.Loops, func(l Loop) bool { return l.Kind.Tile() })
	if sc.Tile == nil {
		if first >= 0 {
			return fmt.Errorf("loop %s is of kind %s, and the stage has no tile", sc.Loops[first].Var, sc.Loops[first].Kind)
		}
		return nil
	}
	row := instr.Lookup(sc.Tile.Row)
	switch {
	case row == nil || !slices.Contains(v.t.Instructions, sc.Tile.Row):
		return fmt.Errorf("tile of instruction %q; the chip %s has %v", sc.Tile.Row, v.t.Name, v.t.Instructions)
	case !row.Allows(sc.Tile.X):
		return fmt.Errorf("instruction %s takes no X of kind %s", row.Name, sc.Tile.X)
	case st.Combine == nil || st.Combine.Name != "sum" || len(st.Values) != 1 || st.Values[0].DType() != row.Acc:
		return fmt.Errorf("a tile of instruction %s of what is no sum of %s", row.Name, row.Acc)
	case first < 0:
		return fmt.Errorf("a tile without loops")
	}
	size, err := v.tileSize(n, first)
	if err != nil {
		return err
	}
	registers := row.Registers(sc.Tile.X, size[Rows], size[Columns])
	switch {
	case size[Lanes] != row.Lanes:
		return fmt.Errorf("%d lanes; instruction %s has %d", size[Lanes], row.Name, row.Lanes)
	case size[Dot] != row.Group:
		return fmt.Errorf("%d products at a time; instruction %s takes in %d", size[Dot], row.Name, row.Group)
	case registers > int64(v.t.VectorRegisters):
		return fmt.Errorf("a tile of %dx%d takes %d registers; the chip %s has %d", size[Rows], size[Columns], registers, v.t.Name, v.t.VectorRegisters)
	}
	return nil
}

// tileSize is how many iterations the loops of a tile have, from the first one on, one of each kind but of sums.
func (v *verifier) tileSize(n, first int) (map[Kind]int64, error) {
	sc := &v.s.Stages[n]
	size := map[Kind]int64{Rows: 1, Columns: 1, Lanes: 0, Dot: 1}
	seen := map[Kind]bool{}
	for i := first; i < len(sc.Loops); i++ {
		l := sc.Loops[i]
		if err := tileEdge(l); err != nil {
			return nil, err
		}
		iterations := l.Size
		if l.Size == 0 {
			e, known := v.span(n, i).Extent.Const()
			if !known {
				return nil, fmt.Errorf("loop %s of a tile has %s iterations: want a constant", l.Var, v.span(n, i).Extent)
			}
			iterations = e / sc.Within(i)
		}
		if l.Kind == Sum {
			continue
		}
		if seen[l.Kind] {
			return nil, fmt.Errorf("two loops of kind %s; a tile has one", l.Kind)
		}
		seen[l.Kind], size[l.Kind] = true, iterations
	}
	return size, nil
}

// tileEdge checks that a micro-kernel can end so: its sums are whole, fewer rows are a tile of their own, and registers are whole.
func tileEdge(l Loop) error {
	switch ok := l.Edge == Exact; {
	case ok || l.Kind == Rows && l.Edge != Clip || (l.Kind == Columns || l.Kind == Lanes) && l.Edge == RoundUp:
		return nil
	case l.Kind == Sum || l.Kind == Dot:
		return fmt.Errorf("loop %s of a tile's sum has the edge %s: what is beyond it would be added", l.Var, l.Edge)
	}
	return fmt.Errorf("loop %s (%s): a tile has no edge %s there", l.Var, l.Kind, l.Edge)
}

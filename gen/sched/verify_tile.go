package sched

import (
	"fmt"
	"slices"

	"rules_dnn/gen/instr"
	"rules_dnn/gen/sym"
	"rules_dnn/gen/te"
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
	wide := size[Columns] * size[Lanes]
	registers, err := v.registers(n, row, size[Rows], wide/row.Lanes)
	if err != nil {
		return err
	}
	switch {
	case wide == 0 || wide%row.Lanes != 0:
		return fmt.Errorf("%d lanes; instruction %s has %d", wide, row.Name, row.Lanes)
	case size[Dot] != row.Group:
		return fmt.Errorf("%d products at a time; instruction %s takes in %d", size[Dot], row.Name, row.Group)
	case registers > int64(v.t.VectorRegisters):
		return fmt.Errorf("a tile of %dx%d takes %d registers; the chip %s has %d", size[Rows], wide/row.Lanes, registers, v.t.Name, v.t.VectorRegisters)
	}
	return nil
}

// registers is how many the tile takes.
func (v *verifier) registers(n int, row *instr.Row, rows, vectors int64) (int64, error) {
	x := v.s.Stages[n].Tile.X
	if x != instr.Vector {
		return row.Registers(x, rows, vectors), nil
	}
	z, err := v.s.Nonzeros(v.w, n)
	if err != nil || z == nil {
		return row.Registers(x, rows, vectors), err
	}
	return row.RegistersApart(rows, vectors, z.Together()), nil
}

// tileSize is how many iterations the loops of each of a tile's kinds have, from the first one on: one loop of each kind, but of
// sums, and of rows where the first is over runs of all that the second has.
func (v *verifier) tileSize(n, first int) (map[Kind]int64, error) {
	sc := &v.s.Stages[n]
	size := map[Kind]int64{Rows: 1, Columns: 1, Lanes: 0, Dot: 1}
	seen := map[Kind]int{}
	for i := first; i < len(sc.Loops); i++ {
		l := sc.Loops[i]
		if err := v.tileEdge(n, l); err != nil {
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
		if seen[l.Kind]++; seen[l.Kind] > 2 || seen[l.Kind] == 2 && (l.Kind != Rows || l.Edge != Exact) {
			return nil, fmt.Errorf("two loops of kind %s; a tile has one, or runs of whole rows", l.Kind)
		}
		size[l.Kind] = max(size[l.Kind], 1) * iterations
	}
	return size, nil
}

// tileEdge checks that a micro-kernel can end so: its sums are whole, fewer rows are a tile of their own, and registers are whole.
func (v *verifier) tileEdge(n int, l Loop) error {
	switch ok := l.Edge == Exact || l.Kind == Sum && l.Edge == RoundUp && v.addsZeros(n, l); {
	case ok || l.Kind == Rows && l.Edge != Clip || (l.Kind == Columns || l.Kind == Lanes) && l.Edge == RoundUp:
		return nil
	case l.Kind == Sum || l.Kind == Dot:
		return fmt.Errorf("loop %s of a tile's sum has the edge %s: what is beyond it would be added", l.Var, l.Edge)
	}
	return fmt.Errorf("loop %s (%s): a tile has no edge %s there", l.Var, l.Kind, l.Edge)
}

// addsZeros reports whether all that a loop of a sum reads beyond its axis is there, and zero in a constant: of each factor that
// walks the axis alone, whose storage goes on as far.
func (v *verifier) addsZeros(n int, l Loop) bool {
	size := int64(1)
	for _, x := range v.s.Stages[n].Loops {
		if x.Axis == l.Axis {
			size *= max(x.Size, 1)
		}
	}
	ok, zeros := true, false
	te.Walk(v.w.Stages[n].Values[0], func(e te.Expr) {
		x, isLoad := e.(te.Load)
		if !isLoad || x.Source.Stage { // of stages it is checked that they have what is read
			return
		}
		d := slices.IndexFunc(x.Index, func(e sym.Expr) bool { return e.Equal(sym.Var(l.Axis)) })
		ok = ok && d >= 0 && v.s.Place(v.w, x.Source).Parts.Along(d)%size == 0
		zeros = zeros || v.w.Operands[x.Source.N].Const != nil
	})
	return ok && zeros
}

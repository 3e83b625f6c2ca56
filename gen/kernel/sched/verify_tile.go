package sched

import (
	"fmt"
	"slices"

	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/target/instr"
)

// tile checks the loops of a tile against its instruction.
func (v *verifier) tile(n int) error {
	sc, st := &v.s.Stages[n], v.w.Stages[n]
	first := slices.IndexFunc(sc.Loops, func(l Loop) bool { return l.Kind.Tile() })
	if sc.Tile == nil {
		if first >= 0 {
			return fmt.Errorf("loop %s has kind %s, but the stage has no tile", sc.Loops[first].Var, sc.Loops[first].Kind)
		}
		return nil
	}
	row := instr.Lookup(sc.Tile.Row)
	switch {
	case row == nil || !slices.Contains(v.t.Instructions, sc.Tile.Row):
		return fmt.Errorf("tile of instruction %q; the chip %s has %v", sc.Tile.Row, v.t.Name, v.t.Instructions)
	case !row.Allows(sc.Tile.X):
		return fmt.Errorf("instruction %s cannot take X of kind %s", row.Name, sc.Tile.X)
	case st.Combine == nil || st.Combine.Name != "sum" || len(st.Values) != 1 || !row.Adds(st.Values[0].DType()):
		return fmt.Errorf("a tile of instruction %s for a stage that is not a sum of %s", row.Name, row.Acc)
	case first < 0:
		return fmt.Errorf("a tile without loops")
	}
	size, err := v.tileSize(n, first)
	if err != nil {
		return err
	}
	wide := size[Columns] * size[Lanes]
	registers, err := v.registers(n, row, size, wide/row.Lanes)
	if err != nil {
		return err
	}
	switch {
	case wide == 0 || wide%row.Lanes != 0:
		return fmt.Errorf("%d lanes; instruction %s has %d", wide, row.Name, row.Lanes)
	case size[Dot] != row.Group:
		return fmt.Errorf("%d products at a time; instruction %s adds %d", size[Dot], row.Name, row.Group)
	case !row.Narrows(sc.Tile.Narrow):
		return fmt.Errorf("products of %d points are added in 16 bits; instruction %s wants a multiple of %d up to %d, or 0 to add in %s", sc.Tile.Narrow, row.Name, row.Together(), instr.MostNarrow, row.Acc)
	case sc.Tile.Block < 0 || sc.Tile.Block > 0 && (!row.InHalves() || sc.Tile.Skips > 0):
		return fmt.Errorf("sums of %d points are added in f32; want that only of instructions that add in f16, in tiles that skip no points", sc.Tile.Block)
	case registers > v.t.Registers(row):
		return fmt.Errorf("a tile of %dx%d needs %d registers; the chip %s has %d", size[Rows], wide/row.Lanes, registers, v.t.Name, v.t.Registers(row))
	}
	if sc.Tile.Claims && (sc.Sums != Arena || sc.At != Root) {
		return fmt.Errorf("a tile claims lines of results, but does not store them in the arena")
	}
	if err := v.skips(n); err != nil {
		return err
	}
	return v.next(n, first, row, wide)
}

// Plain reports whether the results of a stage with a tile are its sums, as accumulators have them.
func Plain(st *te.Stage, row *instr.Row) bool {
	e := st.Results[0]
	if c, ok := e.(te.Call); ok && c.Fn == "cast" && c.Type == row.Acc && row.InHalves() {
		e = c.Args[0]
	} else if st.Values[0].DType() != row.Acc {
		return false
	}
	_, plain := e.(te.Acc)
	return plain
}

// next checks what a tile fetches of the W after its own: of one that is a stream itself, and no more than a call reads.
func (v *verifier) next(n, first int, row *instr.Row, wide int64) error {
	sc := &v.s.Stages[n]
	next, own := sc.Tile.Next, wide
	stored := false
	for i, l := range sc.Loops[first:] {
		if l.Kind == Sum {
			stored = stored || l.Stored
			iterations, err := v.iterations(n, first+i)
			if err != nil {
				return err
			}
			own *= iterations
		}
	}
	switch {
	case next == 0:
		return nil
	case stored:
		return fmt.Errorf("%d elements of the next call's W are fetched in a sum over stored weights", next)
	case row.Group > 1:
		return fmt.Errorf("%d elements of the next call's W are fetched; only instructions that add 1 product at a time support this, and %s adds %d", next, row.Name, row.Group)
	case sc.Tile.Ahead == 0:
		return fmt.Errorf("%d elements of the next call's W are fetched, but none of its own W ahead", next)
	case next < 0 || next > own:
		return fmt.Errorf("%d elements of the next call's W are fetched; a call reads %d", next, own)
	}
	return nil
}

// registers is how many the tile takes.
func (v *verifier) registers(n int, row *instr.Row, size map[Kind]int64, vectors int64) (int64, error) {
	x, rows, held := v.s.Stages[n].Tile.X, size[Rows], v.s.Stages[n].Tile.Held
	var z *Nonzeros
	if x == instr.Vector {
		var err error
		if z, err = v.s.Nonzeros(v.w, n); err != nil {
			return 0, err
		}
	}
	switch {
	case held != 0 && (z == nil || held < 0 || held >= int64(z.Entries()) || !row.Allows(instr.Memory)):
		return 0, fmt.Errorf("%d weights of a kernel stay in registers; want fewer than the kernel has, in a sum over stored weights with lanes in X, and an instruction that reads the others in place", held)
	case z == nil:
		return row.Registers(x, rows, vectors), nil
	case held > 0:
		return row.RegistersHeld(rows, vectors, held), nil
	}
	together := z.Together()
	if size[Columns] > 1 { // whose registers share what they load
		together = int64(z.Entries())
	}
	return row.RegistersApart(rows, vectors, together), nil
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
		iterations, err := v.iterations(n, i)
		if err != nil {
			return nil, err
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

// iterations is how many a loop of a tile has.
func (v *verifier) iterations(n, i int) (int64, error) {
	l := v.s.Stages[n].Loops[i]
	if l.Size > 0 {
		return l.Size, nil
	}
	e, known := v.s.Stages[n].Count(*v.span(n, i), i, v.facts).Const()
	if !known {
		return 0, fmt.Errorf("loop %s of a tile has %s iterations; want a constant number", l.Var, v.span(n, i).Extent)
	}
	return e, nil
}

// tileEdge checks that a micro-kernel can end so: its sums are whole, fewer rows are a tile of their own, and registers are whole.
func (v *verifier) tileEdge(n int, l Loop) error {
	switch ok := l.Edge == Exact || l.Kind == Sum && l.Edge == RoundUp && v.addsZeros(n, l); {
	case ok || l.Kind == Rows && l.Edge != Clip || (l.Kind == Columns || l.Kind == Lanes) && l.Edge == RoundUp:
		return nil
	case l.Kind == Sum || l.Kind == Dot:
		return fmt.Errorf("loop %s of a tile's sum has the edge %s, so points beyond the axis would be added", l.Var, l.Edge)
	}
	return fmt.Errorf("loop %s (%s): a tile cannot have the edge %s there", l.Var, l.Kind, l.Edge)
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

package instr

// TileRegisters is how many registers there are that hold matrices.
const TileRegisters = 8

// High is how many applications so many rows take.
func (r *Row) High(rows int64) int64 {
	if r.Matrix == 0 {
		return rows
	}
	return (rows + r.Matrix - 1) / r.Matrix
}

// PerSum is how many registers an accumulator of all lanes takes.
func (r *Row) PerSum() int64 { return max(1, int64(len(r.Order))) }

// Together is how many points of the sum one application takes.
func (r *Row) Together() int64 { return max(1, r.Points) }

// MostNarrow is the most points of which products are added in 16 bits: registers of W stay for all rows meanwhile.
const MostNarrow = 4

// Narrows reports whether products of so many points may be added in 16 bits before they are added to accumulators: 0 where the instruction adds in these, and
// else whole applications, of few enough points.
func (r *Row) Narrows(points int64) bool {
	if r.Narrow == 0 {
		return points == 0
	}
	return points > 0 && points <= MostNarrow && points%r.Together() == 0
}

// heldW is how many registers of W, one of each point, all rows read before others are loaded.
func (r *Row) heldW() int64 {
	if r.Narrow == 0 {
		return 1
	}
	return MostNarrow * r.Sums
}

// Registers is how many registers, of vectors or of matrices, a tile of rows x vectors accumulators takes.
func (r *Row) Registers(x Operand, rows, vectors int64) int64 {
	if r.Matrix > 0 {
		rows = r.High(rows)
		return rows*vectors + rows + vectors
	}
	if r.Scheduled() && r.Blocks {
		return (rows+rows%2)*vectors + (rows+1)/2 + turnsW
	}
	if r.Scheduled() && !r.Halves && !r.Blocks && x != Vector {
		return rows*vectors + rows + turnsW
	}
	return r.RegistersCompiled(x, rows, vectors)
}

// turnsW is the number of registers for W in assembly: while products read one, the other is loaded.
const turnsW = 2

// RegistersCompiled returns the same if a compiler allocates registers.
func (r *Row) RegistersCompiled(x Operand, rows, vectors int64) int64 {
	n := rows*vectors*r.PerSum() + vectors*r.heldW() + r.Temps
	if r.Blocks {
		n += rows%2*vectors + vectors + (rows+1)/2 - 1 // compilers move the loads of all pairs of rows ahead
	}
	switch {
	case x == Scalar:
	case x == Lane, x == Vector && !r.FoldsLoad, x == Register && r.Scheduled():
		n += rows // as many loads as are moved ahead
	case x == Memory && vectors == 1, x == Vector:
	default:
		n++
	}
	return n
}

// EarlyLoads is how many registers of X are loaded before the products of one, in kernels for processors that would wait for them. A Cortex-A55 has a
// register of floats after five cycles, in which it multiplies two others by a few weights each.
const EarlyLoads = 2

// RegistersApart is how many a tile takes of which X is a vector for each accumulator, loaded once for all that take it, and W one element for
// all of them, so many at a time.
func (r *Row) RegistersApart(rows, vectors, weights int64) int64 {
	n := rows*vectors + weights + 1
	if r.Ops > 1 {
		n += r.Temps + 1 // of products, which are rounded before they are added, and what they are of
	}
	if !r.FoldsLoad {
		n++ // a load is moved ahead
	}
	return n
}

// RegistersHeld is the same where only so many weights stay in registers, and products read others where they lie: one more, as compilers move loads
// and products that end the use of one.
func (r *Row) RegistersHeld(rows, vectors, held int64) int64 {
	return r.RegistersApart(rows, vectors, held) + r.Temps + 1
}

// Loads returns how many loads of whole registers one point of the reduction takes, and how many
// instructions they are.
func (r *Row) Loads(x Operand, rows, vectors int64) (loads, instrs float64) {
	if r.Halves {
		whole := *r
		whole.Halves = false
		loads, instrs = whole.Loads(x, rows, vectors)
		if x != Vector {
			instrs *= 2
		}
		return loads, instrs
	}
	parts := float64(1)
	if r.PerLoad > 0 && x != Vector {
		parts = float64(r.Lanes) / float64(r.PerLoad)
	}
	w := float64(float64(vectors) * parts)
	if r.InTwos() {
		w = float64((vectors + 1) / 2)
	}
	loads = float64(rows)
	switch x {
	case Vector:
		loads = float64(rows * vectors)
		if r.FoldsLoad {
			return w + loads, w
		}
	case Memory:
		if vectors == 1 {
			return w + loads, w
		}
	case Lane:
		loads = float64(loads * parts / float64(r.Lanes))
	}
	return w + loads, w + float64(loads*float64(1+r.Copies))
}

// Applications is how many units that multiply one point of the reduction takes, for a while each, where an application takes so many of them, and
// sums in 16 bits are of so many points.
func (r *Row) Applications(x Operand, rows, vectors int64, units float64, narrow int64) float64 {
	if r.Blocks {
		rows += rows % 2
	}
	each := max(1, units)
	if r.Narrow > 0 {
		each = each/float64(r.Together()) + r.Widens/float64(max(narrow, 1))
	}
	n := float64(float64(rows*vectors) * each)
	if x == Register {
		n += float64(rows * r.Copies)
	}
	return n
}

package instr

// TileRegisters is the number of registers for matrices.
const TileRegisters = 8

// High returns the number of applications for a number of rows.
func (r *Row) High(rows int64) int64 {
	if r.Matrix == 0 {
		return rows
	}
	return (rows + r.Matrix - 1) / r.Matrix
}

// PerSum returns the number of registers of an accumulator of all lanes.
func (r *Row) PerSum() int64 { return max(1, int64(len(r.Order))) }

// Together returns how many points of the sum one application multiplies.
func (r *Row) Together() int64 { return max(1, r.Points) }

// MostNarrow is the maximum number of points whose products are added in 16 bits. Meanwhile the
// registers of W stay for all rows.
const MostNarrow = 4

// Narrows reports whether the products of a number of points may be added in 16 bits, and then to
// accumulators. If the instruction adds in accumulators, the number must be 0. Otherwise it must be
// of whole applications, and at most MostNarrow.
func (r *Row) Narrows(points int64) bool {
	if r.Narrow == 0 {
		return points == 0
	}
	return points > 0 && points <= MostNarrow && points%r.Together() == 0
}

// heldW returns the number of registers of W, one of each point, that all rows read before others
// are loaded.
func (r *Row) heldW() int64 {
	if r.Narrow == 0 {
		return 1
	}
	return MostNarrow * r.Sums
}

// Registers returns the number of registers, of vectors or of matrices, for a tile of rows x
// vectors accumulators.
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

// turnsW is the number of registers for W in assembly: while products read one, the other is
// loaded.
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

// EarlyLoads is the number of registers of X that are loaded before the products of the first one,
// in kernels for processors that would wait for them. A Cortex-A55 loads a register of floats in
// five cycles. Meanwhile it multiplies two others by a few weights each.
const EarlyLoads = 2

// RegistersApart returns the number of registers for a tile whose X is a vector for each
// accumulator, loaded once for all that read it. W is one element for all of them, and 'weights'
// are loaded at a time.
func (r *Row) RegistersApart(rows, vectors, weights int64) int64 {
	n := rows*vectors + weights + 1
	if r.Ops > 1 {
		n += r.Temps + 1 // products, which are rounded before they are added, and an operand
	}
	if !r.FoldsLoad {
		n++ // a load is moved ahead
	}
	return n
}

// RegistersHeld returns the same if only 'held' weights stay in registers, and products read others
// from memory. It takes one more, because compilers move loads and the last product of a weight.
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

// Applications returns how often one point of the reduction uses a unit that multiplies. An
// application uses 'units' of them, and sums in 16 bits have 'narrow' points.
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

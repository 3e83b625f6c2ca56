package interp

import (
	"slices"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/scalar"
	"rules_dnn/gen/te"
)

// Columns and rows of a block of a contraction: packed, both stay in the caches
// while they are multiplied.
const (
	blockCols  = 256
	blockRows  = 64
	blockElems = 1 << 21
)

// contraction sums x*y: a matrix product for each point of the
// axes that both factors depend on. Rows are the points of the axes of x alone,
// columns those of y alone; the sums run over all reduction axes in row-major
// order, as they would in the loops that this replaces.
type contraction struct {
	x, y  *side
	batch []int
	depth int64 // points of the reduction
	to    *form // an output's place, over the stage's axes
	init  scalar.Vec
	fix   func(*scalar.Vec) // wraps integer sums
	acc   *buffer
	tile  scalar.Vec
}

// side is one factor, evaluated into panels by its own loops.
type side struct {
	p     *program
	value node
	axes  []int   // its own axes
	red   []int   // the reduction axes
	at    []int64 // where the points of its axes are in the output
	along bool    // the vector is along the reduction
	vec   int
	rows  int64
}

// contract does a reduction as matrix products, if it is one that is large enough.
func (r *run) contract(s *te.Stage, shape, extents []int64, accs []*ir.Tensor) (bool, error) {
	mul, init, ok := sumOfProducts(s)
	if !ok || slices.Contains(extents, 0) {
		return false, nil
	}
	c := &contraction{depth: 1}
	for _, e := range extents {
		c.depth *= e
	}
	var err error
	if c.x, err = r.newSide(s, shape, extents, mul.Args[0]); err != nil {
		return false, err
	}
	if c.y, err = r.newSide(s, shape, extents, mul.Args[1]); err != nil {
		return false, err
	}
	c.to = c.x.p.rowMajor(c.x.p.slots(0, len(shape)))
	c.split(len(shape))
	if c.y.rows < c.x.rows {
		c.x, c.y = c.y, c.x
	}
	if c.x.rows*c.y.rows < 4 || c.x.rows*c.y.rows*c.depth < 64 {
		return false, nil
	}
	if mul.Type.IsInteger() {
		c.fix = scalar.Narrow(mul.Type)
	}
	if c.acc, err = bufferOf(accs[0]); err != nil {
		return false, err
	}
	return true, c.run(init, mul.Type)
}

// sumOfProducts recognises the stages; half types round every sum and are left to the loops.
func sumOfProducts(s *te.Stage) (mul te.Call, init te.Const, ok bool) {
	if len(s.Values) != 1 {
		return
	}
	mul, isCall := s.Values[0].(te.Call)
	init, isConst := s.Combine.Init[0].(te.Const)
	join, isJoin := s.Combine.Join[0].(te.Call)
	t := s.Values[0].DType()
	if !isCall || !isConst || !isJoin || mul.Fn != "mul" || len(mul.Args) != 2 || join.Fn != "add" || len(join.Args) != 2 {
		return
	}
	acc, in := te.Expr(te.Acc{Type: t}), te.Expr(te.In{Type: t})
	a, b := join.Args[0], join.Args[1]
	ok = (t.IsInteger() || t == ir.F32 || t == ir.F64) && (a == acc && b == in || a == in && b == acc)
	return mul, init, ok
}

func (r *run) newSide(s *te.Stage, shape, extents []int64, e te.Expr) (*side, error) {
	p, err := r.newProgram(s, shape, extents)
	if err != nil {
		return nil, err
	}
	value, err := p.compile(e)
	if err != nil {
		return nil, err
	}
	return &side{p: p, value: value, red: p.slots(len(shape), p.loops), rows: 1}, nil
}

// split shares the stage's axes out by which factor depends on them.
func (c *contraction) split(axes int) {
	for a := range axes {
		inX, inY := c.x.value.deps().has(a), c.y.value.deps().has(a)
		switch {
		case c.x.p.extent[a] == 1:
		case inX && !inY:
			c.x.axes = append(c.x.axes, a)
		case inY && !inX:
			c.y.axes = append(c.y.axes, a)
		default:
			c.batch = append(c.batch, a)
		}
	}
	for _, s := range [2]*side{c.x, c.y} {
		s.places(c.to)
		s.p.merge(s.axes)
		s.p.merge(s.red)
		s.chooseVector()
	}
}

// places lists where the points of the side's axes go, in row-major order.
func (s *side) places(to *form) {
	for _, a := range s.axes {
		s.rows *= s.p.extent[a]
	}
	s.at = make([]int64, 0, s.rows)
	_ = s.p.odometer(s.axes, func() error {
		x := int64(0)
		for _, a := range s.axes {
			x += to.coef[a] * s.p.v[a]
		}
		s.at = append(s.at, x)
		return nil
	})
}

// chooseVector picks the innermost loop of the side's axes or of the reduction,
// for long and contiguous runs.
func (s *side) chooseVector() {
	own, red := s.innermost(s.axes), s.innermost(s.red)
	extent := func(a int) int64 {
		if a < 0 {
			return 1
		}
		return s.p.extent[a]
	}
	s.vec = own
	switch {
	case red < 0:
	case own < 0, extent(own) < 8 && extent(red) > extent(own),
		extent(red) >= 8 && s.p.contiguous(red) && !s.p.contiguous(own):
		s.vec, s.along = red, true
	}
	s.p.setVector(s.vec)
}

func (s *side) innermost(axes []int) int {
	for _, a := range slices.Backward(axes) {
		if s.p.extent[a] > 1 {
			return a
		}
	}
	return -1
}

// run multiplies block by block.
func (c *contraction) run(init te.Const, t ir.DType) error {
	node, err := literal(init)
	if err != nil {
		return err
	}
	c.x.p.n = 1
	c.init = *node.eval(c.x.p)
	// Few panels of a deep reduction are as much as many of a shallow one.
	deep := max(panel, blockElems/c.depth/panel*panel)
	blockRows, blockCols := min(blockRows, deep, roundUp(c.x.rows)), min(blockCols, deep, roundUp(c.y.rows))
	x := scalar.NewVec(t, int(blockRows*c.depth))
	y := scalar.NewVec(t, int(blockCols*c.depth))
	c.tile = *scalar.NewVec(t, panel*panel)
	return c.x.p.odometer(c.batch, func() error {
		for _, a := range c.batch {
			c.y.p.v[a] = c.x.p.v[a]
		}
		for col := int64(0); col < c.y.rows; col += blockCols {
			cols := min(blockCols, c.y.rows-col)
			if err := c.y.pack(y, col, cols, c.depth); err != nil {
				return err
			}
			for row := int64(0); row < c.x.rows; row += blockRows {
				rows := min(blockRows, c.x.rows-row)
				if err := c.x.pack(x, row, rows, c.depth); err != nil {
					return err
				}
				c.multiply(x, y, row, rows, col, cols)
			}
		}
		return nil
	})
}

func roundUp(n int64) int64 { return (n + panel - 1) / panel * panel }

// multiply computes the block's outputs, panel by panel.
func (c *contraction) multiply(x, y *scalar.Vec, row, rows, col, cols int64) {
	base := int64(0)
	for _, a := range c.batch {
		base += c.to.coef[a] * c.x.p.v[a]
	}
	size := panel * int(c.depth)
	for j := int64(0); j < cols; j += panel {
		for i := int64(0); i < rows; i += panel {
			xi, yj := int(i)*int(c.depth), int(j)*int(c.depth)
			switch {
			case x.F32 != nil:
				tile32(c.tile.F32, x.F32[xi:xi+size], y.F32[yj:yj+size], c.init.F32[0], rows-i)
			case x.F64 != nil:
				tile64(c.tile.F64, x.F64[xi:xi+size], y.F64[yj:yj+size], c.init.F64[0])
			default:
				tileInt(c.tile.I64, x.I64[xi:xi+size], y.I64[yj:yj+size], c.init.I64[0])
			}
			if c.fix != nil {
				c.fix(&c.tile)
			}
			c.scatter(base, row+i, min(panel, rows-i), col+j, min(panel, cols-j))
		}
	}
}

// scatter stores a tile's sums where the output wants them.
func (c *contraction) scatter(base, row, rows, col, cols int64) {
	for i := range rows {
		for j := range cols {
			at := base + c.x.at[row+i] + c.y.at[col+j]
			k := i*panel + j
			switch {
			case c.acc.F32 != nil:
				c.acc.F32[at] = c.tile.F32[k]
			case c.acc.F64 != nil:
				c.acc.F64[at] = c.tile.F64[k]
			default:
				c.acc.I64[at] = c.tile.I64[k]
			}
		}
	}
}

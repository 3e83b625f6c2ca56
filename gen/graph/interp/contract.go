package interp

import (
	"slices"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/scalar"
	"rules_dnn/gen/ir/te"
)

// Columns and rows of a block of a contraction: packed, both stay in the caches
// while they are multiplied.
const (
	blockCols  = 256
	blockRows  = 64
	blockDepth = 1024
)

// contraction sums x*y: a matrix product for each point of the
// axes that both factors depend on. Rows are the points of the axes of x alone,
// columns those of y alone; the sums run over all reduction axes in row-major
// order, as they would in the loops that this replaces.
type contraction struct {
	x, y   *side
	batch  []int
	points int64 // of the batch's axes
	depth  int64 // points of the reduction
	to     *form // an output's place, over the stage's axes
	init   scalar.Vec
	fix    func(*scalar.Vec) // wraps integer sums
	acc    *buffer
	tile   scalar.Vec
	packed [2]*scalar.Vec
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
	wide  int64 // points of a panel
	grid  *grid // nil where the factor is none
}

// contract does a reduction as matrix products, if it is one that is large enough.
func (r *run) contract(s *te.Stage, shape, extents []int64, accs []*ir.Tensor) (bool, error) {
	mul, init, ok := sumOfProducts(s)
	if !ok || slices.Contains(extents, 0) {
		return false, nil
	}
	strips := func() (*strips, error) { return r.newStrips(s, shape, extents, accs, mul, init) }
	if c, err := strips(); c != nil || err != nil {
		if err == nil {
			err = r.runStrips(c, strips)
		}
		return true, err
	}
	first, err := r.newContraction(s, shape, extents, accs, mul, init)
	if err != nil || first.x.rows*first.y.rows < 4 || first.x.rows*first.y.rows*first.depth < 64 {
		return false, err
	}
	size := first.y.rows * first.x.rows * first.points * first.depth
	panels := (first.y.rows + tileColumns - 1) / tileColumns
	return true, r.share(first.points*panels, size, func() (func(from, to int64) error, error) {
		c := first
		if first = nil; c == nil {
			if c, err = r.newContraction(s, shape, extents, accs, mul, init); err != nil {
				return nil, err
			}
		}
		return func(from, to int64) error { return c.run(from, to, panels) }, nil
	})
}

func (r *run) newContraction(s *te.Stage, shape, extents []int64, accs []*ir.Tensor, mul te.Call, init te.Const) (*contraction, error) {
	c := &contraction{depth: 1, points: 1}
	for _, e := range extents {
		c.depth *= e
	}
	var err error
	if c.x, err = r.newSide(s, shape, extents, mul.Args[0]); err != nil {
		return nil, err
	}
	if c.y, err = r.newSide(s, shape, extents, mul.Args[1]); err != nil {
		return nil, err
	}
	c.to = c.x.p.rowMajor(c.x.p.slots(0, len(shape)))
	c.split(len(shape))
	for _, a := range c.batch {
		c.points *= c.x.p.extent[a]
	}
	if c.y.rows < c.x.rows {
		c.x, c.y = c.y, c.x
	}
	c.x.wide, c.y.wide = tileRows, tileColumns
	if mul.Type.IsInteger() {
		c.fix = scalar.Narrow(mul.Type)
	}
	if c.acc, err = bufferOf(accs[0]); err != nil {
		return nil, err
	}
	node, err := literal(init)
	if err != nil {
		return nil, err
	}
	c.x.p.n = 1
	c.init = *node.eval(c.x.p)
	c.tile = *scalar.NewVec(mul.Type, tileRows*tileColumns)
	deep := min(blockDepth, c.depth)
	c.packed[0] = scalar.NewVec(mul.Type, int(min(blockRows, roundUp(c.x.rows, tileRows))*deep))
	c.packed[1] = scalar.NewVec(mul.Type, int(min(blockCols, roundUp(c.y.rows, tileColumns))*deep))
	return c, nil
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
		s.grid = newGrid(s)
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

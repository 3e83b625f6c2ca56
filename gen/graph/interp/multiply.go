package interp

// run multiplies block by block, for the panels [from, to) of y: of each point of the batch, one after the other.
func (c *contraction) run(from, to, panels int64) error {
	for at := from; at < to; {
		point, first := at/panels, at%panels
		last := min(panels, first+to-at)
		c.x.p.seek(c.batch, point)
		c.y.p.seek(c.batch, point)
		for col := first * tileColumns; col < min(last*tileColumns, c.y.rows); col += blockCols {
			if err := c.columns(col, min(blockCols, last*tileColumns-col, c.y.rows-col)); err != nil {
				return err
			}
		}
		at += last - first
	}
	c.x.p.seek(c.batch, 0)
	c.y.p.seek(c.batch, 0)
	return nil
}

// columns computes all rows of a block of columns. The sums of a part of the reduction are where the next part's begin.
func (c *contraction) columns(col, cols int64) error {
	x, y := c.packed[0], c.packed[1]
	for k := int64(0); k < c.depth; k += blockDepth {
		depth := min(blockDepth, c.depth-k)
		if err := c.y.pack(y, col, cols, k, depth); err != nil {
			return err
		}
		for row := int64(0); row < c.x.rows; row += blockRows {
			rows := min(blockRows, c.x.rows-row)
			if err := c.x.pack(x, row, rows, k, depth); err != nil {
				return err
			}
			c.multiply(row, rows, col, cols, depth, k == 0)
		}
	}
	return nil
}

func roundUp(n, to int64) int64 { return (n + to - 1) / to * to }

// multiply computes the block's outputs, tile by tile.
func (c *contraction) multiply(row, rows, col, cols, depth int64, first bool) {
	base := int64(0)
	for _, a := range c.batch {
		base += c.to.coef[a] * c.x.p.v[a]
	}
	x, y := c.packed[0], c.packed[1]
	for j := int64(0); j < cols; j += tileColumns {
		for i := int64(0); i < rows; i += tileRows {
			place := [4]int64{row + i, min(tileRows, rows-i), col + j, min(tileColumns, cols-j)}
			c.begin(base, place, first)
			xi, yj := i*depth, j*depth
			switch {
			case x.F32 != nil:
				tile32(c.tile.F32, x.F32[xi:xi+tileRows*depth], y.F32[yj:yj+tileColumns*depth], depth, rows-i)
			case x.F64 != nil:
				tile64(c.tile.F64, x.F64[xi:xi+tileRows*depth], y.F64[yj:yj+tileColumns*depth], depth)
			default:
				tileInt(c.tile.I64, x.I64[xi:xi+tileRows*depth], y.I64[yj:yj+tileColumns*depth], depth)
			}
			if c.fix != nil {
				c.fix(&c.tile)
			}
			c.move(base, place, false)
		}
	}
}

// begin sets a tile's sums to what they begin with.
func (c *contraction) begin(base int64, place [4]int64, first bool) {
	if !first {
		c.move(base, place, true)
		return
	}
	for i := range c.tile.F32 {
		c.tile.F32[i] = c.init.F32[0]
	}
	for i := range c.tile.F64 {
		c.tile.F64[i] = c.init.F64[0]
	}
	for i := range c.tile.I64 {
		c.tile.I64[i] = c.init.I64[0]
	}
}

// move stores a tile's sums where the output wants them, or loads them from there: row, rows, column, columns are its place.
func (c *contraction) move(base int64, place [4]int64, load bool) {
	x, y := c.x.at[place[0]:place[0]+place[1]], c.y.at[place[2]:place[2]+place[3]]
	switch {
	case c.acc.F32 != nil:
		moveAs(c.tile.F32, c.acc.F32, base, x, y, load)
	case c.acc.F64 != nil:
		moveAs(c.tile.F64, c.acc.F64, base, x, y, load)
	default:
		moveAs(c.tile.I64, c.acc.I64, base, x, y, load)
	}
}

func moveAs[T any](tile, out []T, base int64, x, y []int64, load bool) {
	for i, row := range x {
		sums := tile[i*tileColumns:][:len(y)]
		for j, column := range y {
			if load {
				sums[j] = out[base+row+column]
			} else {
				out[base+row+column] = sums[j]
			}
		}
	}
}

package interp

import "unsafe"

// Strips whose x is mostly zeros, as pruned weights are, leave these out: each row has the places of its own, and many groups side by side. Sums
// are the same bits as with them, since a zero adds nothing to a sum that began with +0, but for infinite factors, which would make NaN of them.

// abreast is how many groups a row's tile has.
const abreast = 8

// entry is a place of the reduction, in bytes of y, and the factor there.
type entry struct {
	y int64
	x float32
	_ float32
}

// mostKept is the share of factors that are no zeros, up to which leaving out the others pays.
const mostKept = 0.6

// rowWide is rowTile by vector instructions, where the processor has them.
var rowWide func(sum *float32, y *[abreast]*float32, entries *entry, n int64)

// rowTile adds the products of all entries to the sums of a row.
func rowTile(sum *[abreast * lanes]float32, y *[abreast]*float32, entries []entry) {
	if len(entries) == 0 {
		return
	}
	if rowWide != nil {
		rowWide(&sum[0], y, &entries[0], int64(len(entries)))
		return
	}
	for g, from := range y {
		s := (*[lanes]float32)(sum[g*lanes:])
		for _, e := range entries {
			at := (*[lanes]float32)(unsafe.Add(unsafe.Pointer(from), e.y))
			for l := range s {
				s[l] += float32(e.x * at[l])
			}
		}
	}
}

// sparse lists the entries of the rows, after pack; nil where leaving zeros out does not pay.
func (c *strips) sparse() [][]entry {
	if len(c.groups)%abreast != 0 || c.init != 0 {
		return nil
	}
	all, kept := 0, 0
	for row, r := range c.rows {
		if r.to < 0 {
			continue
		}
		all += len(c.steps)
		packed := c.packedRow(row)
		for k := range c.steps {
			if packed[k*tileRows] != 0 {
				kept++
			}
		}
	}
	if float64(kept) > float64(mostKept*float64(all)) {
		return nil
	}
	rows, entries := make([][]entry, len(c.rows)), make([]entry, 0, kept)
	for row, r := range c.rows {
		if r.to < 0 {
			continue
		}
		packed, first := c.packedRow(row), len(entries)
		for k, s := range c.steps {
			if x := packed[k*tileRows]; x != 0 {
				entries = append(entries, entry{y: s.y, x: x})
			}
		}
		rows[row] = entries[first:]
	}
	return rows
}

// packedRow is the factors of a row, a tile's rows apart.
func (c *strips) packedRow(row int) []float32 {
	return c.packed[row/tileRows*tileRows*len(c.steps)+row%tileRows:]
}

// rowwise is slabwise without the zeros.
func (c *strips) rowwise(rows [][]entry, from, to int64) {
	along := c.to.coef[c.y.lanes]
	var at [abreast]*float32
	var sums [abreast * lanes]float32
	for slab := from; slab < to; slab++ {
		y, base := c.y.slab(slab), c.to.coef[c.loop]*slab
		for g := 0; g < len(c.groups); g += abreast {
			groups := c.groups[g : g+abreast]
			for k := range at {
				at[k] = &y[groups[k].from]
			}
			for row, entries := range rows {
				if c.rows[row].to < 0 {
					continue
				}
				sums = [abreast * lanes]float32{}
				rowTile(&sums, &at, entries)
				for k, group := range groups {
					storeLanes(c.acc[base+c.rows[row].to+group.to:], (*[lanes]float32)(sums[k*lanes:]), along, group.valid)
				}
			}
		}
	}
}

// storeLanes writes the lanes that are outputs, so far apart.
func storeLanes(to []float32, from *[lanes]float32, along int64, valid int) {
	if along == 1 && valid == lanes {
		*(*[lanes]float32)(to) = *from
		return
	}
	for l := range valid {
		to[int64(l)*along] = from[l]
	}
}

package depthwise

import (
	"rules_dnn/gen/kernel/params"
	"rules_dnn/gen/propose/contract/tiled"
	"rules_dnn/gen/propose/lower"
	"rules_dnn/gen/propose/vary"
)

// space is what a depthwise convolution that reads X where it lies may vary: the pixels of a tile, and the rows of a task.
func (d *direct) space() *params.Space {
	pixels, _ := d.pixel.Extent.Const()
	tiles := &directTiles{direct: d}
	most := min(tiles.most(), pixels)
	s := &params.Space{Algorithm: Anchor, Params: []params.Param{{Name: vary.Pixels, Values: vary.Counts(most, tiles.size(pixels))}}}
	if d.row != nil {
		rows, _ := d.row.Extent.Const()
		s.Params = append(s.Params, params.Param{Name: vary.Band, Values: vary.Divisors(rows, tiled.MostBands)})
	}
	s.Fits = func(v []int64) bool { return v[0] <= most }
	return s
}

// point is the kernel's own.
func (d *direct) point() (*params.Point, *params.Space) { return d.pointOf(d.space()) }

func (d *direct) pointOf(space *params.Space) (*params.Point, *params.Space) {
	return vary.PointIn(space, func(name string) int64 {
		if name == vary.Band {
			return d.bandOf(d.outer())
		}
		pixels, _ := d.pixel.Extent.Const()
		return (&directTiles{direct: d}).size(pixels)
	})
}

// vary takes what is given in place of what is chosen, and gives the kernel's name, which tells it from the one of its own choice; "" where its
// code would be too long.
func (d *direct) vary(env *lower.Env) (name string, err error) {
	g := env.Given
	own, space := d.pointOf(env.SpaceOr(Anchor, d.space))
	if err := space.Check(g); err != nil {
		return "", err
	}
	d.Given = g
	if _, short := (&directTiles{direct: d}).spans(); !short {
		return "", nil
	}
	if own != nil && own.String() == g.String() {
		return Anchor, nil
	}
	return g.String(), nil
}

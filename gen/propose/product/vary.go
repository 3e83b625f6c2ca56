package product

import (
	"slices"

	"rules_dnn/gen/kernel/params"
	"rules_dnn/gen/propose/lower"
	"rules_dnn/gen/propose/micro"
	"rules_dnn/gen/propose/vary"
)

// space is what a product may vary.
func (p *product) space() *params.Space {
	all := p.choice.Fitting()
	if !slices.Contains(all, p.Tile) {
		all = append(all, p.Tile)
	}
	s := &params.Space{Algorithm: p.kind(), Params: []params.Param{{Name: vary.Rows, Values: vary.Sized(all, vary.RowsOf)}, {Name: vary.Vectors, Values: vary.Sized(all, vary.VectorsOf)}}}
	if p.chunk > 0 {
		s.Params = append(s.Params, params.Param{Name: vary.Tiles, Values: vary.Counts(micro.Usual(p.row.Extent), p.chunk)})
	}
	s.Fits = func(v []int64) bool { return slices.Contains(all, micro.Tile{Rows: v[0], Vectors: v[1]}) }
	return s
}

// point is the product's own.
func (p *product) point() (*params.Point, *params.Space) {
	return vary.PointIn(p.space(), func(name string) int64 {
		switch name {
		case vary.Rows:
			return p.Rows
		case vary.Vectors:
			return p.Vectors
		}
		return p.chunk
	})
}

// vary takes what is given in place of what is chosen; false where the product is computed in another way, an error where no such product is.
func (p *product) vary(env *lower.Env) (bool, error) {
	g := env.Given
	if g == nil {
		return true, nil
	}
	if p.instr == nil || p.instr.Narrow > 0 || p.kind() != g.Algorithm {
		return false, nil
	}
	if err := env.SpaceOr(p.kind(), p.space).Check(g); err != nil {
		return false, err
	}
	t, _ := vary.GivenTile(g)
	if t != p.Tile && !p.choice.Fits(t.Rows, t.Vectors) { // the space is of the other factor's lanes
		return false, nil
	}
	p.Tile = t
	if n, ok := g.Get(vary.Tiles); ok {
		p.chunk = n
	}
	return true, nil
}

package lower

import (
	"slices"

	"rules_dnn/gen/params"
)

// space is what a product may vary.
func (p *product) space() *params.Space {
	all := p.choice.fitting()
	if !slices.Contains(all, p.tile) {
		all = append(all, p.tile)
	}
	s := &params.Space{Algorithm: p.kind(), Params: []params.Param{{Name: rowsParam, Values: sized(all, rowsOf)}, {Name: vectorsParam, Values: sized(all, vectorsOf)}}}
	if p.chunk > 0 {
		s.Params = append(s.Params, params.Param{Name: tilesParam, Values: counts(usual(p.row.Extent), p.chunk)})
	}
	s.Fits = func(v []int64) bool { return slices.Contains(all, tile{v[0], v[1]}) }
	return s
}

// point is the product's own.
func (p *product) point() (*params.Point, *params.Space) {
	return pointIn(p.space(), func(name string) int64 {
		switch name {
		case rowsParam:
			return p.rows
		case vectorsParam:
			return p.vectors
		}
		return p.chunk
	})
}

// vary takes what is given in place of what is chosen; false where the product is computed in another way, an error where no such product is.
func (p *product) vary(env *Env) (bool, error) {
	g := env.Given
	if g == nil {
		return true, nil
	}
	if p.instr == nil || p.instr.Narrow > 0 || p.kind() != g.Algorithm {
		return false, nil
	}
	if err := env.spaceOr(p.kind(), p.space).Check(g); err != nil {
		return false, err
	}
	t, _ := givenTile(g)
	if t != p.tile && !p.choice.fits(t.rows, t.vectors) { // the space is of the other factor's lanes
		return false, nil
	}
	p.tile = t
	if n, ok := g.Get(tilesParam); ok {
		p.chunk = n
	}
	return true, nil
}

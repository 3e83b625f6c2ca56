package plan

import (
	"fmt"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/kernel/layout"
)

// Texture is an image object: its extent in texels, and the type of its elements. Values
// of equal extents that are never live at once share it.
type Texture struct {
	Type          ir.DType
	Width, Height sym.Expr
}

func valueText(v *ir.Value) string { return fmt.Sprintf("value %q of shape %v", v.Name, v.Shape) }

// placeImages gives each value that is stored as an image an object of the space's pool.
func (p *Program) placeImages(space layout.Space, m *Memory, u *unbounded) error {
	m.Images = nil
	var free []int // the last step that uses each object so far
	for _, iv := range p.lives(p.unplaced(space)).list {
		l := p.Layouts[iv.value]
		if l.Memory != layout.Image {
			continue
		}
		w, h := l.Extent(iv.value.Shape)
		for _, e := range []*sym.Expr{&w, &h} {
			most, err := p.most(*e)
			if err := u.note(err, valueText(iv.value)); err != nil {
				return err
			}
			*e = most
		}
		n := 0
		for n < len(free) {
			t := m.Images[n]
			if free[n] < iv.first && t.Type == iv.value.Type && t.Width.Equal(w) && t.Height.Equal(h) {
				break
			}
			n++
		}
		if n == len(free) {
			free = append(free, 0)
			m.Images = append(m.Images, Texture{iv.value.Type, w, h})
		}
		free[n] = iv.last
		p.Places[iv.value] = Place{Region: Image, N: n, Space: space}
	}
	return nil
}

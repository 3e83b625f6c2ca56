package loop

import (
	"fmt"
	"slices"

	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/kernel/layout"
)

// Texels makes whole texels of what is stored to images lane by lane: a loop over the lanes of a
// texel runs in a vector. Where its body cannot, the lanes are computed one by one into a local
// array, which is then stored at once.
func Texels(body []Stmt, f sym.Facts) []Stmt {
	t := &texels{facts: f}
	return t.list(body)
}

type texels struct {
	facts  sym.Facts
	arrays int // made so far
}

func (t *texels) list(body []Stmt) []Stmt {
	var out []Stmt
	for _, s := range body {
		if x, ok := s.(For); ok {
			if stores := imageStores(x.Body, x.Var); len(stores) > 0 {
				out = append(out, t.whole(x, stores)...)
				continue
			}
		}
		out = append(out, WithInner(s, t.list))
	}
	return out
}

// imageStores are the first store to each image whose lane is the variable.
func imageStores(body []Stmt, lane string) (found []Store) {
	Walk(body, func(s Stmt) bool {
		x, ok := s.(Store)
		if ok && x.Buf.Image != nil && x.Index.Equal(sym.Var(lane)) &&
			!slices.ContainsFunc(found, func(f Store) bool { return f.Buf == x.Buf }) {
			found = append(found, x)
		}
		return true
	})
	return found
}

// whole is a loop over lanes whose stores are of whole texels.
func (t *texels) whole(x For, stores []Store) []Stmt {
	if x.Extent.Is(layout.TexelLanes) && CanVectorise(x, FloatVectors, t.facts) {
		x.Lanes = layout.TexelLanes
		return []Stmt{x}
	}
	lane := sym.Var(x.Var)
	arrays := map[*Buffer]*Buffer{}
	var out, copies []Stmt
	for _, s := range stores {
		b := &Buffer{Name: fmt.Sprintf("%s_t%d", s.Buf.Name, t.arrays), Type: s.Buf.Type, Write: true, Local: true, Size: x.Extent}
		t.arrays++
		arrays[s.Buf] = b
		out = append(out, Alloc{Buf: b})
		copies = append(copies, Store{Buf: s.Buf, Index: lane, Texel: s.Texel, Value: Mem{Buf: b, Index: lane}})
	}
	x.Body = redirect(x.Body, arrays)
	return append(out, x, For{Var: x.Var, Extent: x.Extent, Body: copies, Lanes: layout.TexelLanes})
}

// redirect makes stores go to other buffers.
func redirect(body []Stmt, to map[*Buffer]*Buffer) []Stmt {
	return Map(body, func(s Stmt) Stmt {
		if x, ok := s.(Store); ok && to[x.Buf] != nil {
			x.Buf, x.Texel = to[x.Buf], Texel{}
			return x
		}
		return s
	})
}

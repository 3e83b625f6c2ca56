package ir

import (
	"fmt"
	"sort"
	"strings"
)

// define notes a value's definition in g.
func (v *verifier) define(g *Graph, x *Value) error {
	if _, ok := v.owner[x]; ok {
		return fmt.Errorf("value %q is defined twice", x.Name)
	}
	v.owner[x] = g
	return v.facts(x)
}

// use checks an operand or output of g.
func (v *verifier) use(g *Graph, x *Value) error {
	if x.Const != nil {
		if _, ok := v.owner[x]; ok {
			return nil // checked at its first use; an owner of nil marks constants
		}
		v.owner[x] = nil
		return v.constant(x)
	}
	owner, ok := v.owner[x]
	switch {
	case !ok:
		return fmt.Errorf("value %q is not defined before its use", x.Name)
	case owner != g:
		return fmt.Errorf("value %q belongs to graph %q; a region needs it as a capture", x.Name, owner.Name)
	}
	return nil
}

// constant checks a constant value.
func (v *verifier) constant(x *Value) error {
	if x.Def != nil {
		return fmt.Errorf("constant %q is the result of %s", x.Name, x.Def.Label())
	}
	if err := checkTensor(x.Const); err != nil {
		return fmt.Errorf("constant %q: %w", x.Name, err)
	}
	dims, ok := x.Static()
	same := ok && x.Type == x.Const.Type && len(dims) == len(x.Const.Shape)
	for i := 0; same && i < len(dims); i++ {
		same = dims[i] == x.Const.Shape[i]
	}
	if !same {
		return fmt.Errorf("constant %q is declared as %s and holds %s%v", x.Name, typeText(x), x.Const.Type, x.Const.Shape)
	}
	return v.facts(x)
}

// checkTensor checks that a constant has as many bytes as its shape says.
func checkTensor(t *Tensor) error {
	if t == nil {
		return fmt.Errorf("the tensor is nil")
	}
	if t.Type == Invalid || int(t.Type) >= len(dtypes) {
		return fmt.Errorf("the tensor has the type %s", t.Type)
	}
	n, err := Len(t.Shape)
	if err != nil {
		return err
	}
	size := int64(len(t.Data))
	if t.Src != nil {
		size = t.Src.Length
	}
	if want := n * int64(t.Type.Size()); want/int64(t.Type.Size()) != n || want != size {
		return fmt.Errorf("the tensor of type %s and shape %v has %d bytes", t.Type, t.Shape, size)
	}
	if t.Src != nil && (t.Src.File == nil || t.Src.Offset < 0 || t.Src.Offset > t.Src.File.Size-size) {
		return fmt.Errorf("the tensor lies beyond its file's end, at byte %d", t.Src.Offset)
	}
	return nil
}

// facts checks the symbols of a value's shape and elements.
func (v *verifier) facts(x *Value) error {
	if int(x.Type) >= len(dtypes) {
		return fmt.Errorf("value %q has the type %s", x.Name, x.Type)
	}
	used := map[string]bool{}
	for _, d := range x.Shape {
		if c, ok := d.Const(); d.Overflow() || ok && c < 0 {
			return fmt.Errorf("value %q has the dimension %s", x.Name, d)
		}
		d.Vars(used)
	}
	for _, e := range x.Elems {
		e.Vars(used)
	}
	if names := v.in(used, undeclared); len(names) > 0 {
		return fmt.Errorf("value %q, %s, uses undeclared symbols: %s", x.Name, typeText(x), strings.Join(names, ", "))
	}
	if names := v.in(used, pending); len(names) > 0 {
		return fmt.Errorf("value %q, %s, uses symbols before they are computed: %s", x.Name, typeText(x), strings.Join(names, ", "))
	}
	if dims, ok := x.Static(); ok && x.Elems != nil {
		if n, err := Len(dims); err != nil || n != int64(len(x.Elems)) {
			return fmt.Errorf("value %q, %s, has %d known elements", x.Name, typeText(x), len(x.Elems))
		}
	}
	return nil
}

// in lists the symbols of a set that are in a state, sorted.
func (v *verifier) in(set map[string]bool, state symbolState) []string {
	var out []string
	for name := range set {
		if v.symbols[name] == state {
			out = append(out, name)
		}
	}
	sort.Strings(out)
	return out
}

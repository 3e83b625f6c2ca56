package plan

import (
	"fmt"
	"slices"

	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/kernel/layout"
)

// launch checks that a kernel can run on the device, and that as many work-items start as it has tasks.
func (v *verifier) launch(l *Launch) error {
	d, what := v.p.Device, l.Block.Label()
	switch {
	case d == nil:
		return fmt.Errorf("block %s is launched, but the program has no device", what)
	case l.Block.Call != nil:
		return fmt.Errorf("block %s is launched on the device; only the host can run opaque operators", what)
	case len(l.Kernel.Sets) > 0:
		return fmt.Errorf("block %s is launched on the device and computes the symbol %q; only the host's kernels can", what, l.Kernel.Sets[0])
	}
	items := int64(1)
	for i, e := range Extents(l.Kernel, d.Workers) {
		local, known := l.Local[i].Const()
		if !known || local < 1 {
			return fmt.Errorf("block %s: work-groups of %s in dimension %d; want a number from 1", what, l.Local[i], i)
		}
		items *= local
		if whole := sym.Scale(sym.CeilDiv(e, l.Local[i], l.Kernel.Facts), local); !l.Global[i].Equal(whole) {
			return fmt.Errorf("block %s: %s work-items in dimension %d; its kernel has %s, or %s in groups of %d", what, l.Global[i], i, e, whole, local)
		}
		if err := v.computed("block "+what, l.Global[i]); err != nil {
			return err
		}
	}
	if items > d.GroupItems {
		return fmt.Errorf("block %s: work-groups of %d work-items; the device allows at most %d", what, items, d.GroupItems)
	}
	return v.call(l.Call, layout.Device)
}

// computed checks that the symbols of an expression have values.
func (v *verifier) computed(what string, e sym.Expr) error {
	used := map[string]bool{}
	e.Vars(used)
	for _, name := range sortedNames(used) {
		if !v.known[name] {
			return fmt.Errorf("%s: %s needs the symbol %q before a step computes it", what, e, name)
		}
	}
	return nil
}

func sortedNames(set map[string]bool) []string {
	var out []string
	for name := range set {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

// transfer checks that equally many bytes of values in two spaces are of one meaning.
func (v *verifier) transfer(t *Transfer) error {
	from, to := t.From.Value, t.To.Value
	what := fmt.Sprintf("the transfer of %q to %q", from.Name, to.Name)
	a, b := v.p.Layouts[from], v.p.Layouts[to]
	switch {
	case v.p.Device == nil:
		return fmt.Errorf("%s: the program has no device", what)
	case a.Space == b.Space:
		return fmt.Errorf("%s: both are on the %s", what, a.Space)
	case a.Memory == layout.Image || b.Memory == layout.Image:
		return fmt.Errorf("%s: only buffers can be transferred; kernels read and write images", what)
	case a.In(layout.Host) != b.In(layout.Host) || from.Type != to.Type:
		return fmt.Errorf("%s: %s %s becomes %s %s", what, from.Type, a, to.Type, b)
	case !t.From.Bytes.Equal(t.To.Bytes):
		return fmt.Errorf("%s: %s bytes become %s", what, t.From.Bytes, t.To.Bytes)
	}
	for _, r := range []Range{t.From, t.To} {
		if err := v.inside(what, r); err != nil {
			return err
		}
	}
	if err := v.read(what, from, a.Space); err != nil {
		return err
	}
	return v.fill(what, t.To, b.Space)
}

// inside checks that a range is one of its value's bytes, for sure.
func (v *verifier) inside(what string, r Range) error {
	size := v.p.Bytes(r.Value)
	rest := sym.Sub(size, sym.Add(r.At, r.Bytes))
	if !sym.AtLeast(r.At, 0, v.p.Facts) || !sym.AtLeast(rest, 0, v.p.Facts) {
		return fmt.Errorf("%s: bytes %s to %s of %q, which has %s", what, r.At, sym.Add(r.At, r.Bytes), r.Value.Name, size)
	}
	return v.computed(what, sym.Add(r.At, r.Bytes))
}

// fill notes what a transfer writes: a value is written once its bytes are from the first to the last, in this order.
func (v *verifier) fill(what string, r Range, space layout.Space) error {
	x := r.Value
	if done := v.filled[x]; !r.At.Is(0) && !done.Equal(r.At) {
		return fmt.Errorf("%s: bytes from %s on are written after %s bytes; want contiguous parts", what, r.At, done)
	}
	v.filled[x] = sym.Add(r.At, r.Bytes)
	if !v.filled[x].Equal(v.p.Bytes(x)) {
		return v.lies(what, "writes", x, space)
	}
	return v.write(what, x, space)
}

// choose checks that one version runs whatever the symbols and the processor, and every version by itself.
func (v *verifier) choose(c *Choose, lists [][]Step) error {
	for i, version := range c.Versions {
		g, last := version.Guard, i == len(c.Versions)-1
		if g.Always() != last {
			if last {
				return fmt.Errorf("%s: the last version has a guard, %s; want none, so that one version always runs", c.Label, g)
			}
			return fmt.Errorf("%s: version %d has no guard, so later versions never run", c.Label, i)
		}
		for _, d := range g.Dims {
			if err := v.computed(c.Label, sym.Add(d.A, d.B)); err != nil {
				return err
			}
		}
		if slices.Contains(g.Features, "") {
			return fmt.Errorf("%s: version %d needs a feature without a name", c.Label, i)
		}
	}
	if len(c.Versions) == 0 {
		return fmt.Errorf("%s: there is no version to choose", c.Label)
	}
	var facts []sym.Facts
	for _, version := range c.Versions {
		facts = append(facts, version.Guard.Narrow(v.facts))
	}
	return v.branches(lists, facts)
}

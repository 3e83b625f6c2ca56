package run

import (
	"fmt"
	"slices"

	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/kernel/layout"
	"rules_dnn/gen/program/plan"
)

// launch runs a kernel as the device does: a task for each group where its items share it, or for each work-item that has one, group after group; where tasks need
// memory of their own, a worker for each, which takes one task after the other.
func (h *host) launch(s *plan.Launch) error {
	if h.p.Device == nil {
		return fmt.Errorf("the program has no device")
	}
	return h.call(s.Call, layout.Device, func(k *Kernel) error {
		g, err := h.grid(s)
		if err != nil {
			return err
		}
		if len(k.scratch) > 0 {
			return h.workers(g, k)
		}
		if items := s.Kernel.Items(); items > 1 { // the task of a group runs them all
			return g.groups(func(first [plan.Dims]int64) error { return k.Run(first[0]/items, first[0]/items+1) })
		}
		return g.groups(func(item [plan.Dims]int64) error { return g.item(k, item) })
	})
}

// grid are the sizes of a launch: work-items, those of a group, and how many of each dimension have something to do.
type grid struct{ global, local, extents [plan.Dims]int64 }

func (h *host) grid(s *plan.Launch) (*grid, error) {
	g := &grid{}
	for _, x := range []struct {
		to   *[plan.Dims]int64
		from [plan.Dims]sym.Expr
	}{{&g.global, s.Global}, {&g.local, s.Local}, {&g.extents, plan.Extents(s.Kernel, h.p.Device.Workers)}} {
		for d, e := range x.from {
			var err error
			if x.to[d], err = e.Eval(h.symbols); err != nil {
				return nil, err
			}
		}
	}
	for d := range g.global {
		if g.local[d] < 1 || g.global[d] < 0 || g.global[d]%g.local[d] != 0 {
			return nil, fmt.Errorf("%d work-items in groups of %d", g.global[d], g.local[d])
		}
	}
	return g, nil
}

// groups calls f for the first work-item of each group, the last group first: no order is promised.
func (g *grid) groups(f func(first [plan.Dims]int64) error) error {
	var n [plan.Dims]int64
	all := int64(1)
	for d := range n {
		n[d] = g.global[d] / g.local[d]
		all *= n[d]
	}
	for i := all - 1; i >= 0; i-- {
		var first [plan.Dims]int64
		rest := i
		for d := range first {
			first[d], rest = rest%n[d]*g.local[d], rest/n[d]
		}
		if err := f(first); err != nil {
			return err
		}
	}
	return nil
}

// item runs the tasks of a group's work-items, row by row; those beyond the extents have none.
func (g *grid) item(k *Kernel, first [plan.Dims]int64) error {
	end := [plan.Dims]int64{}
	for d := range end {
		end[d] = min(first[d]+g.local[d], g.extents[d])
	}
	for z := first[2]; z < end[2]; z++ {
		for y := first[1]; y < end[1]; y++ {
			row := (z*g.extents[1] + y) * g.extents[0]
			if err := k.Run(row+first[0], max(row+first[0], row+end[0])); err != nil {
				return err
			}
		}
	}
	return nil
}

// workers runs the tasks of each worker, which finds its memory as no other one leaves it.
func (h *host) workers(g *grid, k *Kernel) error {
	for w := range g.global[0] {
		poison(h.stores[layout.Device].scratch)
		for task := w; task < k.tasks; task += g.global[0] {
			if err := k.Run(task, task+1); err != nil {
				return err
			}
		}
		if w >= k.tasks {
			break
		}
	}
	return nil
}

// transfer copies bytes between spaces.
func (h *host) transfer(s *plan.Transfer) error {
	from, err := h.rangeOf(s.From)
	if err != nil {
		return err
	}
	whole, err := h.bytes(s.From.Value)
	if err == nil {
		err = h.intact(s.From.Value, whole)
	}
	if err != nil {
		return fmt.Errorf("%q: %w", s.From.Value.Name, err)
	}
	to, err := h.rangeOf(s.To)
	if err != nil {
		return err
	}
	if len(from) != len(to) {
		return fmt.Errorf("%d bytes of %q become %d of %q", len(from), s.From.Value.Name, len(to), s.To.Value.Name)
	}
	copy(to, from)
	if whole, err = h.bytes(s.To.Value); err != nil {
		return err
	}
	h.own(s.To.Value, whole)
	return nil
}

// rangeOf are the bytes of a range.
func (h *host) rangeOf(r plan.Range) ([]byte, error) {
	all, err := h.bytes(r.Value)
	if err != nil {
		return nil, fmt.Errorf("%q: %w", r.Value.Name, err)
	}
	at, err := r.At.Eval(h.symbols)
	if err != nil {
		return nil, err
	}
	n, err := r.Bytes.Eval(h.symbols)
	if err != nil {
		return nil, err
	}
	if at < 0 || n < 0 || at+n > int64(len(all)) {
		return nil, fmt.Errorf("bytes %d to %d of %q, which has %d", at, at+n, r.Value.Name, len(all))
	}
	return all[at : at+n], nil
}

// choose runs the first version whose guard holds.
func (h *host) choose(s *plan.Choose) error {
	for _, v := range s.Versions {
		ok, err := h.guarded(v.Guard)
		if err != nil {
			return err
		}
		if ok {
			return h.steps(v.Steps)
		}
	}
	return fmt.Errorf("no version's guard holds")
}

func (h *host) guarded(g plan.Guard) (bool, error) {
	for _, c := range g.Dims {
		if ok, err := holds(c, h.symbols); err != nil || !ok {
			return false, err
		}
	}
	for _, f := range g.Features {
		if !slices.Contains(h.features, f) {
			return false, nil
		}
	}
	return true, nil
}

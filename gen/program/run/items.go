package run

import (
	"fmt"
	"maps"
	"slices"

	"rules_dnn/gen/kernel/loop"
)

// several stands for more than one item.
const several = -2

// items compiles a loop over work-items, the outermost of a nest: they run one after the other, and none may touch what another one
// stores before all of them have ended.
func (c *compiler) items(x loop.For, w *where) action {
	if c.width > 1 {
		c.frame.fail("a loop over items in vectors")
	}
	if c.inItems {
		return c.eachItem(x, w)
	}
	around := slices.Collect(maps.Values(c.memories)) // what is declared within is an item's own
	c.inItems = true
	run := c.eachItem(x, w)
	c.inItems = false
	f := c.frame
	return func() {
		f.step++
		for _, m := range around {
			if m.lane == nil && m.kind != operand {
				m.lane = make([]access, m.size)
			}
			m.grouped = m.kind != operand
		}
		f.item = 0
		run()
		f.item = -1
		for _, m := range around {
			m.grouped = false
		}
	}
}

// eachItem runs the iterations of a loop of the nest, and counts items in the innermost one.
func (c *compiler) eachItem(x loop.For, w *where) action {
	inner, nested := loop.For{}, false
	if len(x.Body) == 1 {
		inner, nested = x.Body[0].(loop.For)
	}
	if nested && inner.Items {
		return c.serial(x, w, func() {})
	}
	f := c.frame
	return c.serial(x, w, func() { f.item++ })
}

// touched notes what the item that runs does with an element.
func (m *memory) touched(at int64, writes bool) {
	a, item := m.access(at), m.frame.item
	other := a.writer
	if writes && other < 0 && a.readers != -1 {
		other = a.readers
	}
	if other != -1 && other != item {
		what := map[bool]string{false: "reads", true: "writes"}
		m.frame.fail("item %d %s element %d of %s, which %s, and nothing lets them wait for each other", item, what[writes], at, m.name, m.other(a))
	}
	switch {
	case writes:
		a.writer = item
	case a.readers == -1 || a.readers == item:
		a.readers = item
	default:
		a.readers = several
	}
}

// other says what another item has done with an element.
func (m *memory) other(a *access) string {
	switch {
	case a.writer >= 0:
		return fmt.Sprintf("item %d writes", a.writer)
	case a.readers == several:
		return "several others read"
	}
	return fmt.Sprintf("item %d reads", a.readers)
}

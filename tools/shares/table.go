package main

import (
	"fmt"
	"strings"
)

// table is what was measured.
type table struct {
	rows []row
}

type row struct {
	chip string
	product
	kernel string
	// ms is the least time; the network asks for nominal operations a second, and micro-kernels
	// compute executed ones, as shares of peak.
	ms, peak, nominal, executed float64
}

func (t *table) add(chip string, p product, f *figures) {
	b := f.Blocks[0]
	second := b.Ms.Least / 1e3 * f.Machine.Gflops * 1e9
	t.rows = append(t.rows, row{chip, p, b.Kernel, b.Ms.Least, f.Machine.Gflops, p.operations() / second, max(0, 2*b.Products) / second})
}

// times returns the speed of a row relative to float32 of its size on its chip; "" if that was not
// measured.
func (t *table) times(r row) string {
	for _, o := range t.rows {
		if o.chip == r.chip && o.size == r.size && o.x == "f32" && r.x != "f32" {
			return fmt.Sprintf("%.2f", o.ms/r.ms)
		}
	}
	return ""
}

// text returns the table in Markdown.
func (t *table) text() string {
	var out strings.Builder
	fmt.Fprintln(&out, "| chip | product | kernel | least ms | peak GFLOP/s | nominal % | executed % | times f32 |\n| --- | --- | --- | --- | --- | --- | --- | --- |")
	for _, r := range t.rows {
		fmt.Fprintf(&out, "| %s | %s | %s | %.3f | %.1f | %.1f | %.1f | %s |\n", r.chip, r.product, r.kernel, r.ms, r.peak, 100*r.nominal, 100*r.executed, t.times(r))
	}
	return out.String()
}

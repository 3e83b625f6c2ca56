package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// folder returns the folder for programs, and a function that removes or keeps it at the end.
func (o *options) folder() (folder string, done func() error, err error) {
	if o.keep != "" {
		folder, err = filepath.Abs(o.keep)
		return folder, func() error { return nil }, err
	}
	folder, err = os.MkdirTemp("", "sparse")
	return folder, func() error { return os.RemoveAll(folder) }, err
}

// run prints the table: a row for each layer as soon as it is measured, and the sums of VGG's
// thirteen.
func (o *options) run(out io.Writer) (err error) {
	folder, done, err := o.folder()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, done()) }()
	t, err := newTools(o, folder)
	if err != nil {
		return err
	}
	measure := func(n network, ways []way) ([]*timed, error) { return o.network(t, n, ways) }
	return (&table{o: o, measure: measure, peak: func() float64 { return t.peak }, out: out, ways: o.ways()}).print()
}

// table is what is printed of layers, or of the network: nothing of what is not asked for.
type table struct {
	o       *options
	measure func(n network, ways []way) ([]*timed, error)
	peak    func() float64 // of a thread, in multiply-adds a millisecond, as soon as there is a row; 0: it is not known
	out     io.Writer
	ways    []way
	// sums are the times of the rows, and macs their multiply-adds, by ways; nil: there is no row
	// yet.
	sums, macs []float64
}

func (m *table) print() error {
	if err := m.layers(); err != nil {
		return err
	}
	return m.whole()
}

// layers prints those that are asked for, and their sums.
func (m *table) layers() error {
	for _, l := range layers {
		if err := m.row(network{l.name, []layer{l}}, l.String(), l.times); err != nil {
			return err
		}
	}
	if m.sums == nil {
		return nil
	}
	fmt.Fprint(m.out, "| all, times their number in VGG |")
	for i, ms := range m.sums {
		fmt.Fprintf(m.out, " %.2f%s |", ms, share(m.macs[i], ms, m.peak()*float64(m.ways[i].threads)))
	}
	fmt.Fprintln(m.out)
	m.faster()
	return nil
}

// whole prints the network, below the layers where there are some.
func (m *table) whole() error {
	if !m.o.only.MatchString(whole().name) {
		return nil
	}
	if m.sums != nil {
		clear(m.sums)
	}
	if err := m.row(whole(), "thirteen convolutions and four poolings, one network", 1); err != nil {
		return err
	}
	m.faster()
	return nil
}

// head prints what columns are.
func (m *table) head() {
	fmt.Fprint(m.out, "| layer |")
	for _, w := range m.ways {
		fmt.Fprintf(m.out, " %s, %s |", w.name, m.o.unit())
	}
	fmt.Fprintln(m.out, "\n| --- |"+strings.Repeat(" --- |", len(m.ways)))
	m.sums, m.macs = make([]float64, len(m.ways)), make([]float64, len(m.ways))
}

// row measures and prints a network if it is requested, and adds it to the sums times times. The
// first row prints the table's head.
func (m *table) row(n network, name string, times int) error {
	if !m.o.only.MatchString(n.name) {
		return nil
	}
	all, err := m.measure(n, m.ways)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if m.sums == nil {
		m.head()
	}
	fmt.Fprintf(m.out, "| %s |", name)
	for i, x := range all {
		fmt.Fprintf(m.out, " %.3f%s |", x.ms, share(x.macs, x.ms, m.peak()*float64(m.ways[i].threads)))
		m.sums[i] += float64(times) * x.ms
		m.macs[i] += float64(times) * x.macs
	}
	fmt.Fprintln(m.out)
	if len(m.o.precisions) > 1 {
		fmt.Fprint(m.out, "| its weights, MB |")
		for _, x := range all {
			fmt.Fprintf(m.out, " %.2f |", float64(x.weights)/1e6)
		}
		fmt.Fprintln(m.out)
	}
	return nil
}

// faster prints how many times as fast each is as the first two ways of as many threads, and as
// with the first number of threads where there are several.
func (m *table) faster() {
	n := len(m.o.threads)
	fmt.Fprintf(m.out, "| %s |", m.o.ratio())
	for i, x := range m.sums {
		direct, dense := m.sums[i%n], m.sums[n+i%n]
		fmt.Fprintf(m.out, " %.2f (%.2f) |", direct/x, min(direct, dense)/x)
	}
	fmt.Fprintln(m.out)
	if n == 1 {
		return
	}
	fmt.Fprintf(m.out, "| times as fast as with as many threads as %d |", m.o.threads[0])
	for i, x := range m.sums {
		fmt.Fprintf(m.out, " %.2f |", m.sums[i-i%n]/x)
	}
	fmt.Fprintln(m.out)
}

// share returns the share of a peak, in multiply-adds a millisecond.
func share(macs, ms, peak float64) string {
	if peak == 0 {
		return ""
	}
	return fmt.Sprintf(" (%.0f %%)", 100*macs/ms/peak)
}

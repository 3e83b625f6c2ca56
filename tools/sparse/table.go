package main

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"rules_dnn/gen/ir"
	"rules_dnn/tools/check"
)

// way is how a layer is computed: a column of the table.
type way struct {
	name    string
	pruning pruning
	disable string // switches of dnnc
	tuned   bool   // kernels are those that measure best, not those of the best estimates
	threads int
	// precision is the type in which the network is stored.
	precision string
}

// single is the precision of the models.
const single = "fp32"

// ways returns the requested ways; the dense ones, direct and with Winograd, are first.
func (o *options) ways() []way {
	var out []way
	add := func(name string, p pruning, disable string, tuned bool) {
		for _, n := range o.threads {
			own := name
			if len(o.threads) > 1 {
				own += fmt.Sprintf(", threads: %d", n)
			}
			out = append(out, way{own, p, disable, tuned, n, single})
		}
	}
	addStored := func(name string, p pruning) {
		for _, precision := range o.precisions {
			first := len(out)
			if precision == single {
				add(name, p, "", false)
				continue
			}
			add(name+", "+precision, p, "", false)
			for i := range out[first:] {
				out[first+i].precision = precision
			}
		}
	}
	add("dense, direct", pruning{}, "winograd", false)
	add("dense", pruning{}, "", false)
	for _, share := range o.shares {
		for _, n := range o.patterns {
			p := pruning{n, o.connectivity, share}
			name := "own patterns"
			if share > 1 {
				name = fmt.Sprintf("shared by %d", share)
			}
			if len(o.patterns) > 1 {
				name += fmt.Sprintf(", %d", n)
			}
			if !o.ablation {
				addStored(name, p)
				continue
			}
			if share == 1 { // PatDNN Figure 2.13
				add(name+", as given", p, "reorder,reuse", false)
				add(name+", reordered", p, "reuse", false)
			}
			add(name, p, "", false)
			if share == 1 {
				add(name+", tuned", p, "", true)
			}
			add(name+", poolings by themselves", p, "pooled", false)
		}
	}
	return out
}

// timed is a running program with its number of multiply-adds of remaining weights, and its
// minimum time so far in ms, or its instructions in millions.
type timed struct {
	server  *check.Server
	counter *counter // nil: it is timed
	threads int
	macs    float64
	ms      float64
	weights int64 // bytes
}

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

// network measures all ways of a network in turn.
func (o *options) network(t *tools, n network, ways []way) (all []*timed, err error) {
	defer func() {
		for _, x := range all {
			err = errors.Join(err, x.server.Close())
		}
	}()
	first := n.layers[0]
	inputs := map[string]*ir.Tensor{"x": check.Input(ir.F32, []int64{1, first.in, first.size, first.size}, 1, 10)}
	stem := t.in(strings.ReplaceAll(n.name, " ", "_"))
	results := map[pruning]*ir.Tensor{}
	for i, w := range ways {
		x := &timed{ms: math.Inf(1), threads: w.threads}
		work := fmt.Sprintf("%s_%d", stem, i/len(o.threads))
		kept, err := n.write(work+".onnx", w.pruning)
		if err != nil {
			return all, err
		}
		x.macs = n.macs(kept)
		if x.server, x.counter, err = t.program(work+".onnx", work, w); err != nil {
			return all, err
		}
		all = append(all, x)
		info, err := os.Stat(filepath.Join(work, "model.weights"))
		if err != nil {
			return all, err
		}
		x.weights = info.Size()
		y, err := x.server.Run(inputs)
		if err != nil {
			return all, err
		}
		for _, v := range y { // there is one
			if err := agree(results, w, v); err != nil {
				return all, err
			}
		}
	}
	for range o.rounds {
		for _, x := range all {
			ms, err := o.measure(x)
			if err != nil {
				return all, err
			}
			x.ms = min(x.ms, ms)
		}
	}
	return all, nil
}

// measure returns the time of a run in a round, or the instructions of the run that is over.
func (o *options) measure(x *timed) (float64, error) {
	if x.counter != nil {
		return x.counter.millions()
	}
	return o.time(x.server, x.threads)
}

// time returns the time of a run in a round: the minimum by the clock. With one thread, it returns
// the processor time of all runs divided by their number if that is less, because other programs
// may take the processor.
func (o *options) time(s *check.Server, threads int) (ms float64, err error) {
	before, err := s.OnCPU()
	if err != nil {
		return 0, err
	}
	all, err := s.Time(o.seconds)
	if err != nil {
		return 0, err
	}
	after, err := s.OnCPU()
	if threads > 1 {
		return slices.Min(all), err
	}
	return min(slices.Min(all), float64(after-before)/1e6/float64(len(all))), err
}

// mostError is how far results of equal weights may differ, as a part of their range, by the
// precision.
var mostError = map[string]float64{single: 1e-4, "fp16": 5e-3, "bf16": 5e-2}

// agree compares a result with the first one of the same weights, if there is one.
func agree(results map[pruning]*ir.Tensor, w way, y *ir.Tensor) error {
	want, ok := results[w.pruning]
	if !ok {
		results[w.pruning] = y
		return nil
	}
	d, err := check.Compare(y, want)
	if err == nil && d.Rel() > mostError[w.precision] {
		err = fmt.Errorf("%s: results differ by %.1e of their range from those of another kernel", w.name, d.Rel())
	}
	return err
}

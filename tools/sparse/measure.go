package main

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"rules_dnn/gen/ir"
	"rules_dnn/tools/check"
)

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

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"rules_dnn/gen/emit/manifest"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/kernel/fkw"
	"rules_dnn/gen/kernel/layout"
	"rules_dnn/gen/kernel/sched"
	"rules_dnn/tools/internal/build"
)

// tasks prints the number of tasks of each layer of the network with own patterns, and the work of
// the largest task relative to the mean. This shows how evenly threads can share the work,
// independent of the machine's load.
func (o *options) tasks(out io.Writer) (err error) {
	folder, done, err := o.folder()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, done()) }()
	t, err := newTools(o, folder)
	if err != nil {
		return err
	}
	n, p := whole(), pruning{o.patterns[0], o.connectivity, 1}
	work := t.in("network")
	if _, err := n.write(work+".onnx", p); err != nil {
		return err
	}
	if _, err := t.compile(work+".onnx", work, ""); err != nil {
		return err
	}
	data, err := os.ReadFile(filepath.Join(work, build.Manifest))
	if err != nil {
		return err
	}
	m := &manifest.Manifest{}
	if err := json.Unmarshal(data, m); err != nil {
		return err
	}
	fmt.Fprintln(out, "| layer | tasks | the largest one's multiply-adds over the mean |\n| --- | --- | --- |")
	i := 0
	for _, b := range m.Blocks {
		if !slices.Contains(b.Ops, "Conv") {
			continue
		}
		l, seed := n.layers[i], uint64(i)
		i++
		work, err := l.work(b, p, seed)
		if err != nil {
			return fmt.Errorf("%s: %w", l, err)
		}
		sum := 0.0
		for _, x := range work {
			sum += x
		}
		fmt.Fprintf(out, "| %s | %d | %.3f |\n", l, len(work), slices.Max(work)*float64(len(work))/sum)
	}
	return nil
}

// work returns the multiplications of each task of a layer's kernel, in kernels of a row of
// pixels: its rows times the kernels of its filters.
func (l layer) work(b manifest.Block, p pruning, seed uint64) ([]float64, error) {
	s, err := sched.Parse(b.Schedule)
	if err != nil {
		return nil, err
	}
	at := slices.IndexFunc(s.Stages, func(s sched.Stage) bool {
		return slices.ContainsFunc(s.Loops, func(l sched.Loop) bool { return l.Stored })
	})
	if at < 0 {
		return nil, fmt.Errorf("kernel %s sums all weights", b.Anchor)
	}
	kernels, err := l.kernels(s, p, seed)
	if err != nil {
		return nil, err
	}
	work := []float64{1}
	for i, loop := range outerLoops(s, at) {
		var parts []float64
		switch {
		case loop.Kind != sched.Task:
			continue
		case loop.Stored: // dealt out
			splits := s.Stages[at].Splits
			parts = make([]float64, splits[slices.IndexFunc(splits, func(x sched.Split) bool { return x.Inner == loop.Axis })].Size)
			for f, n := range kernels {
				parts[f%len(parts)] += float64(n)
			}
		case i > 0: // bands of rows, or strips of columns
			points, err := l.points(b, axisOf(loop))
			if err != nil {
				return nil, err
			}
			size := partOf(s, at, loop)
			for first := int64(0); first < points; first += size {
				parts = append(parts, float64(min(size, points-first)))
			}
		default: // images, of which there is one
			continue
		}
		var all []float64
		for _, x := range work {
			for _, y := range parts {
				all = append(all, float64(x*y))
			}
		}
		work = all
	}
	if n, err := strconv.Atoi(b.Tasks); err != nil || n != len(work) {
		return nil, fmt.Errorf("%s tasks, but %d are known: %v", b.Tasks, len(work), err)
	}
	return work, nil
}

// outerLoops returns the loops of the stage, or of the pooling at which it is placed.
func outerLoops(s *sched.Schedule, at int) []sched.Loop {
	if last := len(s.Stages) - 1; at < last {
		return s.Stages[last].Loops
	}
	return s.Stages[at].Loops
}

// Axes of the rows and columns of images.
const rowAxis, columnAxis = 2, 3

// axisOf returns the axis of a task loop; bands may cover a part of the rows.
func axisOf(loop sched.Loop) int {
	if loop.Axis == fmt.Sprintf("i%d", columnAxis) {
		return columnAxis
	}
	return rowAxis
}

// partOf returns the number of the convolution's rows or columns in an iteration of a loop. A loop
// of a pooling has two of them for each of its own.
func partOf(s *sched.Schedule, at int, loop sched.Loop) int64 {
	last := &s.Stages[len(s.Stages)-1]
	size := last.Within(slices.Index(last.Loops, loop))
	for _, x := range last.Splits {
		if x.Outer == loop.Axis {
			size = x.Size
		}
	}
	if at < len(s.Stages)-1 {
		size *= 2
	}
	return size
}

// points returns the number of rows or columns of the blocks that separate pixels, or of the
// image.
func (l layer) points(b manifest.Block, axis int) (int64, error) {
	lay, err := layout.Parse(b.Results[0].Layout)
	if err != nil {
		return 0, err
	}
	const rank = 4
	size := l.size
	for _, p := range layout.PartsOf(lay, rank) {
		if p.Axis == axis && p.Size > 0 {
			size = p.Size
			if b.Results[0].Shape[axis] != strconv.FormatInt(l.size, 10) { // a pooling's
				size *= 2
			}
		}
	}
	return size, nil
}

// kernels returns the number of remaining kernels of each filter, in the order in which filters
// are stored.
func (l layer) kernels(s *sched.Schedule, p pruning, seed uint64) ([]int32, error) {
	w, _, err := l.weights(p, seed)
	if err != nil {
		return nil, err
	}
	at := slices.IndexFunc(s.Values, func(v sched.Value) bool { return v.Encoding != "" })
	e, err := fkw.Parse(s.Values[at].Encoding)
	if err != nil {
		return nil, err
	}
	x := tensor("w", l.shape(), w)
	stored, err := fkw.Encode(&ir.Tensor{Type: ir.F32, Shape: l.shape(), Data: x.RawData}, *e)
	if err != nil {
		return nil, err
	}
	out := make([]int32, len(stored.Offset)-1)
	for f := range out {
		out[f] = stored.Offset[f+1] - stored.Offset[f]
	}
	return out, nil
}

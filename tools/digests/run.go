package main

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"rules_dnn/tools/internal/build"
)

// work is what a run does, and what came of it.
type work struct {
	*options
	chips   []*chip
	before  record
	log     io.Writer
	scratch string

	mu      sync.Mutex
	now     record
	skipped []string // why graphs are left out
	changes map[key]*change
	err     error
}

func (o *options) run(out, log io.Writer) error {
	w := &work{options: o, log: log, now: record{}, changes: map[key]*change{}}
	graphs, err := o.graphs()
	if err != nil {
		return err
	}
	if w.chips, err = o.targets(); err != nil {
		return err
	}
	if w.before, err = o.readRecord(); err != nil {
		return err
	}
	if w.scratch, err = os.MkdirTemp("", "digests"); err != nil {
		return err
	}
	defer os.RemoveAll(w.scratch)
	if o.dnnc == "" {
		if o.dnnc, err = build.Dnnc(o.root, w.scratch); err != nil {
			return err
		}
	}
	if err := w.each(graphs); err != nil {
		return err
	}
	w.notes(out, graphs)
	if o.update {
		maps.Copy(w.before, w.now)
		return w.before.write(o.record)
	}
	return w.report(out)
}

// each processes all graphs, several in parallel. An error ends all.
func (w *work) each(graphs []*graph) error {
	next := make(chan *graph)
	var group sync.WaitGroup
	for range w.parallel {
		group.Add(1)
		go func() {
			defer group.Done()
			for g := range next {
				if err := w.graph(g); err != nil {
					w.fail(fmt.Errorf("%s: %w", g.name, err))
				}
			}
		}()
	}
	for _, g := range graphs {
		if w.failed() != nil {
			break
		}
		next <- g
	}
	close(next)
	group.Wait()
	return w.err
}

func (w *work) fail(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.err = errors.Join(w.err, err)
}

func (w *work) failed() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

// graph reads a graph once, and compiles it for each chip.
func (w *work) graph(g *graph) error {
	start := time.Now()
	model, err := g.read()
	if err != nil {
		return err
	}
	if mb := weightBytes(model) / 1e6; w.mostMB > 0 && mb > w.mostMB {
		w.leaveOut(fmt.Sprintf("%s has %d MB of weights, more than --most-mb=%d", g.name, mb, w.mostMB))
		return nil
	}
	folder := filepath.Join(w.scratch, g.name)
	defer os.RemoveAll(folder)
	if err := os.Mkdir(folder, 0o777); err != nil {
		return err
	}
	var refused refusal
	if err := w.imported(g, model, folder); errors.As(err, &refused) {
		for _, c := range w.chips {
			w.note(key{g.name, c.Name}, line(digests{}, refused), "")
		}
	} else if err != nil {
		return err
	} else if err := w.compiled(g, folder); err != nil {
		return err
	}
	if w.keep != "" {
		if err := keepFile(filepath.Join(folder, graphFile), filepath.Join(w.keep, g.name)); err != nil {
			return err
		}
	}
	fmt.Fprintf(w.log, "%-22s %5.1f s\n", g.name, time.Since(start).Seconds())
	return nil
}

// compiled compiles a graph for the chips sequentially, because weights may have gigabytes.
func (w *work) compiled(g *graph, folder string) error {
	for _, c := range w.chips {
		out := filepath.Join(folder, c.Name)
		if err := os.Mkdir(out, 0o777); err != nil {
			return err
		}
		if err := w.one(g, c, folder, out); err != nil {
			return fmt.Errorf("%s: %w", c.Name, err)
		}
		if err := os.RemoveAll(out); err != nil {
			return err
		}
	}
	return nil
}

// one compiles a graph for a chip, takes the digests, and compares or keeps the outputs before they
// go.
func (w *work) one(g *graph, c *chip, folder, out string) error {
	k := key{g.name, c.Name}
	var refused refusal
	if err := w.generate(g, c, folder); errors.As(err, &refused) {
		w.note(k, line(digests{}, refused), "")
		return nil
	} else if err != nil {
		return err
	}
	d, err := digest(out)
	if err != nil {
		return err
	}
	if w.keep != "" || w.against != "" {
		if err := summarise(out); err != nil {
			return err
		}
	}
	w.note(k, line(d, nil), out)
	if w.keep == "" {
		return nil
	}
	return keepFolder(out, filepath.Join(w.keep, g.name, c.Name))
}

// note takes a result, and compares it.
func (w *work) note(k key, result, folder string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now[k] = result
	before, known := w.before[k]
	switch {
	case !known:
		w.changes[k] = &change{what: "new: the file has no line of it"}
	case before != result:
		w.changes[k] = &change{what: columns(before, result)}
		if w.against != "" && folder != "" {
			files, err := against(filepath.Join(w.against, k.graph, k.chip), folder)
			w.changes[k].files, w.err = files, errors.Join(w.err, err)
		}
	}
}

func (w *work) leaveOut(why string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.skipped = append(w.skipped, why)
}

// notes prints which graphs the run does not have.
func (w *work) notes(out io.Writer, graphs []*graph) {
	slices.Sort(w.skipped)
	for _, why := range w.skipped {
		fmt.Fprintf(out, "left out: %s\n", why)
	}
	absent := map[string]bool{}
	for k := range w.before {
		if w.only.MatchString(k.graph) && !slices.ContainsFunc(graphs, func(g *graph) bool { return g.name == k.graph }) {
			absent[k.graph] = true
		}
	}
	if len(absent) > 0 {
		fmt.Fprintf(out, "not here, see --models: %d graphs of the file\n", len(absent))
	}
}

package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"

	"rules_dnn/gen/base/files"
	"rules_dnn/tools/command"
)

// compareList compares the models of a list and prints a Markdown table, with a row for each run
// when it is done. Each line of the list is a command line of this command. Options of the outer
// command line precede them.
func compareList(o *options, args []string, table, log io.Writer) error {
	models, err := listed(o, args)
	if err != nil {
		return err
	}
	done, err := share(models)
	if err != nil {
		return err
	}
	defer done()
	print, head := row, "| model | inputs | error / range | ms | reference ms | ratio (quartiles) | dnnc s | MB | C++ s |"
	switch {
	case o.layers:
		print, head = layersRow, "| model | quantized values | equal | rounded otherwise | wrong | most elements of a value | steps | outputs, error / range | the reference's own from one value of ours |"
	case o.starts:
		print, head = startsRow, startsHead
	case o.device != "":
		print, head = deviceRow, deviceHead
	}
	fmt.Fprintf(table, "%s\n|%s\n", head, strings.Repeat(" --- |", strings.Count(head, "|")-1))
	l := listing{row: print, table: table, log: log}
	free := make(chan bool, max(1, o.atOnce))
	var all sync.WaitGroup
	for _, one := range models {
		all.Add(1)
		free <- true
		go func() {
			defer all.Done()
			l.compare(one)
			<-free
		}()
	}
	all.Wait()
	return failures(l.failed)
}

// listing is the table that a list becomes.
type listing struct {
	row        func(table io.Writer, name string, x *outcome)
	table, log io.Writer
	mu         sync.Mutex // of what follows, and of both writers where models are compared at once
	failed     []string
}

// compare compares one of the models and prints its row. It logs details at once or, if models run
// in parallel, at the end.
func (l *listing) compare(o *options) {
	log := l.log
	var kept bytes.Buffer
	if o.atOnce > 1 {
		log = &kept
	}
	fmt.Fprintf(log, "== %s\n", o.name())
	x, err := compareTuned(o, log)
	l.mu.Lock()
	defer l.mu.Unlock()
	_, _ = l.log.Write(kept.Bytes())
	l.row(l.table, o.name(), x)
	if err != nil {
		l.failed = append(l.failed, o.name())
		failure(l.table, o.name(), err)
	}
}

// share lets the list's models have one folder of what all programs are made with, and what deletes
// it.
func share(models []*options) (done func(), err error) {
	dir, err := os.MkdirTemp("", "compare")
	if err != nil {
		return nil, err
	}
	for _, o := range models {
		if o.cxx == models[0].cxx { // objects are what that compiler makes
			o.runtime = dir
		}
	}
	return func() { os.RemoveAll(dir) }, nil
}

// compareTuned compares a model of the list, and tunes it first if its line asks for it.
func compareTuned(o *options, log io.Writer) (*outcome, error) {
	tuned, err := o.tuned(log)
	if err != nil {
		return nil, err
	}
	return compare(tuned, log)
}

// name returns the model's name in a table, with its compile options if they are special.
func (o *options) name() string {
	name := filepath.Base(o.model)
	if o.pruning != "" {
		name += " pruned"
	}
	if o.disable != "" {
		name += " without " + o.disable
	}
	if o.precision != "" && o.precision != "fp32" {
		name += " in " + o.precision
	}
	if o.accumulation == "fp16" {
		name += " with sums in fp16"
	}
	if o.tune != "" || o.tuning != "" {
		name += " tuned"
	}
	return name
}

// failure prints a row for a model that failed.
func failure(table io.Writer, name string, err error) {
	fmt.Fprintf(table, "| %s | **%s** |\n", name, strings.ReplaceAll(strings.TrimSpace(fmt.Sprintf("%.300s", err)), "\n", " "))
}

func failures(names []string) error {
	if names == nil {
		return nil
	}
	return fmt.Errorf("%d of the list failed: %s", len(names), strings.Join(names, ", "))
}

// listed returns the options of each line of the list.
func listed(o *options, args []string) ([]*options, error) {
	only, err := regexp.Compile(o.only)
	if err != nil {
		return nil, fmt.Errorf("--only: %w", err)
	}
	var lines []string
	for _, path := range strings.Split(o.list, ",") {
		more, err := readList(command.Path(path))
		if err != nil {
			return nil, err
		}
		lines = append(lines, more...)
	}
	var out []*options
	for _, line := range lines {
		words := strings.Fields(line)
		if !only.MatchString(words[0]) {
			continue
		}
		one, err := parse(append(append([]string{}, args...), words...))
		if err != nil {
			return nil, fmt.Errorf("%s: %q: %w", o.list, line, err)
		}
		folder := command.Path(o.models)
		one.model = filepath.Join(folder, words[0])
		if one.tune != "" && !filepath.IsAbs(one.tune) {
			one.tune = filepath.Join(folder, one.tune)
		}
		out = append(out, one)
	}
	if out == nil {
		return nil, fmt.Errorf("--only=%s matches no model of %s", o.only, o.list)
	}
	return out, nil
}

// row prints a model's runs.
func row(table io.Writer, name string, x *outcome) {
	if x == nil {
		return
	}
	for _, r := range x.runs {
		speed := "| | |"
		if t := r.timing; t != nil {
			speed = fmt.Sprintf("%.3g | %.3g | %.2f (%.2f, %.2f)", t.ours, t.theirs, t.median, t.low, t.upper)
		}
		fmt.Fprintf(table, "| %s | %s | %.2g | %s | %.2f | %.0f | %.1f |\n", name, strings.Join(r.inputs, ", "), r.rel, speed,
			x.times.graph+x.times.compile, float64(x.times.memory)/1e6, x.times.cxx)
	}
}

// layersRow prints what came of a model's quantized values.
func layersRow(table io.Writer, name string, x *outcome) {
	if x == nil {
		return
	}
	for _, r := range x.runs {
		if l := r.layers; l != nil {
			fmt.Fprintf(table, "| %s | %d | %d | %d | %d | %.4f %% | %g | %.2g | %.2g |\n", name, l.values, l.values-l.differ, l.differ-l.wrong, l.wrong, 100*l.share, l.most, r.rel, l.moved)
		}
	}
}

// readList reads the lines that are not empty and no comments.
func readList(path string) ([]string, error) {
	f, _, err := files.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var lines []string
	s := bufio.NewScanner(f)
	for s.Scan() {
		if line := strings.TrimSpace(s.Text()); line != "" && !strings.HasPrefix(line, "#") {
			lines = append(lines, line)
		}
	}
	return lines, errors.Join(s.Err())
}

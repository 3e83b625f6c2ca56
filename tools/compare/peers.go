package main

import (
	_ "embed" // peers.py
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

//go:embed peers.py
var peersProgram string

// engines lists the engines that peers.py runs. Outputs are compared with the first one's.
var engines = []string{"onnxruntime", "openvino", "mnn", "ncnn"}

// pause is between runs of two engines: threads of the one go on spinning for a while.
const pause = 250 * time.Millisecond

func (o *options) readPeers(text string) error {
	switch text {
	case "":
		return nil
	case "all":
		o.peers = engines
	default:
		o.peers = strings.Split(text, ",")
	}
	for _, name := range o.peers {
		if !slices.Contains(engines, name) {
			return fmt.Errorf("--peers: there is no %q; known: %s, or all", name, strings.Join(engines, ", "))
		}
	}
	if o.rounds < 1 {
		return fmt.Errorf("--peers wants --rounds from 1")
	}
	return nil
}

func (o *options) readThreads(text string) error {
	for _, one := range strings.Split(text, ",") {
		n, err := strconv.Atoi(one)
		if err != nil || n < 1 {
			return fmt.Errorf("--threads=%s: want a number from 1, or several with commas between", text)
		}
		o.threadCounts = append(o.threadCounts, n)
	}
	o.threads = o.threadCounts[0]
	return nil
}

// comparePeers times models against other engines. The table has a row for each run and number of
// threads. Details go to log.
func comparePeers(o *options, args []string, table, log io.Writer) error {
	models := []*options{o}
	if o.list != "" {
		var err error
		if models, err = listed(o, args); err != nil {
			return err
		}
		done, err := share(models)
		if err != nil {
			return err
		}
		defer done()
	}
	peerHead(table, columns(models))
	var failed []string
	var all []*contest
	for _, one := range models {
		done, err := contests(one, columns(models), table, log)
		all = append(all, done...)
		if err != nil {
			failed = append(failed, one.name())
			failure(table, one.name(), err)
		}
	}
	peerMeans(table, columns(models), all)
	return failures(failed)
}

// columns returns the table's columns besides our time: dense kernels if a model is pruned, and
// the peers.
func columns(models []*options) []string {
	peers := models[0].peers
	if slices.ContainsFunc(models, func(o *options) bool { return o.pruning != "" }) {
		return append([]string{denseName}, peers...)
	}
	return peers
}

// contests builds a model's program and lets it run against the peers.
func contests(o *options, columns []string, table, log io.Writer) ([]*contest, error) {
	o, err := o.tuned(log)
	if err != nil {
		return nil, err
	}
	work, chips, m, done, err := prepare(o)
	defer done()
	if err != nil {
		return nil, err
	}
	p, err := makeProgram(o, m, chips, work)
	if err != nil {
		return nil, err
	}
	plain := &program{}
	if o.pruning != "" {
		if plain, err = dense(o, m, work); err != nil {
			return nil, err
		}
	}
	script := filepath.Join(work, "peers.py")
	if err := os.WriteFile(script, []byte(peersProgram), 0o666); err != nil {
		return nil, err
	}
	var out []*contest
	for i, run := range o.allRuns() {
		env, err := m.sizes(run)
		if err != nil {
			return out, err
		}
		inputs, err := m.inputsOf(o, env)
		if err != nil {
			return out, err
		}
		s := &stage{o: o, m: m, ours: p.command, dense: plain.command, script: script, inputs: inputs, folder: fmt.Sprintf("%s/run%d", work, i)}
		for _, threads := range o.threadCounts {
			c, err := s.contest(threads, run, log)
			if err != nil {
				return out, err
			}
			peerRow(table, columns, c)
			out = append(out, c)
		}
	}
	return out, nil
}

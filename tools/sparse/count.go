package main

import (
	"encoding/json"
	"os"
	"path/filepath"

	"rules_dnn/gen/emit/manifest"
	"rules_dnn/tools/a64count"
	"rules_dnn/tools/internal/build"
)

// counter counts the instructions of a program.
type counter struct {
	*a64count.Counter
	kernels map[string]bool
}

// peakCounted is how many multiply-adds 1e6 instructions compute at most: a register has four
// lanes.
const peakCounted = 4e6

// command returns the command that runs the program in a folder, and its counter. The counter is
// nil without an emulator.
func (t *tools) command(work string) (*counter, []string, error) {
	program := filepath.Join(work, "program")
	if len(t.emulator) == 0 {
		return nil, []string{program}, nil
	}
	text, err := os.ReadFile(filepath.Join(work, build.Manifest))
	if err != nil {
		return nil, nil, err
	}
	var m manifest.Manifest
	if err := json.Unmarshal(text, &m); err != nil {
		return nil, nil, err
	}
	c := &counter{kernels: map[string]bool{}}
	for _, b := range m.Blocks {
		c.kernels[b.Kernel] = true
	}
	var command []string
	c.Counter, command, err = a64count.New(work, program, t.emulator)
	return c, command, err
}

// millions returns the millions of instructions of the last run, with one register for each load
// and store.
func (c *counter) millions() (float64, error) {
	functions, err := c.LastRun(func(name string) bool { return c.kernels[name] })
	if err != nil {
		return 0, err
	}
	var all a64count.Counts
	for _, f := range functions {
		all.Add(f.Counts, 1)
	}
	return float64(all.Spread) / 1e6, nil
}

// unit returns what the columns of a table contain.
func (o *options) unit() string {
	if len(o.emulator) > 0 {
		return "M instructions (multiply-adds)"
	}
	return "ms (share of the peak)"
}

// ratio returns the label of the row that compares ways with the dense ones.
func (o *options) ratio() string {
	if len(o.emulator) > 0 {
		return "instructions of dense, direct over these (of the smaller dense one)"
	}
	return "times as fast as dense, direct (the faster dense one)"
}

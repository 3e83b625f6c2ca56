package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"rules_dnn/tools/check"
)

// entrant is one engine in a contest, ours too.
type entrant struct {
	name, version string
	server        *check.Server
	ms            []float64 // the least of each round
	rel           float64   // error of its outputs, relative to their range; negative: not compared
	failure       string    // why it is left out
}

// enter starts an engine, on as many processors as it has threads where that can be had.
func (s *stage) enter(name string, threads int, command ...string) (*entrant, error) {
	e := &entrant{name: name, rel: -1}
	dir := filepath.Join(s.folder, name)
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return e, err
	}
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		return e, err
	}
	defer log.Close() // the program has its own
	if _, err := exec.LookPath("taskset"); err == nil && threads < runtime.NumCPU() {
		command = append([]string{"taskset", "-c", fmt.Sprintf("0-%d", threads-1)}, command...)
	}
	if e.server, err = check.StartLogged(log, dir, threads, command...); err == nil {
		e.version = e.server.Version
	}
	return e, err
}

// round adds the least time of some runs.
func (e *entrant) round(seconds float64) error {
	ms, err := e.server.Time(seconds)
	if err == nil {
		e.ms = append(e.ms, slices.Min(ms))
	}
	return err
}

// leave takes an engine that failed out of the contest.
func (e *entrant) leave(err error) {
	if err == nil {
		return
	}
	e.failure = strings.Join(strings.Fields(err.Error()), " ")
	if e.server != nil {
		_ = e.server.Close() // it failed already
		e.server = nil
	}
}

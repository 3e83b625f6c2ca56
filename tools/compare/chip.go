package main

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"rules_dnn/gen/files"
	"rules_dnn/gen/target"
)

// chooseChip reads the facts of the chip that is asked for, or of the widest that this machine
// has, and writes them to the work folder.
func chooseChip(o *options, work string) (*target.Target, error) {
	pattern := "platforms/chips/" + o.chip + ".json"
	switch {
	case o.chip == "":
		pattern = "platforms/chips/*.json"
	case strings.HasSuffix(o.chip, ".json"):
		pattern = o.path(o.chip)
	}
	paths, err := filepath.Glob(pattern)
	if err != nil {
		return nil, err
	}
	var best *target.Target
	var facts []byte
	for _, f := range paths {
		data, err := files.Read(f)
		if err != nil {
			return nil, err
		}
		t, err := target.Parse(data)
		if err != nil {
			return nil, err
		}
		if o.chip != "" || runsHere(t) && (best == nil || t.VectorBits > best.VectorBits) {
			best, facts = t, data
		}
	}
	if best == nil {
		return nil, fmt.Errorf("no facts of a chip fit (%s); name one of platforms/chips, or a file, with --chip", pattern)
	}
	return best, os.WriteFile(work+"/chip.json", facts, 0o666)
}

// runsHere reports whether this machine's processor has what a chip offers, as far as Linux tells.
func runsHere(t *target.Target) bool {
	if t.GOARCH() != runtime.GOARCH {
		return false
	}
	have := map[string]bool{}
	if f, err := os.Open("/proc/cpuinfo"); err == nil {
		defer f.Close()
		for s := bufio.NewScanner(f); s.Scan(); {
			if name, list, _ := strings.Cut(s.Text(), ":"); strings.TrimSpace(name) == "flags" {
				for _, flag := range strings.Fields(list) {
					have[flag] = true
				}
				break
			}
		}
	}
	return !slices.ContainsFunc(t.CPUFeatures, func(f string) bool { return !have[f] })
}

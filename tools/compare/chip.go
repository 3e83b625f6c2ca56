package main

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"

	"rules_dnn/gen/target"
	"rules_dnn/gen/target/chips"
)

// chooseChip gives the chip that is asked for, or the widest that this machine has, and writes its facts to the work folder.
func chooseChip(o *options, work string) (*target.Target, error) {
	facts, err := factsOf(o)
	if err != nil {
		return nil, err
	}
	t, err := target.Parse(facts)
	if err != nil {
		return nil, err
	}
	return t, os.WriteFile(work+"/chip.json", facts, 0o666)
}

// factsOf gives the facts of the chip that is asked for. By default no processor is assumed: of chips as wide, levels come first in the file.
func factsOf(o *options) ([]byte, error) {
	switch {
	case strings.HasSuffix(o.chip, ".json"):
		return chips.Facts(".", o.path(o.chip))
	case o.chip != "":
		return chips.Facts(".", o.chip)
	}
	all, err := chips.Read(".")
	if err != nil {
		return nil, err
	}
	var best *target.Target
	var facts []byte
	for _, c := range all {
		t, err := target.Parse(c.Facts)
		if err != nil {
			return nil, err
		}
		if runsHere(t) && (best == nil || t.VectorBits > best.VectorBits) {
			best, facts = t, c.Facts
		}
	}
	if best == nil {
		return nil, fmt.Errorf("no chip of %s is this machine's; name one, or a JSON file of facts, with --chip", chips.File)
	}
	return facts, nil
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

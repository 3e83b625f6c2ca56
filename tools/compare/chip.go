package main

import (
	"fmt"
	"os"
	"strings"

	"rules_dnn/gen/target"
	"rules_dnn/gen/target/chips"
	"rules_dnn/gen/target/hostcpu"
	"rules_dnn/tools/command"
)

// library is the chips that a model is compiled for, the least capable first: one, or the variants
// of a library.
type library []*target.Target

// String names them.
func (l library) String() string {
	var names []string
	for _, t := range l {
		names = append(names, t.Name)
	}
	return strings.Join(names, ",")
}

// chooseChips returns the chips from the options, or the widest one that this machine has, and
// writes their facts to the work folder.
func chooseChips(o *options, work string) (library, error) {
	var out library
	for i, name := range strings.Split(o.chip, ",") {
		facts, err := factsOf(name)
		if err != nil {
			return nil, err
		}
		t, err := target.Parse(facts)
		if err != nil {
			return nil, err
		}
		if err := os.WriteFile(chipFile(work, i), facts, 0o666); err != nil {
			return nil, err
		}
		out = append(out, t)
	}
	return out, nil
}

// chipFile has the facts of a chip, by its number in the library.
func chipFile(work string, i int) string {
	if i == 0 {
		return work + "/chip.json"
	}
	return fmt.Sprintf("%s/chip%d.json", work, i)
}

// variantFolder returns the folder of a later chip's kernels.
func variantFolder(work string, i int) string { return fmt.Sprintf("%s/kernels%d", work, i) }

// variantOptions returns dnnc's options for the chips after the first.
func (l library) variantOptions(work string) []string {
	var out []string
	for i := 1; i < len(l); i++ {
		out = append(out, "--variant="+chipFile(work, i), "--out-variant="+variantFolder(work, i))
	}
	return out
}

// factsOf returns the facts of a chip by its name or file. By default it returns the widest level
// that this machine runs. Among levels of equal width, it takes the one with the most features.
func factsOf(chip string) ([]byte, error) {
	if chip != "" {
		return chips.Facts(nameOrPath(chip))
	}
	all, err := chips.All()
	if err != nil {
		return nil, err
	}
	variant := map[string]bool{}
	for _, c := range all {
		for _, name := range c.Variants {
			variant[name] = true
		}
	}
	var best *target.Target
	var facts []byte
	for _, c := range all {
		t, err := target.Parse(c.Facts)
		if err != nil {
			return nil, err
		}
		better := best == nil || t.VectorBits > best.VectorBits || t.VectorBits == best.VectorBits && variant[c.Name] && len(t.CPUFeatures) > len(best.CPUFeatures)
		if better && runsHere(t) {
			best, facts = t, c.Facts
		}
	}
	if best == nil {
		return nil, fmt.Errorf("no chip of %s is this machine's; name one, or a JSON file of facts, with --chip", chips.File)
	}
	return facts, nil
}

// nameOrPath returns the name of a chip or a device as it is, and where the path of a file of facts
// leads.
func nameOrPath(text string) string {
	if chips.IsPath(text) {
		return command.Path(text)
	}
	return text
}

// runsHere reports whether this machine's processor has a chip's features, if Linux lists them.
func runsHere(t *target.Target) bool { return hostcpu.Runs(t.GOARCH(), t.CPUFeatures...) }

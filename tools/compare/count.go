package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"rules_dnn/gen/emit/manifest"
	"rules_dnn/tools/a64count"
	"rules_dnn/tools/command"
)

// counter counts what the program executes.
type counter struct {
	*a64count.Counter
	blocks map[string][]string // of each kernel
	work   string
	json   string // file for the counts; "": none
	code   string // digest
}

// checkCount refuses what cannot be counted.
func (o *options) checkCount(chips library) error {
	switch {
	case !o.count && o.countJSON != "":
		return fmt.Errorf("--count-json=%s: want --count", o.countJSON)
	case o.countJSON == "" && o.countedCode != "":
		return fmt.Errorf("--counted=%s: want --count-json", o.countedCode)
	case !o.count:
		return nil
	case chips[0].Bare():
		return fmt.Errorf("--count: only programs for 64-bit ARM are counted, and %s is a DSP; --executed counts its packets", chips)
	case o.emulator == "":
		return errors.New("--count: want --emulator, whose plugins count, as in --emulator qemu-aarch64")
	case o.threads != 1:
		return fmt.Errorf("--count: want one thread, found --threads=%d", o.threads)
	case o.rounds > 0 || o.peers != nil || o.tune != "":
		return errors.New("--count: an emulator's times mean nothing: leave out --rounds, --peers and --tune")
	}
	return nil
}

// countExecuted adds QEMU's plugin to the program's command.
func (p *program) countExecuted(o *options, chips library, work string) error {
	m, err := readManifest(work)
	if err != nil {
		return err
	}
	p.counter = &counter{blocks: blocksOf(m), work: work, json: command.Path(o.countJSON)}
	if p.counter.code, err = codeDigest(o, chips, work); err != nil {
		return err
	}
	var words []string
	p.counter.Counter, words, err = a64count.New(work, work+"/program", strings.Fields(o.emulator))
	p.command = append(words, "--weights="+work+"/model.weights")
	return err
}

// blocksOf returns the nodes of the blocks of each kernel, also of kernels that only one variant
// has.
func blocksOf(m *manifest.Manifest) map[string][]string {
	blocks := map[string][]string{}
	for i, b := range m.Blocks {
		kernels := []string{b.Kernel}
		for _, v := range m.Variants {
			if i < len(v.Kernels) && !slices.Contains(kernels, v.Kernels[i]) {
				kernels = append(kernels, v.Kernels[i])
			}
		}
		for _, k := range kernels {
			blocks[k] = append(blocks[k], strings.Join(b.Nodes, ", "))
		}
	}
	return blocks
}

// report prints what the last run executed, in all and by kernel, and writes it to the file of
// --count-json. Without --count, c is nil, and it prints nothing.
func (c *counter) report(out io.Writer) error {
	if c == nil {
		return nil
	}
	functions, err := c.LastRun(func(name string) bool { return c.blocks[name] != nil })
	if err != nil {
		return err
	}
	if err := c.print(out, functions); err != nil || c.json == "" {
		return err
	}
	return c.write(functions)
}

func (c *counter) print(out io.Writer, functions []a64count.Function) error {
	var all a64count.Counts
	for _, f := range functions {
		all.Add(f.Counts, 1)
	}
	fmt.Fprintf(out, "executed %s M instructions (%s with one register for each load and store), %s M multiply-adds, %s M loads, %s M stores\n",
		millions(all.Instructions), millions(all.Spread), millions(all.MultiplyAdds), millions(all.Loads), millions(all.Stores))
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "M instructions\t%\tmultiply-adds\tloads\tstores\t  function, its blocks")
	var rest a64count.Counts
	for _, f := range functions {
		if c.blocks[f.Name] == nil && float64(f.Instructions) < leastShare*float64(all.Instructions) {
			rest.Add(f.Counts, 1)
			continue
		}
		printCounts(w, f.Counts, all, strings.Join(append([]string{f.Name}, c.blocks[f.Name]...), "; "))
	}
	printCounts(w, rest, all, "other functions")
	return w.Flush()
}

// leastShare is the share of all instructions from which a function other than a kernel has a line.
const leastShare = 1e-3

func printCounts(w io.Writer, c, all a64count.Counts, name string) {
	share := 100 * float64(c.Instructions) / float64(all.Instructions)
	fmt.Fprintf(w, "%s\t%.2f\t%s\t%s\t%s\t  %s\n", millions(c.Instructions), share, millions(c.MultiplyAdds), millions(c.Loads), millions(c.Stores), name)
}

func millions(n int64) string { return fmt.Sprintf("%.3f", float64(n)/1e6) }

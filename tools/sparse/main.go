// Command sparse measures what pruned convolutions of 3x3 gain: VGG-16's layers at 224x224, of
// random weights.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strconv"
	"strings"

	"rules_dnn/tools/command"
)

const usage = `sparse compiles VGG-16's convolutions of 224x224 images with random weights, dense and pruned, and prints their times: the minimum of several
rounds, in which all programs of a layer take turns. It compares the results of all programs with the same weights.

usage: sparse [options], from the repository's root
  go run ./tools/sparse [options]

examples, for [options]:
  --chip x86_64_zen4                             the nine layers, patterns of each filter, and shared by 16, 8 and 4
  --only L6 --share 1 --ablation                 also without shared loads, and so on
  --patterns 6,8,12 --share 1                    numbers of patterns
  --only network --share 1,16 --threads 1,2      how two threads share the work
  --only network --share 1 --precision fp32,fp16,bf16    also stored in 16 bits, with the bytes of weights
  --tasks                                        only print the tasks of the network's layers
  --structure                                    only print the bytes of FKW and of CSR
  --only network --share 1,16 --chip arm64 \
    --cxx "aarch64-linux-gnu-g++ -static" --emulator "qemu-aarch64 -cpu max"
                                          count instructions

The share of the peak counts multiply-adds of the remaining weights.
With --emulator, it is their share of the instructions.

options:
`

type options struct {
	chip, cxx      string
	emulator       []string // counts; empty: programs are timed
	only           *regexp.Regexp
	patterns       []int
	shares         []int
	connectivity   float64
	rounds         int
	seconds        float64
	threads        []int
	precisions     []string
	ablation, sums bool
	tasksOnly      bool
	keep           string
}

func main() {
	o, err := parse(os.Args[1:], os.Stderr)
	if err == nil {
		err = command.EnterRepository(&o.keep)
	}
	if err == nil && o.sums {
		err = structure(o.patterns[0], os.Stdout)
	} else if err == nil && o.tasksOnly {
		err = o.tasks(os.Stdout)
	} else if err == nil {
		err = o.run(os.Stdout)
	}
	command.Exit("sparse", err)
}

func parse(args []string, help io.Writer) (*options, error) {
	o := &options{}
	fs := command.Options("sparse")
	only := fs.String("only", "", "regular expression of names: L1 to L9, and \"the network\" of all of them; all by default")
	patterns := fs.String("patterns", "8", "number of patterns; several with commas between")
	shares := fs.String("share", "1,16,8,4", "number of consecutive filters with the same kernels; several with commas between")
	fs.StringVar(&o.chip, "chip", "x86_64_v4", "the chip: one of platforms/chips/chips.bzl")
	fs.StringVar(&o.cxx, "cxx", "clang++", "the C++ compiler")
	emulator := fs.String("emulator", "", "for a chip of 64-bit ARM: a QEMU with plugins, and its options. Count millions of instructions of a run in place of milliseconds, with one register for each load and store (--cxx links with -static)")
	fs.Float64Var(&o.connectivity, "connectivity", 3.6, "N: 1 of N kernels is kept, except in the first layer")
	fs.IntVar(&o.rounds, "rounds", 7, "number of rounds; the minimum time counts")
	fs.Float64Var(&o.seconds, "seconds", 0.2, "seconds of a program in a round")
	threads := fs.String("threads", "1", "number of threads; several with commas between")
	precisions := fs.String("precision", "fp32", "types in which pruned networks are stored: fp32, fp16, bf16; several with commas between")
	fs.BoolVar(&o.ablation, "ablation", false, "also PatDNN's Figure 2.13 of own patterns: with kernels as they were given and a branch on the pattern of each; reordered; with the loads that rows share, as ever; with kernels that are measured, not estimated. And with poolings that are computed by themselves, of the network")
	fs.BoolVar(&o.sums, "structure", false, "print bytes of FKW's and CSR's structure instead")
	fs.BoolVar(&o.tasksOnly, "tasks", false, "print how many tasks the network's layers have, of own patterns, and how even they are, instead")
	fs.StringVar(&o.keep, "keep", "", "folder that keeps programs")
	err := command.Parse(fs, args, usage, help)
	if err != nil {
		return nil, err
	}
	if fs.NArg() > 0 {
		return nil, fmt.Errorf("%s: there are only options", fs.Arg(0))
	}
	if o.only, err = regexp.Compile(*only); err != nil {
		return nil, fmt.Errorf("--only: %w", err)
	}
	if o.patterns, err = numbers("patterns", *patterns); err != nil {
		return nil, err
	}
	if o.shares, err = numbers("share", *shares); err != nil {
		return nil, err
	}
	if o.threads, err = numbers("threads", *threads); err != nil {
		return nil, err
	}
	for _, s := range strings.Split(*precisions, ",") {
		if _, known := mostError[s]; !known {
			return nil, fmt.Errorf("--precision %s: want fp32, fp16 or bf16, with commas between", s)
		}
		o.precisions = append(o.precisions, s)
	}
	if o.emulator = strings.Fields(*emulator); len(o.emulator) > 0 && (*threads != "1" || o.ablation) {
		return nil, errors.New("--emulator: want one thread and no --ablation, which measures times")
	}
	if o.rounds < 1 || !(o.seconds > 0) || !(o.connectivity >= 1) {
		return nil, errors.New("--rounds, --seconds and --connectivity: want 1 round or more, some time, and a connectivity of 1 or more")
	}
	if len(o.emulator) > 0 { // all runs execute the same instructions
		o.rounds = 1
	}
	return o, nil
}

// numbers parses whole numbers of at least 1 with commas between.
func numbers(option, text string) ([]int, error) {
	var out []int
	for _, s := range strings.Split(text, ",") {
		n, err := strconv.Atoi(s)
		if err != nil || n < 1 {
			return nil, fmt.Errorf("--%s %s: want numbers of 1 and more, with commas between", option, text)
		}
		out = append(out, n)
	}
	return out, nil
}

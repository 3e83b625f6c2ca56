// Command shares measures which share of the processor's peak products of matrices reach.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"rules_dnn/tools/command"
	"rules_dnn/tools/internal/build"
)

const usage = `shares compiles products of two computed matrices for chips whose instructions this machine has, runs each, and prints its share of
the peak: its operations per second, divided by those of float32 multiply-adds in registers in the same process. It uses the
minimum of the times, to leave out other work of the machine. For bytes, the share of float32's peak may exceed 100 %. The last
column is their speed relative to float32 of the same size on the same chip.

usage: go run ./tools/shares [options]             from the repository's root

options:
`

// options holds the command line.
type options struct {
	chips, only, cxx, keep string
	seconds                float64
}

func main() {
	command.Exit("shares", run(os.Args[1:]))
}

func run(args []string) error {
	o := &options{}
	fs := command.Options("shares")
	fs.StringVar(&o.chips, "chips", "x86_64_v3,x86_64_v4,x86_64_v4_vnni,x86_64_zen4", "chips of platforms/chips/chips.bzl, with commas between")
	fs.StringVar(&o.only, "only", "", "regular expression of the products, such as f32_512")
	fs.StringVar(&o.cxx, "cxx", "g++", "the C++ compiler and its options")
	fs.StringVar(&o.keep, "keep", "", "folder that keeps all generated files")
	fs.Float64Var(&o.seconds, "seconds", 0.5, "minimum time of each run")
	if err := command.Parse(fs, args, usage, os.Stderr); err != nil {
		return err
	}
	only, err := regexp.Compile(o.only)
	switch {
	case err != nil:
		return fmt.Errorf("--only=%s: %w", o.only, err)
	case fs.NArg() > 0:
		return fmt.Errorf("found %q after the options; --help shows what there is", fs.Arg(0))
	}
	if err := command.EnterRepository(&o.keep); err != nil {
		return err
	}
	work := o.keep
	if work == "" {
		if work, err = os.MkdirTemp("", "shares"); err != nil {
			return err
		}
		defer os.RemoveAll(work)
	}
	tools, err := build.NewTools(work, strings.Fields(o.cxx))
	if err != nil {
		return err
	}
	var t table
	for _, chip := range strings.Split(o.chips, ",") {
		for _, p := range products {
			if !only.MatchString(p.String()) {
				continue
			}
			m, err := tools.Model(filepath.Join(work, p.String()+"_"+chip), chip)
			if err != nil {
				return err
			}
			if !p.on(m.Chip) {
				continue
			}
			f, err := p.measure(m, o.seconds)
			if err != nil {
				return fmt.Errorf("%s for %s: %w", p, chip, err)
			}
			t.add(chip, p, f)
		}
	}
	fmt.Print(t.text())
	return nil
}

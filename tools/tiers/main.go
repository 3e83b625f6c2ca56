// Command tiers lists how long each test target took, from the event file of a Bazel test run.
//
// It fails if a target breaks a rule of docs/internals/testing.md: a shard takes at most five
// minutes, and its limit is at least five times what it takes on an idle machine.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"text/tabwriter"
	"time"
)

const usage = `Usage: go run ./tools/tiers [flags] EVENTS.json

tiers prints the duration of the longest shard, of all shards together, and the limit of each test
target, slowest first, and the rules that a target breaks. It fails if any is broken. A cached result
counts with the duration of the run that made it.

Example:
  ./bazelw test //... --build_event_json_file=/tmp/events.json
  go run ./tools/tiers /tmp/events.json

Flags:
`

func main() {
	var rules rules
	flag.Usage = func() {
		fmt.Fprint(flag.CommandLine.Output(), usage)
		flag.PrintDefaults()
	}
	flag.DurationVar(&rules.longest, "longest", 5*time.Minute, "how long a shard may take")
	flag.Float64Var(&rules.headroom, "headroom", 5, "how many times its duration the limit of a shard must be")
	first := flag.Int("first", 0, "print only this many targets; 0: all")
	flag.Parse()
	err := run(os.Stdout, flag.Args(), rules, *first)
	if err != nil {
		fmt.Fprintln(os.Stderr, "tiers:", err)
		os.Exit(1)
	}
}

func run(out io.Writer, args []string, rules rules, first int) error {
	if len(args) != 1 {
		return errors.New("name one event file, as --build_event_json_file of bazel test writes it; --help has an example")
	}
	f, err := os.Open(args[0])
	if err != nil {
		return err
	}
	defer f.Close()
	tests, err := read(f)
	if err != nil {
		return fmt.Errorf("%s: %w", args[0], err)
	}
	if len(tests) == 0 {
		return fmt.Errorf("%s: no test results: run bazel test, and not bazel build", args[0])
	}
	return report(out, tests, rules, first)
}

// report prints the table. It returns an error if a target breaks a rule.
func report(out io.Writer, tests []test, rules rules, first int) error {
	var all time.Duration
	for _, t := range tests {
		all += t.total
	}
	fmt.Fprintf(out, "%d targets, %s of test time\n", len(tests), all.Round(time.Second))
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "longest shard\tshards\ttogether\tlimit\t  target")
	broken := 0
	for i, t := range tests {
		faults := rules.broken(t)
		broken += len(faults)
		if first > 0 && i >= first && len(faults) == 0 {
			continue
		}
		fmt.Fprintf(w, "%s\t%d\t%s\t%s\t  %s\n", seconds(t.longest), t.shards, seconds(t.total), seconds(t.limit), t.label)
		for _, fault := range faults {
			fmt.Fprintf(w, "\t\t\t\t    %s\n", fault)
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if broken > 0 {
		return fmt.Errorf("%d rules are broken; if the machine was idle, shard the test, or set its size or timeout", broken)
	}
	return nil
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.1f s", d.Seconds()) }

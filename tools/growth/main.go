// Command growth measures how the time and the memory of dnnc grow with a network: for each shape
// of network and each size it runs both of the compiler's actions, and prints a table and a plot.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"

	"rules_dnn/tools/command"
	"rules_dnn/tools/internal/build"
)

const usage = `growth measures how the time and the memory of dnnc grow with a network.

usage: growth [options], from the repository's root
  go run ./tools/growth [options]

examples, for [options]:
  --nodes 1000,10000,100000 --html growth.html   a table, and a plot of all shapes
  --only 'chain|where'                           two shapes
  --nodes 100000 --most-seconds 20 --most-mb 1000
                                                 fail if one needs more
  --models FOLDER                                a row for each NETWORK.onnx of a folder
  --models FOLDER --beside OTHER_DNNC --runs 3   compare with another compiler, such as an earlier commit's; the minimum of three runs

Time is processor time of 'dnnc graph' plus 'dnnc compile'; memory is the maximum of the two.

options:
`

type options struct {
	nodes       []int
	only        *regexp.Regexp
	html, chip  string
	folder      string // of networks
	beside      string // another compiler
	runs        int
	dnnc, keep  string
	mostSeconds float64
	mostMB      float64
	limit       time.Duration
}

func main() {
	o, err := parse(os.Args[1:], os.Stderr)
	if err == nil {
		err = command.EnterRepository(&o.html, &o.keep, &o.folder, &o.beside, &o.dnnc)
	}
	if err == nil {
		err = o.run(os.Stdout)
	}
	command.Exit("growth", err)
}

func parse(args []string, help io.Writer) (*options, error) {
	o := &options{}
	fs := command.Options("growth")
	nodes := fs.String("nodes", "1000,10000,100000", "numbers of nodes (of operands, in shapes that test operands)")
	only := fs.String("only", "", "regular expression of the shapes' names; all by default")
	fs.StringVar(&o.html, "html", "", "file for a page with the plot")
	fs.StringVar(&o.chip, "chip", "x86_64_v3", "the chip: one of platforms/chips/chips.bzl, or a `FILE.json` of facts")
	fs.StringVar(&o.dnnc, "dnnc", "", "the compiler; by default it is built by the machine's Go")
	fs.StringVar(&o.keep, "keep", "", "folder that keeps the last network and its outputs")
	fs.Float64Var(&o.mostSeconds, "most-seconds", 0, "fail if a network needs more; 0: never")
	fs.Float64Var(&o.mostMB, "most-mb", 0, "fail if a network needs more memory; 0: never")
	fs.StringVar(&o.folder, "models", "", "`FOLDER` of ONNX networks, instead of shapes; removed weights are filled in")
	fs.StringVar(&o.beside, "beside", "", "with --models: another `DNNC`")
	fs.IntVar(&o.runs, "runs", 1, "with --models: number of compilations of each network; the minimum counts")
	fs.DurationVar(&o.limit, "limit", 10*time.Minute, "end a run that takes longer by the clock")
	err := command.Parse(fs, args, usage, help)
	if err != nil {
		return nil, err
	}
	if fs.NArg() > 0 {
		return nil, fmt.Errorf("unexpected argument %q", fs.Arg(0))
	}
	if o.folder == "" && (o.beside != "" || o.runs != 1) || o.folder != "" && o.html != "" || o.runs < 1 {
		return nil, errors.New("--beside and --runs, of 1 at least, go with --models, and --html with shapes")
	}
	if o.only, err = regexp.Compile(*only); err != nil {
		return nil, fmt.Errorf("--only: %w", err)
	}
	for _, s := range strings.Split(*nodes, ",") {
		n, err := strconv.Atoi(s)
		if err != nil || n < 1 {
			return nil, fmt.Errorf("--nodes: %q is not a number of nodes", s)
		}
		o.nodes = append(o.nodes, n)
	}
	return o, nil
}

// scratch returns the folder for networks and their outputs.
func (o *options) scratch() (string, error) {
	if o.keep != "" {
		return o.keep, os.MkdirAll(o.keep, 0o777)
	}
	return os.MkdirTemp("", "growth")
}

func (o *options) run(out io.Writer) error {
	folder, err := o.scratch()
	if err != nil {
		return err
	}
	if o.keep == "" {
		defer os.RemoveAll(folder)
	}
	if o.dnnc == "" {
		if o.dnnc, err = build.Dnnc(".", folder); err != nil {
			return err
		}
	}
	if o.folder != "" {
		return o.models(out, folder)
	}
	fmt.Fprintln(out, "| shape | n | seconds | MB | slowest pass | its seconds |\n| --- | --- | --- | --- | --- | --- |")
	var points []point
	var over []string
	for _, s := range shapes {
		if !o.only.MatchString(s.name) {
			continue
		}
		for _, n := range o.nodes {
			p, err := o.measure(folder, s, n)
			if err != nil {
				fmt.Fprintf(out, "| %s | %d | %v | | | |\n", s.name, n, err)
				over = append(over, fmt.Sprintf("%s of %d: %v", s.name, n, err))
				break // a larger one will not do either
			}
			fmt.Fprintf(out, "| %s | %d | %.2f | %.0f | %s | %.2f |\n", s.name, n, p.seconds, p.mb, p.pass, p.passSeconds)
			points = append(points, p)
			if o.exceeds(p) {
				over = append(over, fmt.Sprintf("%s of %d takes %.1f s and %.0f MB", s.name, n, p.seconds, p.mb))
			}
		}
	}
	if o.html != "" {
		if err := os.WriteFile(o.html, []byte(page(points)), 0o666); err != nil {
			return err
		}
	}
	if len(over) > 0 {
		return errors.New(strings.Join(over, "\n  "))
	}
	return nil
}

package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"rules_dnn/gen/base/files"
	"rules_dnn/gen/onnx"
	"rules_dnn/gen/pipeline"
	"rules_dnn/gen/program/plan"
)

// list is a flag that may be given several times.
type list []string

func (l *list) String() string     { return strings.Join(*l, ",") }
func (l *list) Set(s string) error { *l = append(*l, s); return nil }

// command is a set of flags with what --help says before them.
type command struct {
	*flag.FlagSet
	doc      string
	required []string
}

func newCommand(name, doc string, required ...string) *command {
	fs := flag.NewFlagSet(name, flag.ContinueOnError)
	fs.SetOutput(io.Discard) // errors are main's to print, and help is ours
	return &command{fs, doc, required}
}

// parse reads flags and refuses other arguments and missing ones. Asked for help, it
// prints it and gives flag.ErrHelp.
func (c *command) parse(args []string, out io.Writer) error {
	err := c.Parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		c.help(out)
		return err
	case err != nil:
		return c.hint("%w", err)
	case c.NArg() > 0:
		return c.hint("unexpected argument %q", c.Arg(0))
	}
	for _, r := range c.required {
		if f := c.Lookup(r); f.Value.String() == "" {
			_, doc := flag.UnquoteUsage(f)
			return c.hint("--%s is missing (%s)", r, doc)
		}
	}
	return nil
}

func (c *command) hint(format string, args ...any) error {
	return fmt.Errorf("%w; '%s --help' lists the options", fmt.Errorf(format, args...), c.Name())
}

func (c *command) help(out io.Writer) {
	fmt.Fprintf(out, "%s\nOptions:\n", c.doc)
	c.VisitAll(func(f *flag.Flag) {
		arg, doc := flag.UnquoteUsage(f)
		if arg != "" {
			arg = "=" + arg
		}
		note := ""
		for _, r := range c.required {
			if r == f.Name {
				note = " (required)"
			}
		}
		if f.DefValue != "" && f.DefValue != "false" {
			note = fmt.Sprintf(" (default %s)", f.DefValue)
		}
		fmt.Fprintf(out, "  --%s%s\n      %s%s\n", f.Name, arg, doc, note)
	})
}

// passFlags are the flags that every command with passes has.
type passFlags struct {
	disable, dump, stopAfter, dumpDir string
	seed                              string // of dnnc graph: one list of options serves both commands
	time                              bool
}

func (p *passFlags) register(fs *flag.FlagSet) {
	fs.StringVar(&p.disable, "disable", "", "`NAMES` of passes or parts to switch off, separated by commas ('dnnc passes' lists them)")
	fs.StringVar(&p.dump, "dump", "", "`PASSES` after which the state is written to --dump-dir, or 'all'")
	fs.StringVar(&p.dumpDir, "dump-dir", "", "`FOLDER` of the dumps")
	fs.StringVar(&p.stopAfter, "stop-after", "", "`PASS` after which dnnc stops without output")
	fs.StringVar(&p.seed, "seed", "0", "`NUMBER`: the seed of random nodes without one, so each run draws the same numbers; or 'input': the network gets an input, seed, and each run passes its own")
	fs.BoolVar(&p.time, "time", false, "print each pass's time and the peak memory use to standard error")
}

// plan notes what the passes write.
func (p *passFlags) plan(to *files.Plan) {
	if p.dumpDir != "" {
		to.Folder("--dump-dir="+p.dumpDir, p.dumpDir, dumpNames)
	}
}

func (p *passFlags) options(log io.Writer) (pipeline.Options, error) {
	o := pipeline.Options{Disable: split(p.disable), Dump: split(p.dump), StopAfter: p.stopAfter}
	if p.time {
		o.Time = log
	}
	if err := o.Check(); err != nil {
		return o, err
	}
	if _, err := onnx.ParseSeed(p.seed); err != nil {
		return o, err
	}
	if len(o.Dump) == 0 {
		return o, nil
	}
	if p.dumpDir == "" {
		return o, fmt.Errorf("--dump needs --dump-dir")
	}
	o.Emit = func(n int, pass, text string) error {
		return files.Write(filepath.Join(p.dumpDir, fmt.Sprintf("%02d-%s.txt", n, pass)), []byte(text))
	}
	// Even where no pass of this command is dumped: the rules declare the folder.
	return o, os.MkdirAll(p.dumpDir, 0o777)
}

// warnFlags are what becomes of warnings.
type warnFlags struct {
	mode   string
	accept list
}

// Modes of --warnings.
const (
	printWarnings = "print"
	errorWarnings = "error"
	noWarnings    = "none"
)

func (w *warnFlags) register(fs *flag.FlagSet) {
	fs.StringVar(&w.mode, "warnings", printWarnings, "`MODE` of warnings about what makes the model slow or large and can be mended: print, to standard error; error, fail; none. The manifest always lists them")
	w.registerAccept(fs)
}

func (w *warnFlags) registerAccept(fs *flag.FlagSet) {
	fs.Var(&w.accept, "accept", "`KIND` of dnnc compile's warnings to leave out, "+strings.Join(pipeline.WarningKinds, " or ")+"; may be repeated")
}

func (w *warnFlags) check() error {
	if modes := []string{printWarnings, errorWarnings, noWarnings}; !slices.Contains(modes, w.mode) {
		return fmt.Errorf("--warnings=%s: want one of %s", w.mode, strings.Join(modes, ", "))
	}
	for _, kind := range w.accept {
		if !slices.Contains(pipeline.WarningKinds, kind) {
			return fmt.Errorf("--accept=%s: want one of %s", kind, strings.Join(pipeline.WarningKinds, ", "))
		}
	}
	return nil
}

// lines are the warnings to print, a line each; where warnings are errors they are one.
func (w *warnFlags) lines(src string, warnings []plan.Warning) (told []string, err error) {
	for _, x := range warnings {
		line := fmt.Sprintf("%s: warning (%s): %s", src, x.Kind, x.Text)
		if !slices.Contains(w.accept, x.Kind) && !slices.Contains(told, line) {
			told = append(told, line)
		}
	}
	switch {
	case w.mode == noWarnings || len(told) == 0:
		return nil, nil
	case w.mode == errorWarnings:
		return nil, fmt.Errorf("%s\nwarnings are errors here (--warnings=error): mend their causes, or accept them with --accept=KIND", strings.Join(told, "\n"))
	}
	return told, nil
}

// reportMemory tells the most memory that the process had, where the system says so (Linux).
func (p *passFlags) reportMemory(log io.Writer) {
	status, err := os.ReadFile("/proc/self/status")
	if m := peak.FindSubmatch(status); p.time && err == nil && m != nil {
		fmt.Fprintf(log, "memory %8s kB\n", m[1])
	}
}

var peak = regexp.MustCompile(`VmHWM:\s+([0-9]+) kB`)

func split(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(s, ",")
}

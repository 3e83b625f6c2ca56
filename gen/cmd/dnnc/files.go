package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/pipeline"
)

// openFile opens a file that constants are read from; it stays open while dnnc runs.
func openFile(path, name string) (*ir.File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	return &ir.File{Name: name, R: f, Size: st.Size()}, nil
}

// openExternal opens the declared files of external data, given as LOCATION=PATH.
func openExternal(pairs []string) (map[string]*ir.File, error) {
	out := map[string]*ir.File{}
	for _, p := range pairs {
		location, path, ok := strings.Cut(p, "=")
		if !ok || location == "" {
			return nil, fmt.Errorf("--external=%s: want LOCATION=PATH", p)
		}
		f, err := openFile(path, location)
		if err != nil {
			return nil, err
		}
		out[location] = f
	}
	return out, nil
}

// passFlags are the flags that every command with passes has.
type passFlags struct {
	disable, dump, stopAfter, dumpDir string
	time                              bool
}

func (p *passFlags) register(fs *flag.FlagSet) {
	fs.StringVar(&p.disable, "disable", "", "passes or parts to switch off, separated by commas (see 'dnnc passes')")
	fs.StringVar(&p.dump, "dump", "", "passes after which the state is written to --dump-dir, or 'all'")
	fs.StringVar(&p.dumpDir, "dump-dir", "", "folder of the dumps")
	fs.StringVar(&p.stopAfter, "stop-after", "", "pass after which dnnc stops without output")
	fs.BoolVar(&p.time, "time", false, "print each pass's time to standard error")
}

func (p *passFlags) options() (pipeline.Options, error) {
	o := pipeline.Options{Disable: split(p.disable), Dump: split(p.dump), StopAfter: p.stopAfter}
	if p.time {
		o.Time = os.Stderr
	}
	if len(o.Dump) > 0 && p.dumpDir == "" {
		return o, fmt.Errorf("--dump needs --dump-dir")
	}
	o.Emit = func(n int, pass, text string) error {
		if err := os.MkdirAll(p.dumpDir, 0o777); err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(p.dumpDir, fmt.Sprintf("%02d-%s.txt", n, pass)), []byte(text), 0o666)
	}
	return o, nil
}

func split(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(s, ",")
}

// parse reads flags and refuses other arguments and missing ones.
func parse(fs *flag.FlagSet, args []string, required ...string) error {
	if err := fs.Parse(args); err != nil {
		return err
	}
	if fs.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", fs.Arg(0))
	}
	for _, r := range required {
		if f := fs.Lookup(r); f.Value.String() == "" {
			return fmt.Errorf("--%s is missing (%s)", r, f.Usage)
		}
	}
	return nil
}

// Package command is the command line of training and pruning: `dnntrain`, and `dnnc train`.
package command

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"rules_dnn/gen/base/jsonfile"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/training/train"
	"rules_dnn/gen/training/trainer"
)

// Usage is what the commands are.
const Usage = `  FOLDER                            the built-in trainer: runs the job in a folder (docs/trainers.md)
  fit -model=M -data=D ...          trains a network
  admm -model=M -data=D ...         prunes a network with ADMM
  update -plan=P ...                the same for the rule dnn_prune, and writes its files
  check -model=M -data=D -- T...    checks that the trainer T follows the protocol

All commands but the first take -help, and a trainer's command after --; the default is the built-in trainer.
`

// Run runs a command. What it tells goes to out.
func Run(args []string, out io.Writer) error {
	commands := map[string]func(*common, []string) error{"fit": fit, "admm": runADMM, "update": update, "check": check}
	if len(args) == 0 {
		return fmt.Errorf("no command; want one of\n\n%s", Usage)
	}
	if slices.Contains([]string{"help", "-h", "-help", "--help"}, args[0]) {
		_, err := io.WriteString(out, Usage)
		return err
	}
	if command := commands[args[0]]; command != nil {
		c := newCommon(args[0], out)
		defer c.close()
		return command(c, args[1:])
	}
	if len(args) != 1 || strings.HasPrefix(args[0], "-") {
		return fmt.Errorf("%q is not a command; want one of\n\n%s", args[0], Usage)
	}
	return trainer.Serve(args[0], out)
}

// common are the flags that all commands have.
type common struct {
	*flag.FlagSet
	out                 io.Writer
	model, data, folder string
	images              list
	workers             int
	quiet               bool
	temporary           string
}

// list is an option that may be repeated.
type list []string

func (l *list) String() string     { return strings.Join(*l, " ") }
func (l *list) Set(s string) error { *l = append(*l, s); return nil }

func newCommon(name string, out io.Writer) *common {
	c := &common{FlagSet: flag.NewFlagSet(name, flag.ContinueOnError), out: out}
	c.StringVar(&c.model, "model", "", "the ONNX model")
	c.StringVar(&c.data, "data", "", "a JSON file that lists the images, as in docs/trainers.md; its paths are relative to it")
	c.Var(&c.images, "image", "`NAME=PATH` of a file in the data that is at another path; may be repeated")
	c.StringVar(&c.folder, "folder", "", "folder where jobs run; a second run continues them. Default: a folder that is removed at the end")
	c.IntVar(&c.workers, "workers", 0, "number of threads; 0: the number of processors")
	c.BoolVar(&c.quiet, "quiet", false, "print only the result")
	return c
}

// log gets what training tells.
func (c *common) log() io.Writer {
	if c.quiet {
		return io.Discard
	}
	return c.out
}

// close removes the folder that nobody asked for.
func (c *common) close() {
	if c.temporary != "" {
		os.RemoveAll(c.temporary)
	}
}

func (c *common) patience() *time.Duration {
	return c.Duration("patience", time.Hour, "maximum time in which a trainer prints nothing")
}

// in is a path that is given, or a name in the folder, unless that goes.
func (c *common) in(path, name, option string) (string, error) {
	if path != "" {
		return path, nil
	}
	if c.temporary != "" {
		return "", fmt.Errorf("want %s, or -folder", option)
	}
	return filepath.Join(c.folder, name), nil
}

// request is what all jobs share, and the network.
func (c *common) request() (trainer.Request, *train.Network, error) {
	var r trainer.Request
	if c.model == "" || c.data == "" {
		return r, nil, errors.New("want -model and -data")
	}
	if err := c.openFolder(); err != nil {
		return r, nil, err
	}
	model, err := filepath.Abs(c.model)
	if err != nil {
		return r, nil, err
	}
	data, err := os.ReadFile(c.data)
	if err != nil {
		return r, nil, err
	}
	if data, err = c.absolute(data); err != nil {
		return r, nil, fmt.Errorf("%s: %w", c.data, err)
	}
	file, err := readModel(model)
	if err != nil {
		return r, nil, err
	}
	n, err := train.New(file, nil, nil)
	if err != nil {
		return r, nil, fmt.Errorf("%s: %w", c.model, err)
	}
	return trainer.Request{Model: model, Data: data, Workers: c.workers}, n, nil
}

// openFolder makes a folder where none is given.
func (c *common) openFolder() error {
	if c.folder != "" {
		return nil
	}
	var err error
	c.temporary, err = os.MkdirTemp("", "rules_dnn-train-")
	c.folder = c.temporary
	return err
}

func readModel(path string) (*ir.File, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return &ir.File{R: bytes.NewReader(b), Size: int64(len(b))}, nil
}

// absolute makes the paths of "train" and "test" absolute: trainers run in other folders.
func (c *common) absolute(data []byte) ([]byte, error) {
	elsewhere := map[string]string{}
	for _, x := range c.images {
		name, path, ok := strings.Cut(x, "=")
		if !ok || name == "" || path == "" {
			return nil, fmt.Errorf("-image=%s: want NAME=PATH", x)
		}
		elsewhere[name] = path
	}
	var all map[string]any
	if err := json.Unmarshal(data, &all); err != nil {
		return nil, err
	}
	for _, set := range []string{"train", "test"} {
		files, _ := all[set].([]any)
		for i, f := range files {
			name, ok := f.(string)
			if !ok {
				return nil, fmt.Errorf("%s: want names of files", set)
			}
			path := filepath.Join(filepath.Dir(c.data), name)
			if there := elsewhere[name]; there != "" {
				path = there
			} else if filepath.IsAbs(name) {
				path = name
			}
			var err error
			if files[i], err = filepath.Abs(path); err != nil {
				return nil, err
			}
		}
	}
	return json.Marshal(all)
}

// argument is an argument itself, or the content of the file that it names by @FILE.
func argument(text string) (string, error) {
	name, ok := strings.CutPrefix(text, "@")
	if !ok {
		return text, nil
	}
	b, err := os.ReadFile(name)
	return string(b), err
}

// settings reads settings of training, or the file that has them, over the defaults.
func settings(text string, to any) error {
	text, err := argument(text)
	if err != nil {
		return err
	}
	return jsonfile.Parse([]byte(text), to)
}

// fit trains a network, and writes it with its weights.
func fit(c *common, args []string) error {
	text := c.String("settings", "{}", "JSON: epochs, batch, learning_rate, ... as in docs/trainers.md; or @FILE that contains it")
	out := c.String("out", "", "where the trained ONNX model goes; default: trained.onnx in the folder")
	patience := c.patience()
	if err := c.Parse(args); err != nil {
		return err
	}
	r, n, err := c.request()
	if err != nil {
		return err
	}
	path, err := c.in(*out, "trained.onnx", "-out")
	if err != nil {
		return err
	}
	write, err := newModelWriter(r.Model, n)
	if err != nil {
		return err
	}
	j := &trainer.Job{Request: r, Weights: trainer.Tensors(n)}
	j.Settings = train.Defaults()
	if err := settings(*text, &j.Settings); err != nil {
		return fmt.Errorf("-settings: %w", err)
	}
	// The job has a folder of its own: what is left there of another job is removed.
	a, err := pick(c.Args(), *patience, c.log()).Train(filepath.Join(c.folder, "fit"), j)
	if err != nil {
		return err
	}
	if err := write.model(path, a.Weights); err != nil {
		return err
	}
	fmt.Fprintf(c.out, "accuracy %.4f; the network is in %s\n", a.Metrics.Accuracy, path)
	return nil
}

// pick is the trainer that a command line names; the built-in one where it names none.
func pick(command []string, patience time.Duration, log io.Writer) trainer.Trainer {
	if len(command) == 0 {
		return &trainer.Builtin{Log: log}
	}
	return &trainer.Process{Command: command, Patience: patience, Log: log}
}

// check holds a trainer against the protocol.
func check(c *common, args []string) error {
	patience := c.patience()
	text := c.String("settings", "{}", "JSON: settings of training, as in docs/trainers.md; or @FILE that contains them")
	if err := c.Parse(args); err != nil {
		return err
	}
	if len(c.Args()) == 0 {
		return errors.New("want the trainer's command after --")
	}
	r, n, err := c.request()
	if err != nil {
		return err
	}
	s := train.Defaults()
	if err := settings(*text, &s); err != nil {
		return fmt.Errorf("-settings: %w", err)
	}
	kit := &trainer.Kit{
		Trainer: &trainer.Process{Command: c.Args(), Patience: *patience}, Folder: c.folder, Request: r, Weights: trainer.Tensors(n), Settings: s,
	}
	return kit.Run(c.out)
}

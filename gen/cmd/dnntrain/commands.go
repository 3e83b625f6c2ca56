package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"rules_dnn/gen/admm"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/onnx"
	"rules_dnn/gen/prune"
	"rules_dnn/gen/train"
	"rules_dnn/gen/trainer"
)

func run(args []string) error {
	commands := map[string]func([]string) error{"fit": fit, "admm": runADMM, "check": check}
	if len(args) == 0 {
		return errors.New("want a job's folder, or fit, admm or check; docs/trainers.md describes them")
	}
	if command := commands[args[0]]; command != nil {
		return command(args[1:])
	}
	if len(args) != 1 {
		return fmt.Errorf("%q is no command; want a job's folder alone, or fit, admm or check", args[0])
	}
	return trainer.Serve(args[0], os.Stdout)
}

// common are the flags that all commands have.
type common struct {
	*flag.FlagSet
	model, data, folder string
	workers             int
}

func newCommon(name string) *common {
	c := &common{FlagSet: flag.NewFlagSet(name, flag.ContinueOnError)}
	c.StringVar(&c.model, "model", "", "the ONNX model")
	c.StringVar(&c.data, "data", "", "a JSON file that says which images, as docs/trainers.md describes; its paths are relative to it")
	c.StringVar(&c.folder, "folder", "", "where jobs are run; run again there, they go on")
	c.IntVar(&c.workers, "workers", 0, "threads; 0: as many as there are processors")
	return c
}

// request is what all jobs share, and the network.
func (c *common) request() (trainer.Request, *train.Network, error) {
	var r trainer.Request
	if c.model == "" || c.data == "" || c.folder == "" {
		return r, nil, errors.New("want -model, -data and -folder")
	}
	model, err := filepath.Abs(c.model)
	if err != nil {
		return r, nil, err
	}
	data, err := os.ReadFile(c.data)
	if err != nil {
		return r, nil, err
	}
	if data, err = absolute(data, filepath.Dir(c.data)); err != nil {
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

func readModel(path string) (*ir.File, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return &ir.File{R: bytes.NewReader(b), Size: int64(len(b))}, nil
}

// absolute makes the paths of "train" and "test" absolute: trainers run in other folders.
func absolute(data []byte, folder string) ([]byte, error) {
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
			if !filepath.IsAbs(name) {
				name = filepath.Join(folder, name)
			}
			path, err := filepath.Abs(name)
			if err != nil {
				return nil, err
			}
			files[i] = path
		}
	}
	return json.Marshal(all)
}

// settings reads settings of training over the defaults.
func settings(text string, to any) error {
	d := json.NewDecoder(bytes.NewReader([]byte(text)))
	d.DisallowUnknownFields()
	return d.Decode(to)
}

// fit trains a network by the built-in trainer, and writes its weights.
func fit(args []string) error {
	c := newCommon("fit")
	text := c.String("settings", "{}", "JSON: epochs, batch, learning_rate, ... as in docs/trainers.md")
	if err := c.Parse(args); err != nil {
		return err
	}
	r, n, err := c.request()
	if err != nil {
		return err
	}
	j := &trainer.Job{Request: r, Weights: trainer.Tensors(n)}
	j.Settings = train.Defaults()
	if err := settings(*text, &j.Settings); err != nil {
		return fmt.Errorf("-settings: %w", err)
	}
	a, err := (&trainer.Builtin{Log: os.Stdout}).Train(c.folder, j)
	if err != nil {
		return err
	}
	fmt.Printf("accuracy %.4f; the weights are in %s\n", a.Metrics.Accuracy, filepath.Join(c.folder, trainer.OutputFile))
	return nil
}

// runADMM prunes a network.
func runADMM(args []string) error {
	c := newCommon("admm")
	pruning := c.String("pruning", "{}", "JSON: what dnn_pruning says of patterns and connectivity")
	iterations := c.Int("iterations", 4, "iterations of ADMM")
	epochs := c.Int("epochs", 10, "epochs of each")
	retrain := c.Int("retrain", 40, "epochs of masked training at the end")
	tune := c.String("settings", "{}", "JSON: settings of training, as in docs/trainers.md")
	patience := c.Duration("patience", time.Hour, "for how long a trainer may print nothing")
	if err := c.Parse(args); err != nil {
		return err
	}
	request, n, err := c.request()
	if err != nil {
		return err
	}
	r := &admm.Run{Options: admm.Defaults(), Folder: c.folder, Request: request, Log: os.Stdout}
	r.Iterations, r.Epochs, r.Retrain = *iterations, *epochs, *retrain
	for _, to := range []*train.Settings{&r.Tune, &r.Options.Train} {
		if err := settings(*tune, to); err != nil {
			return fmt.Errorf("-settings: %w", err)
		}
	}
	r.Options.Train.Schedule = "constant"
	r.Trainer = pick(c.Args(), *patience, os.Stdout)
	if r.Layers, err = layers(request.Model, *pruning); err != nil {
		return err
	}
	out, err := r.Prune(trainer.Tensors(n))
	if err != nil {
		return err
	}
	return report(c.folder, out)
}

// pick is the trainer that a command line names; the built-in one where it names none.
func pick(command []string, patience time.Duration, log io.Writer) trainer.Trainer {
	if len(command) == 0 {
		return &trainer.Builtin{Log: log}
	}
	return &trainer.Process{Command: command, Patience: patience, Log: log}
}

// layers are the constraints of a model.
func layers(model, pruning string) ([]*admm.Layer, error) {
	o, err := prune.ParseOptions([]byte(pruning))
	if err != nil {
		return nil, fmt.Errorf("-pruning: %w", err)
	}
	file, err := readModel(model)
	if err != nil {
		return nil, err
	}
	g, err := onnx.Read(file, nil, onnx.Options{})
	if err != nil {
		return nil, err
	}
	all, _ := prune.Layers(g)
	plan, err := prune.Choose(all, o, nil)
	if err != nil {
		return nil, err
	}
	return admm.Layers(all, plan), nil
}

// report writes weights and the log.
func report(folder string, out *admm.Outcome) error {
	if err := trainer.WriteTensors(filepath.Join(folder, "pruned.safetensors"), out.Weights); err != nil {
		return err
	}
	log := struct {
		Before    train.Metrics   `json:"before"`
		Projected train.Metrics   `json:"projected"`
		After     train.Metrics   `json:"after"`
		Residuals []admm.Residual `json:"residuals"`
	}{out.Before, out.Projected, out.After, out.Residuals}
	text, err := json.MarshalIndent(log, "", "  ")
	if err != nil {
		return err
	}
	fmt.Printf("accuracy %.4f before, %.4f after\n", out.Before.Accuracy, out.After.Accuracy)
	return trainer.WriteFile(filepath.Join(folder, "log.json"), func(w io.Writer) error {
		_, err := w.Write(append(text, '\n'))
		return err
	})
}

// check holds a trainer against the protocol.
func check(args []string) error {
	c := newCommon("check")
	patience := c.Duration("patience", time.Hour, "for how long the trainer may print nothing")
	text := c.String("settings", "{}", "JSON: settings of training, as in docs/trainers.md")
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
	return kit.Run(os.Stdout)
}

package main

import (
	"os"
	"path/filepath"
	"strings"

	"rules_dnn/gen/onnx"
	"rules_dnn/tools/command"
	"rules_dnn/tools/internal/build"
)

// denseName is our own kernels of dense weights, beside those of a pruned network.
const denseName = "dense"

// prune makes the model a copy whose weights are pruned, with its data beside it.
func (m *model) prune(o *options, work string) error {
	dnnc, err := compiler(o, work)
	if err != nil {
		return err
	}
	file, err := openFile(m.path)
	if err != nil {
		return err
	}
	locations, err := onnx.ExternalLocations(file)
	if err != nil {
		return err
	}
	folder := filepath.Join(work, "pruned")
	out := filepath.Join(folder, "model.onnx")
	report := filepath.Join(folder, "report.json")
	args := []string{"prune", "--src=" + m.path, "--out=" + out, "--out-report=" + report, "--accept=pruning"}
	for _, location := range locations {
		to := filepath.Join(folder, location)
		if err := os.MkdirAll(filepath.Dir(to), 0o777); err != nil {
			return err
		}
		args = append(args, "--external="+location+"="+m.data(o, location), "--out-external="+location+"="+to)
	}
	for _, d := range o.dims {
		args = append(args, "--dim="+d)
	}
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return err
	}
	settings, err := o.settings(folder)
	if err != nil {
		return err
	}
	if err := build.Run(dnnc, append(args, "--settings="+settings)...); err != nil {
		return err
	}
	m.path, m.pruned, m.report = out, true, report
	return nil
}

// settings returns a file of pruning settings, which the user passed as text or by a file's name.
func (o *options) settings(folder string) (string, error) {
	if !strings.HasPrefix(o.pruning, "{") {
		return command.Path(o.pruning), nil
	}
	path := filepath.Join(folder, "settings.json")
	return path, os.WriteFile(path, []byte(o.pruning), 0o666)
}

// dense returns a program of the same network with kernels for dense weights.
func dense(o *options, m *model, work string) (*program, error) {
	folder := filepath.Join(work, denseName)
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return nil, err
	}
	plain := *o
	plain.disable = strings.TrimPrefix(o.disable+",pruned", ",")
	chips, err := chooseChips(&plain, folder)
	if err != nil {
		return nil, err
	}
	return makeProgram(&plain, m, chips, folder)
}

package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"rules_dnn/gen/base/files"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/onnx"
	"rules_dnn/gen/ops"
)

// model holds the parts of an ONNX model that determine its target's attributes.
type model struct {
	path      string             // absolute
	locations []string           // of external data, sorted: paths from the model's folder, with slashes
	symbols   []onnx.InputSymbol // of its inputs' shapes
}

func readModel(path string) (*model, error) {
	if filepath.Ext(path) != ".onnx" {
		return nil, errors.New("dnn_model compiles files whose names end in .onnx: rename it")
	}
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil, errors.New("there is no such file")
	}
	file, closed, err := openFile(path)
	if err != nil {
		return nil, err
	}
	defer closed()
	m := &model{path: path}
	if m.locations, err = onnx.ExternalLocations(file); err != nil {
		return nil, err
	}
	slices.Sort(m.locations)
	for _, l := range m.locations {
		if strings.ContainsAny(l, "=:") {
			return nil, fmt.Errorf("its external data are in %s: labels and the compiler's options have no place for = and : in a file's name; save the model with another name for its data", l)
		}
	}
	m.symbols, err = onnx.InputSymbols(file)
	return m, err
}

// verify imports the model like the compiler, to report its errors now. If rules make files of
// external data, only the build can check them.
func (m *model) verify() error {
	file, closed, err := openFile(m.path)
	if err != nil {
		return err
	}
	defer closed()
	external := map[string]*ir.File{}
	for _, location := range m.locations {
		f, closed, err := openFile(m.beside(location))
		if err != nil {
			return nil
		}
		defer closed()
		external[location] = f
	}
	_, err = onnx.Read(file, external, onnx.Options{Supported: ops.Supported, Fill: true})
	return err
}

// beside returns the path of a location relative to the model.
func (m *model) beside(location string) string {
	return filepath.Join(filepath.Dir(m.path), filepath.FromSlash(location))
}

func (m *model) symbol(key string) bool {
	return slices.ContainsFunc(m.symbols, func(s onnx.InputSymbol) bool { return s.Is(key) })
}

func openFile(path string) (*ir.File, func() error, error) {
	f, size, err := files.Open(path)
	if err != nil {
		return nil, nil, err
	}
	return &ir.File{R: f, Size: size}, f.Close, nil
}

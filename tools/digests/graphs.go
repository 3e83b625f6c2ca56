package main

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"rules_dnn/gen/base/files"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/onnx"
)

// graph is a model of the corpus.
type graph struct {
	name string // without .onnx
	from string // the file, or the archive
	read func() ([]byte, error)
}

// graphs returns the graphs of the repository and of --models that match --only, sorted by name.
func (o *options) graphs() ([]*graph, error) {
	var all []*graph
	for _, folder := range own {
		found, err := graphsOf(filepath.Join(o.root, folder))
		if errors.Is(err, fs.ErrNotExist) {
			continue // of a test, which has some
		}
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	for _, path := range o.models {
		found, err := graphsOf(path)
		if err == nil && len(found) == 0 {
			err = fmt.Errorf("%s: no *.onnx in it", path)
		}
		if err != nil {
			return nil, fmt.Errorf("--models: %w", err)
		}
		all = append(all, found...)
	}
	all = slices.DeleteFunc(all, func(g *graph) bool { return !o.only.MatchString(g.name) })
	slices.SortStableFunc(all, func(a, b *graph) int { return strings.Compare(a.name, b.name) })
	if len(all) == 0 {
		return nil, fmt.Errorf("--only=%s: no graph is called so; --models names more than the repository's own", o.only)
	}
	return distinct(all)
}

// distinct drops graphs that are there twice, sorted by name. Two that differ cannot share a name.
func distinct(all []*graph) ([]*graph, error) {
	var out []*graph
	for _, g := range all {
		if len(out) == 0 || out[len(out)-1].name != g.name {
			out = append(out, g)
			continue
		}
		first := out[len(out)-1]
		a, err := first.read()
		if err != nil {
			return nil, err
		}
		b, err := g.read()
		if err != nil {
			return nil, err
		}
		if !bytes.Equal(a, b) {
			return nil, fmt.Errorf("%s and %s both have a graph %s, and they differ: leave one of them out", first.from, g.from, g.name)
		}
	}
	return out, nil
}

// graphsOf returns the graphs of an archive, a folder or a file.
func graphsOf(path string) ([]*graph, error) {
	st, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, err
	case strings.HasSuffix(path, ".zip"):
		return archived(path)
	case st.IsDir():
		names, err := filepath.Glob(filepath.Join(path, "*.onnx"))
		var out []*graph
		for _, n := range names {
			out = append(out, single(n))
		}
		return out, err
	}
	return []*graph{single(path)}, nil
}

func nameOf(path string) string { return strings.TrimSuffix(filepath.Base(path), ".onnx") }

func single(path string) *graph {
	return &graph{name: nameOf(path), from: path, read: func() ([]byte, error) { return files.Read(path) }}
}

// archived returns the graphs of an archive. Each graph opens the archive again.
func archived(path string) ([]*graph, error) {
	z, err := zip.OpenReader(path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	defer z.Close()
	var out []*graph
	for _, f := range z.File {
		if strings.HasSuffix(f.Name, ".onnx") {
			out = append(out, &graph{name: nameOf(f.Name), from: path, read: func() ([]byte, error) { return unpack(path, f.Name) }})
		}
	}
	return out, nil
}

func unpack(path, name string) ([]byte, error) {
	z, err := zip.OpenReader(path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	defer z.Close()
	f, err := z.Open(name)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	defer f.Close()
	return io.ReadAll(f)
}

// weightBytes returns the size of a model's constants; 0 if the model cannot be read, which dnnc
// will report.
func weightBytes(model []byte) (total int64) {
	g, err := onnx.Read(&ir.File{R: bytes.NewReader(model), Size: int64(len(model))}, nil, onnx.Options{Fill: true})
	if err != nil {
		return 0
	}
	for _, c := range g.Constants() {
		total += c.Len() * int64(c.Type.Size())
	}
	return total
}

// Package nodetest holds ONNX's backend node tests, vendored from several releases
// of PyPI's onnx so that older versions of operators are tested too, and examples of our
// own where those have none; its tests run them in the interpreter, in the interpreter of
// loops and compiled. testdata/vendor.py makes the archive.
//
// Only tests import this package.
package nodetest

import (
	"archive/zip"
	"bytes"
	_ "embed" // the archive
	"fmt"
	"io"
	"strings"

	"rules_dnn/gen/ir"
)

//go:embed testdata/node.zip
var archive []byte

// Case is one model with one set of inputs and expected outputs.
type Case struct {
	Name    string // ONNX's name: "test_relu"
	Release string // of PyPI's onnx that the case is from; "own" where it is ours
	Model   []byte
	Inputs  []*ir.Tensor // in the order of the model's inputs
	Outputs []*ir.Tensor
}

// Label is the case's name, unique in the suite but for several data sets.
func (c *Case) Label() string { return c.Name + "@" + c.Release }

// Left is a case of a release that was not vendored, and why.
type Left struct{ Name, Release, Reason string }

// Suite is the whole archive.
type Suite struct {
	Cases []*Case
	Left  []Left
}

// Load reads the archive and adds our own cases.
func Load() (*Suite, error) {
	z, err := zip.NewReader(bytes.NewReader(archive), int64(len(archive)))
	if err != nil {
		return nil, err
	}
	r := &reader{blobs: map[string][]byte{}}
	for _, f := range z.File {
		if r.blobs[f.Name], err = readAll(f); err != nil {
			return nil, fmt.Errorf("%s: %w", f.Name, err)
		}
	}
	s := &Suite{}
	for i, line := range strings.Split(strings.TrimSpace(string(r.blobs["index.txt"])), "\n") {
		if err := r.line(s, line); err != nil {
			return nil, fmt.Errorf("index.txt:%d: %w", i+1, err)
		}
	}
	own, err := ownCases()
	s.Cases = append(s.Cases, own...)
	return s, err
}

func readAll(f *zip.File) ([]byte, error) {
	r, err := f.Open()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return io.ReadAll(r)
}

type reader struct{ blobs map[string][]byte }

func (r *reader) line(s *Suite, line string) error {
	f := strings.Split(line, " ")
	switch {
	case f[0] == "left" && len(f) > 3:
		s.Left = append(s.Left, Left{f[1], f[2], strings.Join(f[3:], " ")})
		return nil
	case f[0] != "case" || len(f) != 6:
		return fmt.Errorf("%q is neither a case nor a case left out", line)
	}
	c := &Case{Name: f[1], Release: f[2]}
	var err error
	if c.Model, err = r.blob(f[3]); err != nil {
		return err
	}
	if c.Inputs, err = r.tensors(f[4]); err != nil {
		return err
	}
	if c.Outputs, err = r.tensors(f[5]); err != nil {
		return err
	}
	s.Cases = append(s.Cases, c)
	return nil
}

func (r *reader) blob(key string) ([]byte, error) {
	b, ok := r.blobs["blobs/"+key]
	if !ok {
		return nil, fmt.Errorf("no blob %q", key)
	}
	return b, nil
}

func (r *reader) tensors(list string) ([]*ir.Tensor, error) {
	var out []*ir.Tensor
	for _, key := range strings.Split(list, ",") {
		if key == "-" {
			continue
		}
		b, err := r.blob(key)
		if err != nil {
			return nil, err
		}
		t, err := decode(b)
		if err != nil {
			return nil, fmt.Errorf("blob %s: %w", key, err)
		}
		out = append(out, t)
	}
	return out, nil
}

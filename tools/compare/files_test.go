package main

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/ir"
)

// TestNoFile: a pipe, a device or a folder where a file is to be read is refused at once.
func TestNoFile(t *testing.T) {
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe")
	require.NoError(t, syscall.Mkfifo(pipe, 0o644))
	for path, kind := range map[string]string{pipe: "a pipe", "/dev/zero": "a device", dir: "a folder"} {
		for what, read := range map[string]func() error{
			"model": func() error { _, err := open(&options{model: path}, t.TempDir()); return err },
			"fill":  func() error { _, err := open(&options{model: path, fill: true}, t.TempDir()); return err },
			"list":  func() error { _, err := readList(path); return err },
			"input": func() error {
				m := &model{graph: &ir.Graph{Inputs: []*ir.Value{{Name: "x", Type: ir.F32}}}}
				_, err := m.inputsOf(&options{inputs: list{"x=" + path}, intLimit: 1}, nil)
				return err
			},
		} {
			done := make(chan error, 1)
			go func() { done <- read() }()
			select {
			case err := <-done:
				assert.ErrorContains(t, err, path+" is "+kind+", not a file", what)
			case <-time.After(20 * time.Second):
				t.Fatalf("%s %s: it waits", what, path)
			}
		}
	}
}

// TestKeepsOthers: in a folder that a user names, what is the user's stays.
func TestKeepsOthers(t *testing.T) {
	dir := t.TempDir()
	mine := filepath.Join(dir, "kernels", "mine.cc")
	require.NoError(t, os.MkdirAll(filepath.Dir(mine), 0o755))
	require.NoError(t, os.WriteFile(mine, nil, 0o644))
	work, done, err := workFolder(&options{keep: dir})
	require.NoError(t, err)
	done()
	assert.Equal(t, dir, work)
	assert.FileExists(t, mine)

	model := network(t)
	assert.ErrorContains(t, tune(&options{model: model, tune: model, keep: dir}, nil), "is the same file as the model")
}

package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// What a graph's folder holds besides its outputs; messages name the model so.
const (
	graphFile  = "graph.txt"
	constsFile = "consts"
	factsFile  = "chip.json" // of the chip that is compiled for
	deviceFile = "device.json"
)

// What a chip's folder holds besides the sources.
const (
	manifestFile = "manifest.json"
	weightsFile  = "weights"
)

// imported reads a graph for all chips, in a folder of its own.
func (o *options) imported(g *graph, model []byte, folder string) error {
	src := g.name + ".onnx"
	if err := os.WriteFile(filepath.Join(folder, src), model, 0o666); err != nil {
		return err
	}
	return o.command(folder, "graph", "--src="+src, "--fill-random", "--out="+graphFile, "--out-consts="+constsFile)
}

// generate makes everything for a chip, in a folder that is called like it.
func (o *options) generate(g *graph, c *chip, folder string) error {
	if c.Language() != "cpp" { // dnnc prints C++ only
		return generateKernels(g, c, folder)
	}
	if err := os.WriteFile(filepath.Join(folder, factsFile), c.facts, 0o666); err != nil {
		return err
	}
	// One file of kernels: a kernel more or less leaves the others at their places.
	out := func(name string) string { return filepath.Join(c.Name, name) }
	args := []string{"compile", "--graph=" + graphFile, "--consts=" + constsFile, "--src=" + g.name + ".onnx", "--chip=" + factsFile, "--warnings=none",
		"--api=net", "--prefix=net", "--namespace=net", "--weights=file", "--shards=1",
		"--out-header=" + out("net.h"), "--out-kernels=" + c.Name, "--out-weights=" + out(weightsFile), "--out-manifest=" + out(manifestFile)}
	if c.beside != nil {
		if err := os.WriteFile(filepath.Join(folder, deviceFile), c.beside, 0o666); err != nil {
			return err
		}
		args = append(args, "--device="+deviceFile, "--out-device-source="+out("net.cl"))
	}
	return o.command(folder, args...)
}

// command runs dnnc in a folder, so that its messages name files without it.
func (o *options) command(folder string, args ...string) error {
	cmd := exec.Command(o.dnnc, args...)
	cmd.Dir = folder
	var log bytes.Buffer
	cmd.Stderr = &log
	err := cmd.Run()
	if x := (*exec.ExitError)(nil); err == nil || !errors.As(err, &x) {
		return err
	}
	text := strings.TrimPrefix(strings.TrimSpace(log.String()), "dnnc: ")
	if text == "" {
		return fmt.Errorf("dnnc %s: %w", args[0], err)
	}
	return refusal{text}
}

// refusal is the compiler's error for a graph that it cannot compile: a result with a line in the
// record, not a failure of this command.
type refusal struct{ text string }

func (r refusal) Error() string { return r.text }

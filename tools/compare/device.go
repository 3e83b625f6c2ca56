package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"rules_dnn/gen/emit/manifest"
	"rules_dnn/tools/internal/build"
)

// divided is how many steps of a program the device launches, of how many kernels, and how many the
// processor calls.
type divided struct{ launches, kernels, calls int }

func (d divided) String() string {
	return fmt.Sprintf("%d blocks on the device, of %d kernels, and %d on the processor", d.launches, d.kernels, d.calls)
}

// readManifest reads the manifest of the program in the work folder.
func readManifest(work string) (*manifest.Manifest, error) {
	text, err := os.ReadFile(filepath.Join(work, build.Manifest))
	if err != nil {
		return nil, err
	}
	m := &manifest.Manifest{}
	return m, json.Unmarshal(text, m)
}

// readDivided reads how the program in the work folder is divided.
func readDivided(work string) (*divided, error) {
	m, err := readManifest(work)
	if err != nil {
		return nil, err
	}
	if m.Device == nil {
		return &divided{calls: len(m.Blocks)}, nil // all of it would be copied there and back
	}
	kernels := map[string]bool{}
	for _, b := range m.Device.Blocks {
		kernels[b.Kernel] = true
	}
	return &divided{launches: len(m.Device.Blocks), kernels: len(kernels), calls: len(m.Blocks)}, nil
}

// compileOnly generates code for the processor and the device, and runs nothing: weights need not
// be in any file.
func (m *model) compileOnly(o *options, chips library, work string, log io.Writer) (*outcome, error) {
	if o.pruning != "" {
		return nil, errors.New("--most-weights: only networks that run are pruned before: leave out --pruning")
	}
	x := &outcome{only: true, weights: m.weights()}
	if err := generate(o, m, work, &x.times, chips.variantOptions(work)...); err != nil {
		return nil, err
	}
	var err error
	if x.divided, err = readDivided(work); err != nil {
		return nil, err
	}
	fmt.Fprintf(log, "%s for %s, compiled only: %s; %s\n", filepath.Base(o.model), chips, x.times, x.divided)
	return x, nil
}

const deviceHead = "| model | million weights | blocks on the device (kernels) | on the processor | inputs | error / range | error | first run s | dnnc s | MB |"

// deviceRow prints a model's runs on a device. The driver compiles kernels as the model is loaded,
// and some of them when they are launched first.
func deviceRow(table io.Writer, name string, x *outcome) {
	if x == nil {
		return
	}
	print := func(inputs, run string) {
		fmt.Fprintf(table, "| %s | %.3g | %d (%d) | %d | %s | %s | %.2f | %.0f |\n", name, float64(x.weights)/1e6, x.divided.launches, x.divided.kernels, x.divided.calls,
			inputs, run, x.times.graph+x.times.compile, float64(x.times.memory)/1e6)
	}
	for _, r := range x.runs {
		print(strings.Join(r.inputs, ", "), fmt.Sprintf("%.2g | %.2g | %.1f", r.rel, r.abs, r.seconds))
	}
	if x.only {
		print("compiled, not run", "| |")
	}
}

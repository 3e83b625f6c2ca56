package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/kernel/cost"
	"rules_dnn/gen/onnx"
	"rules_dnn/gen/pipeline"
	"rules_dnn/gen/target"
	"rules_dnn/gen/target/chips"
)

// memories are where values lie: as estimates say, in buffers, and in images wherever they can be.
var memories = []struct{ name, disable string }{{"chosen", ""}, {"buffers alone", "images"}, {"images forced", "buffers"}}

// writeReads prints what the kernels of networks read and store on a device, by the loops of the
// kernels that its facts choose: nothing runs.
func writeReads(networks, device, only string, out io.Writer) error {
	facts, err := chips.DeviceFacts(device)
	if err != nil {
		return err
	}
	wanted, err := regexp.Compile(only)
	if err != nil {
		return err
	}
	paths, err := filepath.Glob(filepath.Join(networks, "*.onnx"))
	if err != nil {
		return err
	}
	fmt.Fprintln(out, "| network | values | kernels | conversions | millions of texels read | MB of buffers read | MB stored | estimated ms |\n|---|---|---|---|---|---|---|---|")
	for _, path := range paths {
		name := strings.TrimSuffix(filepath.Base(path), ".onnx")
		if !wanted.MatchString(name) {
			continue
		}
		for _, m := range memories {
			t, err := target.Parse(facts)
			if err != nil {
				return err
			}
			groups, err := t.WorkGroups()
			if err != nil {
				return err
			}
			s, err := compiled(path, t, m.disable)
			if err != nil {
				return fmt.Errorf("%s, %s: %w", name, m.name, err)
			}
			r := reads(s)
			fmt.Fprintf(out, "| %s | %s | %d | %d | %.3f | %.1f | %.1f | %.2f |\n", name, m.name, len(s.Program.Calls()), s.Choice.Conversions,
				r.Texels/1e6, r.Bytes/1e6, r.Stored/1e6, s.Program.Estimate.Cycles/(groups.ClockMHz*1e3))
		}
	}
	return nil
}

// compiled compiles a network for a device alone, without one of the parts.
func compiled(path string, t *target.Target, disable string) (*pipeline.State, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	g, err := onnx.Read(&ir.File{R: f, Size: info.Size()}, nil, onnx.Options{Fill: true})
	if err != nil {
		return nil, err
	}
	s, o := &pipeline.State{Graph: g, Target: t}, pipeline.Options{}
	if disable != "" {
		o.Disable = []string{disable}
	}
	for _, ps := range [][]pipeline.Pass{pipeline.GraphPasses, pipeline.CompilePasses} {
		if _, err := pipeline.Run(ps, s, o); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// reads returns the sum over all kernels.
func reads(s *pipeline.State) cost.Reads {
	var sum cost.Reads
	for _, c := range s.Program.Calls() {
		r := cost.Reading(c.Kernel, s.Program.Facts)
		sum.Texels, sum.Bytes, sum.Stored = sum.Texels+r.Texels, sum.Bytes+r.Bytes, sum.Stored+r.Stored
	}
	return sum
}

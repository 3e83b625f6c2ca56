// Package modeltest compiles graphs through the whole pipeline and runs the program in the
// interpreter of loops, for tests to compare with the interpreter of stages.
//
// Only tests import this package.
package modeltest

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/pipeline"
	"rules_dnn/gen/program/plan"
	"rules_dnn/gen/target"
	"rules_dnn/gen/target/chips"
)

// Config is how a graph is compiled.
type Config struct {
	Chip    string
	Disable []string
}

// String names the configuration in messages.
func (c Config) String() string {
	return c.Chip + " -disable=" + strings.Join(c.Disable, ",")
}

// Chips have vectors of 4, 8 and 16 floats, and tile instructions that take X in each way.
var Chips = []string{"x86_64", "x86_64_v3", "x86_64_v4", "arm64"}

// Devices have many small tasks, and one of them has images.
var Devices = []string{"opencl_images", "opencl_buffers"}

// DSPs have instructions that multiply integers only.
var DSPs = []string{"hexagon_v68"}

// Configs are the ways to compile that random graphs are tried with: for every chip, device and DSP with all
// passes, and with each pass and part of a pass switched off, alone and some together, for the
// chips in turn.
func Configs(turn int) []Config {
	var out []Config
	for _, c := range slices.Concat(Chips, Devices, DSPs) {
		out = append(out, Config{Chip: c})
	}
	off := [][]string{{"fuse", "sweep", "anchors"}, {"fuse", "layouts"}, {"fuse", "chains"}}
	for _, p := range slices.Concat(pipeline.GraphPasses, pipeline.CompilePasses) {
		if !p.Required {
			off = append(off, []string{p.Name})
		}
	}
	for _, s := range pipeline.Switches {
		off = append(off, []string{s.Name})
	}
	for i, d := range off {
		out = append(out, Config{Chips[(turn+i)%len(Chips)], d})
	}
	return out
}

// root is the repository's folder, two to four levels above a test's.
func root() string {
	up := "../.."
	for range 2 {
		if _, err := os.Stat(up + "/" + chips.File); err == nil {
			break
		}
		up += "/.."
	}
	return up
}

// Chip reads a chip's or a device's facts.
func Chip(name string) (*target.Target, error) {
	if slices.Contains(Devices, name) {
		name = filepath.Join(root(), "platforms/devices", name+".json")
	}
	return chips.Target(name)
}

// Hexagon is the chip whose instructions multiply integers, with some of these only where they are named.
func Hexagon(instructions ...string) (*target.Target, error) {
	facts, err := chips.Facts("hexagon_v68")
	if err != nil || len(instructions) == 0 {
		return Chip("hexagon_v68")
	}
	var all map[string]any
	if err := json.Unmarshal(facts, &all); err != nil {
		return nil, err
	}
	all["instructions"] = instructions
	if facts, err = json.Marshal(all); err != nil {
		return nil, err
	}
	return target.Parse(facts)
}

// Compile runs all passes on a graph, which they change.
func Compile(g *ir.Graph, c Config) (*plan.Program, error) {
	chip, err := Chip(c.Chip)
	if err != nil {
		return nil, err
	}
	return CompileFor(g, chip, c.Disable)
}

// CompileFor is Compile for a chip that is no file's.
func CompileFor(g *ir.Graph, chip *target.Target, disable []string) (*plan.Program, error) {
	return compile(&pipeline.State{Graph: g, Target: chip}, disable)
}

// compile runs all passes. Poolings are computed where convolutions are, whatever that gains: of what is as small as these graphs it gains nothing.
func compile(s *pipeline.State, disable []string) (*plan.Program, error) {
	s.EveryPool = true
	passes := slices.Concat(pipeline.GraphPasses, pipeline.CompilePasses)
	if _, err := pipeline.Run(passes, s, pipeline.Options{Disable: disable}); err != nil {
		return nil, err
	}
	return s.Program, nil
}

// CompileLibrary is Compile for several chips, whose kernels are variants of one library.
func CompileLibrary(g *ir.Graph, chips, disable []string) (*plan.Program, error) {
	s := &pipeline.State{Graph: g}
	var all []*target.Target
	for _, name := range chips {
		chip, err := Chip(name)
		if err != nil {
			return nil, err
		}
		all = append(all, chip)
	}
	if err := s.SetChips(all); err != nil {
		return nil, err
	}
	return compile(s, disable)
}

// Run compiles a graph and runs it on inputs by name, with kernels that are read from their text, too (runTexts).
func Run(g *ir.Graph, c Config, inputs map[string]*ir.Tensor) ([]*ir.Tensor, error) {
	p, err := Compile(g, c)
	if err != nil {
		return nil, err
	}
	for _, v := range p.Inputs {
		if inputs[v.Name] == nil {
			return nil, fmt.Errorf("no input %q", v.Name)
		}
	}
	return runTexts(p, InputsOf(p, inputs))
}

// InputsOf are the program's inputs, in its order.
func InputsOf(p *plan.Program, inputs map[string]*ir.Tensor) []*ir.Tensor {
	var in []*ir.Tensor
	for _, v := range p.Inputs {
		in = append(in, inputs[v.Name])
	}
	return in
}

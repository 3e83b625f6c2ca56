// Package modeltest compiles graphs through the whole pipeline and runs the program in the
// interpreter of loops, for tests to compare with the interpreter of stages.
//
// Only tests import this package.
package modeltest

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/loop/run"
	"rules_dnn/gen/pipeline"
	"rules_dnn/gen/plan"
	"rules_dnn/gen/target"
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

// Chips have vectors of 4, 8 and 16 floats.
var Chips = []string{"x86_64", "x86_64_v3", "x86_64_v4"}

// Switches are the passes and parts of passes that never change a result.
var Switches = [][]string{nil, {"anchors"}, {"layouts"}, {"fuse"}, {"fuse", "anchors"}, {"fuse", "layouts"}, {"bnfold"}}

// Chip reads a chip's facts. A test's folder is two levels below the repository's, as this one.
func Chip(name string) (*target.Target, error) {
	facts, err := os.ReadFile(filepath.Join("../../platforms/chips", name+".json"))
	if err != nil {
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
	s := &pipeline.State{Graph: g, Target: chip}
	passes := slices.Concat(pipeline.GraphPasses, pipeline.CompilePasses)
	if _, err := pipeline.Run(passes, s, pipeline.Options{Disable: c.Disable}); err != nil {
		return nil, err
	}
	return s.Program, nil
}

// Run compiles a graph and runs it on inputs by name.
func Run(g *ir.Graph, c Config, inputs map[string]*ir.Tensor) ([]*ir.Tensor, error) {
	p, err := Compile(g, c)
	if err != nil {
		return nil, err
	}
	var in []*ir.Tensor
	for _, v := range p.Inputs {
		if inputs[v.Name] == nil {
			return nil, fmt.Errorf("no input %q", v.Name)
		}
		in = append(in, inputs[v.Name])
	}
	return run.Program(p, in)
}

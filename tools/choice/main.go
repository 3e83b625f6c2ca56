// Command choice prints how kernels and layouts of networks are chosen: whether the optimum is
// certified, how long that takes, and what is lost by simpler choices (GCD2's Figure 4.10).
package main

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"rules_dnn/gen/base/files"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/kernel/layout"
	"rules_dnn/gen/onnx"
	"rules_dnn/gen/pipeline"
	"rules_dnn/gen/propose/product"
	"rules_dnn/gen/target/chips"
	"rules_dnn/gen/target/instr"
	"rules_dnn/tools/command"
)

const usage = `choice prints how the kernels and layouts of ONNX networks are chosen for a chip: the number of blocks and of ways to compute
them, whether the joint choice is proved optimal (or its distance from the optimum), and the time of the search. It also prints the
estimated cycles of simpler choices as multiples of it: the fastest kernel of each block alone, and one kind of layout for all.

usage: choice [options] NETWORK.onnx...

example, from the repository's root:
  go run ./tools/choice --chip hexagon_v68 --first 5,13,17,25 resnet50_int8.onnx

options:
`

func main() {
	command.Exit("choice", run(os.Stdout, os.Args[1:]))
}

func run(w io.Writer, args []string) error {
	fs := command.Options("choice")
	chip := fs.String("chip", "hexagon_v68", "`NAME` of the chip")
	first := fs.String("first", "", "`NUMBERS` with commas between: repeat for the first N blocks of each network")
	if err := command.Parse(fs, args, usage, os.Stderr); err != nil {
		return err
	}
	if fs.NArg() == 0 {
		return errors.New("want networks in ONNX after the options; --help shows what there is")
	}
	some, err := numbers(*first)
	if err != nil {
		return err
	}
	for _, path := range fs.Args() {
		s, err := blocks(*chip, command.Path(path))
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		for _, n := range append(some, 0) {
			if err := report(w, s, filepath.Base(path), n); err != nil {
				return fmt.Errorf("%s: %w", path, err)
			}
		}
	}
	return nil
}

// numbers parses --first.
func numbers(first string) (some []int, err error) {
	for _, text := range strings.FieldsFunc(first, func(r rune) bool { return r == ',' }) {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			return nil, fmt.Errorf("--first=%s: want positive numbers, separated by commas", first)
		}
		some = append(some, n)
	}
	return some, nil
}

// blocks compiles a network until its kernels are to be chosen.
func blocks(chip, path string) (*pipeline.State, error) {
	t, err := chips.Target(chip)
	if err != nil {
		return nil, err
	}
	f, size, err := files.Open(path)
	if err != nil {
		return nil, err
	}
	g, err := onnx.Read(&ir.File{R: f, Size: size}, nil, onnx.Options{Fill: true})
	if err != nil {
		return nil, err
	}
	s := &pipeline.State{Graph: g, Target: t}
	if _, err := pipeline.Run(pipeline.GraphPasses, s, pipeline.Options{}); err != nil {
		return nil, err
	}
	_, err = pipeline.Run(pipeline.CompilePasses, s, pipeline.Options{StopAfter: "exact"})
	return s, err
}

// report prints a line of a network's first blocks, or of all.
func report(w io.Writer, s *pipeline.State, name string, first int) error {
	start := time.Now()
	c, err := s.Compare(first)
	if err != nil {
		return err
	}
	estimated := time.Now()
	solution, err := c.Solve()
	if err != nil {
		return err
	}
	solved := time.Now()
	fmt.Fprintf(w, "%s: %d blocks, %d candidates: %s; candidates estimated in %.2f s, solved in %.3f s; local choice %.3fx", name, c.Blocks(), c.Ways(), solution,
		estimated.Sub(start).Seconds(), solved.Sub(estimated).Seconds(), c.Local()/solution.Cost)
	for _, kind := range kinds(s) {
		if cost := c.Uniform(kind.is); !math.IsInf(cost, 1) {
			fmt.Fprintf(w, ", %s for all %.3fx", kind.name, cost/solution.Cost)
		}
	}
	fmt.Fprint(w, "; kernels")
	kernels := c.Kernels(solution.Choice)
	for _, name := range slices.Sorted(maps.Keys(kernels)) {
		fmt.Fprintf(w, " %q %d", name, kernels[name])
	}
	fmt.Fprintln(w)
	return nil
}

// kind is layouts of one kind: row-major, or as an instruction reads values.
type kind struct {
	name string
	is   func(layout.Layout) bool
}

// mostAxes is the most axes of values whose layouts are told apart by kind.
const mostAxes = 5

// kinds returns the kinds of layouts for a chip.
func kinds(s *pipeline.State) []kind {
	out := []kind{{"row-major", func(l layout.Layout) bool { return l == layout.RowMajor }}}
	named := map[string]bool{}
	if !s.Target.StoresDots() {
		return out
	}
	for _, r := range s.Target.Dots(ir.I32) {
		name := fmt.Sprintf("%d-column", r.Group)
		if named[name] {
			continue
		}
		named[name] = true
		out = append(out, kind{name, func(l layout.Layout) bool { return ofRow(r, l) }})
	}
	return out
}

// ofRow reports whether a layout is one in which an instruction reads values.
func ofRow(r *instr.Row, l layout.Layout) bool {
	for a := range mostAxes {
		for b := range mostAxes {
			if a != b && (l == product.DotLayout(r, a, b) || r.Group > 1 && l == layout.Blocked(b, r.Group)) {
				return true
			}
		}
	}
	return false
}

package nodetest

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/emit/cpp/cpptest"
	"rules_dnn/gen/graph/interp"
	"rules_dnn/gen/graph/shape"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/program/plan"
	"rules_dnn/gen/program/run"
	"rules_dnn/gen/target"
	"rules_dnn/gen/testing/modeltest"
)

// variant is a case with other inputs, and its graph with other attributes: what must come out, the interpreter tells.
type variant struct {
	*Case
	label string
	// change changes the graph of the case, whose inputs are the variant's already.
	change func(g *ir.Graph)
	// given says which inputs are constants, by how givens do.
	given string
}

// graph makes the variant's graph and its inputs of run time.
func (v *variant) graph(c *Case, bounds map[string]sym.Range) (*ir.Graph, map[string]*ir.Tensor, error) {
	g, err := c.Graph()
	if err != nil {
		return nil, nil, err
	}
	g.Bounded = bounds
	for i, x := range g.Inputs {
		x.Shape, x.HasShape = ir.Dims(v.Inputs[i].Shape...), true
	}
	for _, n := range g.Nodes { // what the model declares speaks of the case
		for _, y := range n.Outputs {
			if y != nil {
				y.Type, y.Shape, y.HasShape = ir.Invalid, nil, false
			}
		}
	}
	if v.change != nil {
		v.change(g)
	}
	if v.given == atRunTime {
		inputs := map[string]*ir.Tensor{}
		for i, x := range g.Inputs {
			inputs[x.Name] = v.Inputs[i]
		}
		return g, inputs, nil
	}
	_, inputs := v.Bind(g)
	switch v.given {
	case constantWeights:
		bindWeights(g, v.Case, inputs)
	case symbolicDims:
		zeroSymbols(g)
	}
	return g, inputs, nil
}

// The ways in which a variant's inputs are given: those that decide the structure are constants, and the rest
// come at run time; all but the first are constants; dimensions are symbols; or all come at run time.
const (
	structureConstant = "constant structure"
	constantWeights   = "constant weights"
	symbolicDims      = "symbols"
	atRunTime         = "at run time"
)

// zeroSymbols makes each dimension of the inputs a symbol that may be 0.
func zeroSymbols(g *ir.Graph) {
	g.Symbols = nil
	for i, v := range g.Inputs {
		v.Shape = slices.Clone(v.Shape)
		for k := range v.Shape {
			name := fmt.Sprintf("D%d_%d", i, k)
			g.Symbols = append(g.Symbols, ir.Symbol{Name: name, Hi: 64})
			v.Shape[k] = sym.Var(name)
		}
	}
}

// boundOfRun is a refusal of a number that decides a structure: one of a run is bounded where a constant is not.
var boundOfRun = regexp.MustCompile(`; (supported|its bounds) are `)

// beyond is an error of an interpreter that found a load or a store beyond its tensor or buffer, where
// generated code would read or write other memory: no refusal, but a fault of the compiler.
var beyond = regexp.MustCompile(`outside of .*, (whose shape is|which (has|is)) `)

// outcomes counts what became of variants, and collects those that C++ runs: every second is compiled for the chip of
// the host, the others for our chips in turn.
type outcomes struct {
	host                           *target.Target
	tried                          int
	ran, refused, unknown, limited int
	programs                       []cpptest.Case
	want                           [][]*ir.Tensor // nil: the run is refused
}

func (o *outcomes) String() string {
	return fmt.Sprintf("%d ran, %d refused, %d of unknown structure, %d too large to run", o.ran, o.refused, o.unknown, o.limited)
}

// mostSpent are what the interpreter computes of a variant at most.
var mostSpent = interp.Interp{MaxBytes: 1 << 24, MaxTrips: 100, MaxPoints: 1 << 18}

// try compiles a variant for a chip, runs it, and compares with the interpreter. Where the interpreter refuses, so must the
// compiler or the program, and an error of the compiler names the node.
func (o *outcomes) try(t *testing.T, c *Case, v *variant) {
	chip, err := o.host, error(nil)
	if o.tried++; o.tried%2 == 0 {
		chip, err = modeltest.Chip(modeltest.Chips[o.tried/2%len(modeltest.Chips)])
		require.NoError(t, err)
	}
	var p *plan.Program
	var inputs map[string]*ir.Tensor
	compiled := survives(func() error {
		return bounding(c, func(bounds map[string]sym.Range) error {
			g, in, err := v.graph(c, bounds)
			if err != nil {
				return err
			}
			inputs = in
			p, err = modeltest.CompileFor(g, chip, nil)
			return err
		})
	})
	var skip *Skip
	var unknown *shape.UnknownError
	var open *plan.BoundError
	var limited *interp.LimitError
	var panicked *panicError
	if errors.As(compiled, &panicked) {
		assert.NoError(t, compiled, v.label)
		return
	}
	if errors.As(compiled, &skip) || errors.As(compiled, &unknown) || errors.As(compiled, &open) {
		o.unknown++
		return
	}
	g, _, err := (&variant{Case: v.Case, change: v.change, given: structureConstant}).graph(c, nil)
	require.NoError(t, err, v.label)
	all := map[string]*ir.Tensor{}
	for _, x := range g.Inputs {
		all[x.Name] = v.Inputs[slices.IndexFunc(v.Inputs, func(in *ir.Tensor) bool { return in == inputOf(c, v, x.Name) })]
	}
	want, refused := mostSpent.Graph(g, all)
	if errors.As(refused, &limited) {
		o.limited++
		return
	}
	if refused != nil && !assert.NotRegexp(t, beyond, refused.Error(), "%s: the interpreter", v.label) {
		return
	}
	if compiled != nil {
		o.refused++
		assert.Regexp(t, `(node|block) \w+ |input "`, compiled.Error(), v.label)
		if v.given == structureConstant || v.given == constantWeights {
			assert.Error(t, refused, "%s: the compiler refuses it: %v", v.label, compiled)
		}
		return
	}
	in := make([]*ir.Tensor, len(p.Inputs))
	for i, x := range p.Inputs {
		in[i] = inputs[x.Name]
	}
	got, ran := run.Program(p, in)
	if ran != nil && !assert.NotRegexp(t, beyond, ran.Error(), "%s: the program", v.label) {
		return
	}
	var dims *run.DimsError
	var shapes *run.ShapeError
	switch {
	case errors.As(ran, &dims) && refused == nil && strings.Contains(ran.Error(), "must not be empty"):
		assert.NoError(t, ran, "%s: no element is read that is not there", v.label)
		return
	case errors.As(ran, &dims), errors.As(ran, &shapes):
		o.refused++
		return // by the generated API, which cpptest leaves out; what dimensions a program for any takes is narrower
	case ran != nil && refused == nil && strings.Contains(ran.Error(), "divides by 0") && v.given == symbolicDims:
		o.refused++
		return // a dimension that a quotient of others is, which is known for each of them
	case ran != nil && refused == nil && v.given == atRunTime && boundOfRun.MatchString(ran.Error()):
		o.refused++
		return
	case refused != nil && ran == nil && v.given != structureConstant:
		// The node that refuses it may compute nothing that is needed.
	case !assert.Equal(t, refused != nil, ran != nil, "%s: the interpreter: %v, the program: %v", v.label, refused, ran):
		return
	case refused != nil:
		o.refused++
	default:
		o.ran++
		for i, w := range want {
			if !assert.NoError(t, Compare(got[i], w), "%s: output %d", v.label, i) {
				return
			}
		}
	}
	if values := (*run.ValueError)(nil); chip != o.host || ran != nil && !errors.As(ran, &values) {
		return // or it ended before a kernel ran
	}
	o.programs = append(o.programs, cpptest.Case{Name: v.label, Program: p, Inputs: in, Dims: boundDims(p, in)})
	if ran != nil {
		got = nil
	}
	o.want = append(o.want, got)
}

// inputOf is the variant's tensor of the case's input of a name.
func inputOf(c *Case, v *variant, name string) *ir.Tensor {
	g, err := c.Graph()
	if err != nil {
		return nil
	}
	i := slices.IndexFunc(g.Inputs, func(x *ir.Value) bool { return x.Name == name })
	return v.Inputs[i]
}

// boundDims are the symbols that are a dimension of an input.
func boundDims(p *plan.Program, in []*ir.Tensor) map[string]int64 {
	dims := map[string]int64{}
	for i, v := range p.Inputs {
		for k, d := range v.Shape {
			if name, ok := d.AsVar(); ok {
				dims[name] = in[i].Shape[k]
			}
		}
	}
	return dims
}

// panicError is a panic of the compiler.
type panicError struct{ text string }

func (e *panicError) Error() string { return e.text }

func survives(f func() error) (err error) {
	defer func() {
		if x := recover(); x != nil {
			err = &panicError{fmt.Sprintf("panic: %v\n%s", x, debug.Stack())}
		}
	}()
	return f()
}

// compileAndRun compiles one of so many of the programs to C++, with a sanitizer of integers, and compares what they compute with
// the interpreter of loops.
func (o *outcomes) compileAndRun(t *testing.T, stride int) {
	var programs []cpptest.Case
	var want [][]*ir.Tensor
	for i := range o.programs {
		if i%stride == 0 {
			programs, want = append(programs, o.programs[i]), append(want, o.want[i])
		}
	}
	t.Logf("%s; %d as C++", o, len(programs))
	flags := slices.Concat(o.host.Copts, strings.Fields(*copts), sanitizer(t))
	for i, r := range cpptest.Run(t, repository, programs, flags...) {
		if !assert.Equal(t, want[i] == nil, r.Status != 0, "%s: status %d", programs[i].Name, r.Status) || want[i] == nil {
			continue
		}
		for k, w := range want[i] {
			assert.NoError(t, Compare(r.Outputs[k], w), "%s: output %d", programs[i].Name, k)
		}
	}
}

// sanitizer are flags with which a program ends where an integer leaves its type, a shift its width or an index its
// array: what says so is linked where the compiler has it.
func sanitizer(t *testing.T) []string {
	dir := t.TempDir()
	source := filepath.Join(dir, "x.cc")
	require.NoError(t, os.WriteFile(source, []byte("int main() { return 0; }\n"), 0o644))
	for _, flags := range [][]string{
		{"-fsanitize=undefined", "-fno-sanitize-recover=all"},
		{"-fsanitize=undefined", "-fsanitize-undefined-trap-on-error"},
	} {
		args := append(slices.Clone(flags), source, "-o", filepath.Join(dir, "x"))
		if exec.Command(cpptest.Compiler(t), args...).Run() == nil {
			return flags
		}
	}
	t.Log("the C++ compiler has no sanitizer")
	return nil
}

// withInputs is a case with other inputs.
func (c *Case) withInputs(change map[int]*ir.Tensor) *Case {
	out := *c
	out.Inputs = slices.Clone(c.Inputs)
	for _, i := range slices.Sorted(maps.Keys(change)) {
		out.Inputs[i] = change[i]
	}
	return &out
}

// newest are the cases of the newest release of each name.
func newest(s *Suite) []*Case {
	var out []*Case
	for i, c := range s.Cases {
		if !slices.ContainsFunc(s.Cases[i+1:], func(later *Case) bool { return later.Name == c.Name }) {
			out = append(out, c)
		}
	}
	return out
}

// chosen takes one of so many variants, by their labels; all with -every or -only.
func chosen(label string, stride uint64) bool {
	return *every || *only != "" || seed(label)%stride == 0
}

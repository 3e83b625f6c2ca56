package nodetest

import (
	"errors"
	"flag"
	"fmt"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/emit/cpp/cpptest"
	"rules_dnn/gen/graph/shape"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/kernel/loop"
	"rules_dnn/gen/pipeline"
	"rules_dnn/gen/target"
	"rules_dnn/gen/target/chips/chipstest"
	"rules_dnn/gen/target/hostcpu"
	"rules_dnn/gen/testing/modeltest"
)

var (
	every = flag.Bool("every", false, "compile the cases of all releases with every variant; by default a part of the newest of each name")
	all   = flag.Bool("whole", false, "take all cases of the newest release of each name where a part is taken by default")
	only  = flag.String("only", "", "take only the cases whose names match this regular expression, all of them")
	oneOf = flag.Int("one-of", 1, "TestCompiledOnDevice: take one of this many cases of those that it takes by default")
	copts = flag.String("copts", "-O1", "flags of the C++ compiler, separated by spaces")
)

const repository = "../../.."

// hostChip is the widest of our chips that the host can run; the baseline where
// nothing is known of it.
func hostChip(t *testing.T) *target.Target {
	names := map[string][]string{"amd64": {"x86_64_v4", "x86_64_v3", "x86_64"}, "arm64": {"arm64"}}[runtime.GOARCH]
	for _, name := range names {
		chip := chipstest.Target(t, name)
		if runsHere(chip) {
			return chip
		}
	}
	t.Skip("no chip of ours is this host")
	return nil
}

// runsHere reports whether the host has what a chip's kernels need.
func runsHere(chip *target.Target) bool { return hostcpu.Runs(chip.GOARCH(), chip.CPUFeatures...) }

// sameCompiled compares what compiled programs of one result give, bit for bit, where the host runs the chip's code.
func sameCompiled(t *testing.T, chip *target.Target, cases []cpptest.Case, wants []*ir.Tensor) {
	t.Helper()
	if !runsHere(chip) {
		return
	}
	for i, got := range cpptest.Run(t, repository, cases, append(slices.Clone(chip.Copts), "-O2")...) {
		require.Zero(t, got.Status, cases[i].Name)
		assert.Equal(t, wants[i].Data, got.Outputs[0].Data, cases[i].Name)
	}
}

// cases are those of the suite that -only selects.
func cases(t *testing.T) *Suite {
	s, err := Load()
	require.NoError(t, err)
	match, err := regexp.Compile(*only)
	require.NoError(t, err)
	s.Cases = slices.DeleteFunc(s.Cases, func(c *Case) bool { return !match.MatchString(c.Name) })
	require.NotEmpty(t, s.Cases, "no case's name matches %q", *only)
	return s
}

// atLeast guards against cases that vanish, unless -only leaves most out.
func atLeast(t *testing.T, least, n int) {
	if *only == "" {
		require.GreaterOrEqual(t, n, least)
	}
}

// TestCompiledNodes compiles the cases that the interpreter runs to C++, several ways, and
// compares what the compiled programs compute with the expected outputs. Nothing may
// be written outside of a program's buffers, and no kernel may rely on the order of its tasks.
func TestCompiledNodes(t *testing.T) {
	s, chip := cases(t), hostChip(t)
	for _, v := range []struct {
		name     string
		symbolic bool
		disable  []string
		always   int // without -every, one of so many cases; 0: none
	}{
		{name: "static", always: 2},
		{name: "symbolic", symbolic: true, always: 4},
		{name: "plain", disable: []string{"fuse", "sweep", "anchors"}},
		{name: "row-major", disable: []string{"layouts"}},
	} {
		t.Run(v.name, func(t *testing.T) {
			if v.always == 0 && !*every {
				t.Skip("only with -every")
			}
			b := chooseCases(t, s, chip, v.symbolic, v.disable, max(1, v.always), func(*Case) bool { return true })
			atLeast(t, leastCompiled/max(1, v.always), len(b.programs))
			b.run(t, &cpptest.Host)
		})
	}
}

// ofIntegers are the cases of contractions of integers.
var ofIntegers = regexp.MustCompile("matmulinteger|qlinearmatmul|convinteger|qlinearconv|qdq")

// TestCompiledIntegers: cases of integers with the instructions of each chip that the host can run.
func TestCompiledIntegers(t *testing.T) {
	s := cases(t)
	for _, name := range []string{"x86_64", "x86_64_v3", "x86_64_v4", "x86_64_v4_vnni"} {
		t.Run(name, func(t *testing.T) {
			chip := chipstest.Target(t, name)
			if !runsHere(chip) {
				t.Skipf("this machine does not run code for %s", name)
			}
			for _, symbolic := range []bool{false, true} {
				b := chooseCases(t, s, chip, symbolic, nil, 1, func(c *Case) bool { return ofIntegers.MatchString(c.Name) })
				atLeast(t, 10, len(b.programs))
				b.run(t, &cpptest.Host)
			}
		})
	}
}

// leastCompiled guards against cases that vanish: of the newest release, by variant.
const leastCompiled = 800

// batch is programs for a chip, and the cases that they are of.
type batch struct {
	chip     *target.Target
	programs []cpptest.Case
	of       []*Case
}

// chooseCases compiles one of stride of the cases that are wanted, for a device beside the chip, too, if there is one.
func chooseCases(t *testing.T, s *Suite, chip *target.Target, symbolic bool, disable []string, stride int, want func(*Case) bool, device ...*target.Target) *batch {
	if *every || *all || *only != "" {
		stride = 1
	}
	b := &batch{chip: chip}
	left, wanted := 0, 0
	for i, c := range s.Cases {
		if !*every && slices.ContainsFunc(s.Cases[i+1:], func(later *Case) bool { return later.Name == c.Name }) || !want(c) {
			continue
		}
		if wanted++; wanted%stride != 0 {
			continue
		}
		p, err := compile(c, chip, symbolic, disable, device...)
		var skip *Skip
		var unknown *shape.UnknownError
		switch {
		case errors.As(err, &skip):
		case errors.As(err, &unknown):
			left++
			t.Logf("left: %s: %v", c.Label(), err)
			assert.True(t, symbolic && leftOfSymbols.MatchString(c.Name), "%s is not among those that may be left", c.Label())
		case assert.NoError(t, err, c.Label()):
			b.programs, b.of = append(b.programs, *p), append(b.of, c)
		}
	}
	t.Logf("%d of %d cases are compiled (one of %d is chosen), %d left because their structure depends on numbers", len(b.programs), wanted, stride, left)
	return b
}

// leftOfSymbols are the cases whose structure depends on the dimensions that become symbols: on how
// many sizes or indices there are, whether a dimension is 1, whether two are equal, and which of two
// is less.
var leftOfSymbols = regexp.MustCompile("^test_(affine_grid_.*_expanded|dft_(inverse|irfft).*|gathernd_example_(float|int)32" +
	"|linear_attention_.*|resize_downsample_sizes_nearest_not_.*)$")

// run runs the programs on a machine.
func (b *batch) run(t *testing.T, m *cpptest.Machine) {
	flags := append(slices.Clone(b.chip.Copts), strings.Fields(*copts)...)
	for i, r := range m.Run(t, repository, b.programs, flags...) {
		if !assert.Zero(t, r.Status, b.of[i].Label()) {
			continue
		}
		for k, want := range b.of[i].Outputs {
			assert.NoError(t, Compare(r.Outputs[k], want), "%s: output %d", b.of[i].Label(), k)
		}
	}
}

// compile makes a program of a case, with symbols for its inputs' dimensions or without. What nothing
// bounds is bounded.
func compile(c *Case, chip *target.Target, symbolic bool, disable []string, device ...*target.Target) (p *cpptest.Case, err error) {
	err = bounding(c, func(bounds map[string]sym.Range) error {
		p, err = compileIn(c, chip, symbolic, disable, bounds, device...)
		return err
	})
	return p, err
}

func compileIn(c *Case, chip *target.Target, symbolic bool, disable []string, bounds map[string]sym.Range, device ...*target.Target) (*cpptest.Case, error) {
	g, err := c.Graph()
	if err != nil {
		return nil, err
	}
	g.Bounded = bounds
	_, inputs := c.Bind(g)
	var dims map[string]int64
	if symbolic {
		dims = symbolize(g, c)
	}
	st := &pipeline.State{Graph: g, Target: chip}
	for _, d := range device { // runs all that it can
		st.Device, st.Price = d, modeltest.Devoted.Price(0)
	}
	if _, err := pipeline.Run(pipeline.GraphPasses, st, pipeline.Options{}); err != nil {
		return nil, err
	}
	if _, err := pipeline.Run(pipeline.CompilePasses, st, pipeline.Options{Disable: disable}); err != nil {
		return nil, err
	}
	in := make([]*ir.Tensor, len(g.Inputs))
	for i, v := range g.Inputs {
		in[i] = inputs[v.Name]
	}
	for _, s := range st.Program.Calls() {
		if err := reserved(s.Kernel); err != nil {
			return nil, err
		}
	}
	return &cpptest.Case{Name: c.Label(), Program: st.Program, Dims: dims, Inputs: in}, nil
}

// reserved tells which name of a kernel a symbol may have too: package sym has to know it.
func reserved(k *loop.Kernel) (err error) {
	loop.Names(k, func(name string) {
		if sym.IsSymbol(name) {
			err = fmt.Errorf("a symbol may be called %q, like a variable of the kernel", name)
		}
	})
	return err
}

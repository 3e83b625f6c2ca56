package hvx_test

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/emit/cpp"
	"rules_dnn/gen/emit/cpp/cpptest"
	"rules_dnn/gen/emit/hexagon/isa"
	"rules_dnn/gen/emit/hexagon/machine"
	"rules_dnn/gen/emit/hexagon/sched"
	"rules_dnn/gen/emit/hvx"
	"rules_dnn/gen/emit/hvx/hvxtest"
	"rules_dnn/gen/emit/hvx/packed"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/kernel/loop"
	"rules_dnn/gen/program/plan"
	"rules_dnn/gen/testing/modeltest"
)

// resnet50 are its first eight different convolutions.
var resnet50 = []modeltest.Convolution{
	{Name: "7x7 3-64 /2", Channels: []int64{3, 64}, Size: 224, Kernel: 7, Stride: 2, Pad: 3},
	{Name: "1x1 64-64", Channels: []int64{64, 64}, Size: 56, Kernel: 1, Stride: 1},
	{Name: "3x3 64-64", Channels: []int64{64, 64}, Size: 56, Kernel: 3, Stride: 1, Pad: 1},
	{Name: "1x1 64-256", Channels: []int64{64, 256}, Size: 56, Kernel: 1, Stride: 1},
	{Name: "1x1 256-64", Channels: []int64{256, 64}, Size: 56, Kernel: 1, Stride: 1},
	{Name: "1x1 256-128", Channels: []int64{256, 128}, Size: 56, Kernel: 1, Stride: 1},
	{Name: "3x3 128-128 /2", Channels: []int64{128, 128}, Size: 56, Kernel: 3, Stride: 2, Pad: 1},
	{Name: "1x1 128-512", Channels: []int64{128, 512}, Size: 28, Kernel: 1, Stride: 1},
}

// version is of Hexagon, as the chip of these tests.
const version = 68

// anything is memory in which everything may be read and written: how many packets a function takes does not depend on it.
type anything struct{}

func (anything) Read(uint32, []byte) error  { return nil }
func (anything) Write(uint32, []byte) error { return nil }

func count(t *testing.T, p machine.Program) machine.Count {
	s := &isa.State{Mem: anything{}}
	s.R[29] = 1 << 20
	c, err := p.Run(version, s)
	require.NoError(t, err)
	return c
}

// calls counts the calls of micro-kernels in a run.
func calls(t *testing.T, p *plan.Program) map[string]int {
	out := map[string]int{}
	for _, s := range p.Calls() {
		tasks, err := s.Kernel.Tasks().Eval(nil)
		require.NoError(t, err)
		for task := range tasks {
			count := caller{t: t, env: map[string]int64{loop.TaskVar: task}, out: out}
			count.statements(s.Kernel.Statements())
		}
	}
	return out
}

type caller struct {
	t   *testing.T
	env map[string]int64
	out map[string]int
}

func (c *caller) eval(e sym.Expr) int64 {
	x, err := e.Eval(c.env)
	require.NoError(c.t, err)
	return x
}

func (c *caller) statements(all []loop.Stmt) {
	for _, s := range all {
		switch x := s.(type) {
		case loop.Index:
			c.env[x.Var] = c.eval(x.Value)
		case loop.For:
			if !tiled(x.Body) {
				continue
			}
			for i := range c.eval(x.Extent) {
				c.env[x.Var] = i
				c.statements(x.Body)
			}
		case loop.If:
			holds := true
			for _, w := range x.Cond {
				e := c.eval(w.E)
				holds = holds && e >= c.eval(w.Lo) && e < c.eval(w.Hi)
			}
			if holds {
				c.statements(x.Then)
			} else {
				c.statements(x.Else)
			}
		case loop.Tile:
			c.out[cpp.MicroName(x.Micro)]++
		}
	}
}

func tiled(body []loop.Stmt) bool {
	found := false
	loop.Walk(body, func(s loop.Stmt) bool {
		_, tile := s.(loop.Tile)
		found = found || tile
		return true
	})
	return found
}

func micros(p *plan.Program) map[string]*loop.MicroKernel {
	out := map[string]*loop.MicroKernel{}
	for _, s := range p.Calls() {
		loop.Walk(s.Kernel.Body, func(s loop.Stmt) bool {
			if x, ok := s.(loop.Tile); ok {
				out[cpp.MicroName(x.Micro)] = x.Micro
			}
			return true
		})
	}
	return out
}

var function = regexp.MustCompile(`(?m)^[0-9a-f]+ <(\w+)>:$`)

// compiled are the micro-kernels of a program as clang schedules them in C.
func compiled(t *testing.T, p *plan.Program, copts []string) map[string]machine.Program {
	for _, tool := range []string{"clang", "llvm-objdump"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("no %s on this machine: install clang and llvm, or run this in `./bazelw exec`", tool)
		}
	}
	files, err := hvx.Intrinsics.Print(p, "g", 1)
	require.NoError(t, err)
	dir := t.TempDir()
	for _, f := range files {
		require.NoError(t, os.WriteFile(filepath.Join(dir, f.Name), []byte(f.Text), 0o644))
	}
	args := append([]string{"-I" + root, "-I" + dir, "-O2", "-c", filepath.Join(dir, "g_kernels_0.c"), "-o", filepath.Join(dir, "k.o")}, hvxtest.Machine.Flags...)
	text, err := exec.Command("clang", append(args, copts...)...).CombinedOutput()
	require.NoError(t, err, string(text))
	text, err = exec.Command("llvm-objdump", "-d", "--no-show-raw-insn", filepath.Join(dir, "k.o")).Output()
	require.NoError(t, err)
	out := map[string]machine.Program{}
	all := function.FindAllStringSubmatchIndex(string(text), -1)
	for i, m := range all {
		name, end := string(text[m[2]:m[3]]), len(text)
		if i+1 < len(all) {
			end = all[i+1][0]
		}
		if strings.HasPrefix(name, "vrmpy") {
			out[name], err = machine.ParseListing(string(text[m[1]:end]))
			require.NoError(t, err, name)
		}
	}
	return out
}

// packets are those of a convolution: executed ones of all its code under qemu, those of its micro-kernels, and for how many of these
// early sources wait.
type packets struct{ all, leaves, stalls int }

func (p packets) leavesAndStalls() int { return p.leaves + p.stalls }

func (p *packets) add(q packets) {
	p.all, p.leaves, p.stalls = p.all+q.all, p.leaves+q.leaves, p.stalls+q.stalls
}

// TestPackets: the first eight convolutions of resnet50 (int8) take fewer packets than as clang schedules the same C, and compute the same bytes: sums, and
// bytes that are made of these. With -v it tells how many.
func TestPackets(t *testing.T) {
	t.Run("sums", func(t *testing.T) { comparePackets(t, false) })
	t.Run("bytes", func(t *testing.T) { comparePackets(t, true) })
}

func comparePackets(t *testing.T, scaled bool) {
	chip, err := modeltest.Hexagon()
	require.NoError(t, err)
	var cases []cpptest.Case
	theirs, ours := make([]packets, len(resnet50)), make([]packets, len(resnet50))
	var loops []string
	for i, c := range resnet50 {
		c.X, c.W, c.Scaled = ir.U8, ir.I8, scaled
		g, _ := c.Graph()
		p, err := modeltest.CompileFor(g, chip, nil)
		require.NoError(t, err)
		_, inputs := c.Graph()
		cases = append(cases, cpptest.Case{Name: c.Name, Program: p, Inputs: modeltest.InputsOf(p, inputs)})
		clang, times := compiled(t, p, chip.Copts), calls(t, p)
		all := micros(p)
		for _, name := range slices.Sorted(maps.Keys(all)) {
			m := all[name]
			k, err := packed.New(m, version, sched.Best)
			require.NoError(t, err, name)
			a, b := count(t, clang[name]), count(t, k.Program)
			theirs[i].add(packets{leaves: times[name] * a.Packets, stalls: times[name] * a.Stalls})
			ours[i].add(packets{leaves: times[name] * b.Packets, stalls: times[name] * b.Stalls})
			assert.LessOrEqual(t, b.Packets, a.Packets, name)
			assert.LessOrEqual(t, b.Packets+b.Stalls, a.Packets+a.Stalls, name)
			if k.Interval > 0 {
				loops = append(loops, fmt.Sprintf("%d of %d", k.Interval, k.Bound))
				assert.LessOrEqual(t, float64(k.Interval), 1.15*float64(k.Bound), "%s: the loop, by slots", name)
			}
		}
	}
	compiler := hvxtest.Machine
	compiler.Language = hvx.Intrinsics
	copts := append(chip.Copts, "-O2")
	results, inC := hvxtest.Machine.Run(t, root, cases, copts...), compiler.Run(t, root, cases, copts...)
	t.Logf("%-16s %12s %12s %6s   micro-kernels: %10s %10s %6s   and stalls: %10s %10s %6s", "", "clang", "ours", "", "clang", "ours", "", "clang", "ours", "")
	line := func(name string, a, b packets) {
		part := func(x, y int) string { return fmt.Sprintf("%+.1f%%", 100*(float64(y)/float64(x)-1)) }
		t.Logf("%-16s %12d %12d %6s                  %10d %10d %6s               %10d %10d %6s", name, a.all, b.all, part(a.all, b.all),
			a.leaves, b.leaves, part(a.leaves, b.leaves), a.leavesAndStalls(), b.leavesAndStalls(), part(a.leavesAndStalls(), b.leavesAndStalls()))
	}
	var allTheirs, allOurs packets
	for i, c := range resnet50 {
		require.Zero(t, results[i].Status)
		assert.Equal(t, inC[i].Outputs[0].Data, results[i].Outputs[0].Data, c.Name)
		theirs[i].all, ours[i].all = int(inC[i].Counts[hvxtest.Packets]), int(results[i].Counts[hvxtest.Packets])
		line(c.Name, theirs[i], ours[i])
		allTheirs.add(theirs[i])
		allOurs.add(ours[i])
		assert.LessOrEqual(t, ours[i].all, theirs[i].all, c.Name)
	}
	line("all", allTheirs, allOurs)
	t.Logf("packets of an iteration, of those that slots and units allow: %s", strings.Join(loops, "; "))
	assert.LessOrEqual(t, float64(allOurs.leavesAndStalls()), 0.8*float64(allTheirs.leavesAndStalls()), "packets and stalls of micro-kernels")
	assert.LessOrEqual(t, float64(allOurs.all), 0.8*float64(allTheirs.all), "packets of all code")
}

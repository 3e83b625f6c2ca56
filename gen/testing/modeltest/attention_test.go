package modeltest

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/emit/cpp/cpptest"
	"rules_dnn/gen/graph/interp"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/irtest"
	"rules_dnn/gen/kernel/loop"
	"rules_dnn/gen/pipeline"
	"rules_dnn/gen/program/plan"
	"rules_dnn/gen/program/run"
	"rules_dnn/gen/target"
	"rules_dnn/gen/testing/modeltest/attentiontest"
)

// slow is a chip whose caches hold nothing, so that scores are in none.
func slow(t *testing.T, name string) *target.Target {
	chip, err := Chip(name)
	require.NoError(t, err)
	for _, c := range append([]*target.Target{chip}, chip.Processors()...) {
		c.L3, c.L3BytesPerCycle, c.BytesPerCycle = 1<<12, 1e-3, 1e-3
	}
	chip.L2 = 1 << 12
	return chip
}

// TestAttentionTasks: where scores of all heads stay in no cache, a task computes those of its queries, of some keys at a time, and what becomes of rows in which
// no key counts or whose scores are no numbers is what the operators' expressions give.
func TestAttentionTasks(t *testing.T) {
	names, texts := attentiontest.Graphs()
	var cases []cpptest.Case
	var wants []*ir.Tensor
	for i, name := range names {
		g := irtest.Parse(t, texts[i])
		in := attentiontest.Inputs(g)
		wanted := expected(t, g, in)
		for k, chip := range Chips {
			p, err := CompileFor(irtest.Parse(t, texts[i]), slow(t, chip), nil)
			require.NoError(t, err)
			require.Equal(t, 1, attentiontest.Kernels(p), "%s for %s\n%s", name, chip, p)
			out, err := run.Program(p, in)
			require.NoError(t, err, "%s for %s", name, chip)
			require.NoError(t, attentiontest.Near(wanted, out[0]), "%s for %s", name, chip)
			if k == 1 {
				cases, wants = append(cases, cpptest.Case{Name: name, Program: p, Inputs: in}), append(wants, wanted)
			}
		}
	}
	for i, got := range cpptest.Run(t, "../../..", cases, "-O1") {
		require.Zero(t, got.Status, cases[i].Name)
		assert.NoError(t, attentiontest.Near(wants[i], got.Outputs[0]), cases[i].Name)
	}
}

// TestAttentionInHalves: masks of numbers beyond what 16 bits hold give what they do in f32, also rows that are masked whole.
func TestAttentionInHalves(t *testing.T) {
	names, texts := attentiontest.Halves()
	var cases []cpptest.Case
	var wants []*ir.Tensor
	for i, name := range names {
		g := irtest.Parse(t, texts[i])
		in := attentiontest.HalvesInputs(g)
		want := expected(t, g, in)
		for k, chip := range Chips {
			for _, store := range loop.Halves {
				p, err := compile(&pipeline.State{Graph: irtest.Parse(t, texts[i]), Target: slow(t, chip), Store: store}, nil)
				require.NoError(t, err)
				out, err := run.Program(p, in)
				require.NoError(t, err, "%s for %s", name, chip)
				assert.NoError(t, attentiontest.Within(want, out[0], 2*tolerances[store]), "%s for %s in %s\n%s", name, chip, store, p.Precision.Kept)
				if k == 1 {
					cases, wants = append(cases, cpptest.Case{Name: name + " in " + store.String(), Program: p, Inputs: in}), append(wants, want)
				}
			}
		}
	}
	for i, got := range cpptest.Run(t, "../../..", cases, "-O1") {
		require.Zero(t, got.Status, cases[i].Name)
		assert.NoError(t, attentiontest.Within(wants[i], got.Outputs[0], 2*tolerances[ir.BF16]), cases[i].Name)
	}
}

func expected(t *testing.T, g *ir.Graph, in []*ir.Tensor) *ir.Tensor {
	byName := map[string]*ir.Tensor{}
	for i, v := range g.Inputs {
		byName[v.Name] = in[i]
	}
	out, err := interp.Graph(g, byName)
	require.NoError(t, err)
	return out[0]
}

// TestAttentionSizes: any number of queries, keys and elements, that a symbol gives too, is attention by tasks; heads are read and stored as the rows around them
// have them.
func TestAttentionSizes(t *testing.T) {
	for _, c := range []struct {
		name, text string
		dims       map[string]int64
	}{
		{"heads of 64, 197 keys", simpleAttention("3", "197", "197", 64, 64), nil},
		{"windows of 49", simpleAttention("6", "49", "49", 32, 32), nil},
		{"more queries than keys", simpleAttention("1", "150", "130", 40, 40), nil},
		{"more keys than queries", simpleAttention("2", "18", "300", 16, 70), nil},
		{"heads of 5 and values of 3", simpleAttention("2", "17", "19", 5, 3), nil},
		{"tokens that a symbol gives", "symbol T 64..300\n" + simpleAttention("2", "T", "T", 64, 64), map[string]int64{"T": 77}},
		{"the most tokens", "symbol T 64..300\n" + simpleAttention("2", "T", "T", 64, 64), map[string]int64{"T": 300}},
		{"turned heads", heads(2, 96, 3, 32), nil},
		{"many elements", simpleAttention("2", "70", "90", 1000, 600), nil},
		{"one number for each query", "symbol T 64..300\n" + maskedAttention("70", "T", "70, 1"), map[string]int64{"T": 133}},
		{"one number for each batch and key", "symbol T 64..300\n" + maskedAttention("T", "90", "3, 1, 90"), map[string]int64{"T": 133}},
		{"keys after others", caches, map[string]int64{"P": 100}},
		{"keys after none", caches, map[string]int64{"P": 0}},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := irtest.Parse(t, c.text)
			in := ofSize(t, g, c.dims)
			want := expected(t, g, in)
			for _, chip := range Chips {
				p, err := CompileFor(irtest.Parse(t, c.text), slow(t, chip), nil)
				require.NoError(t, err)
				require.Equal(t, 1, attentiontest.Kernels(p), "%s\n%s", chip, p)
				assert.Empty(t, turns(p), chip)
				out, err := run.Program(p, in)
				require.NoError(t, err, chip)
				require.NoError(t, compare(out[0], want), chip)
			}
		})
	}
}

// TestAttentionTails: a task of queries that need not all be there has tiles of results for those that are.
func TestAttentionTails(t *testing.T) {
	tiles := regexp.MustCompile(`serial g3m_9 = i\d\*\d+ clip`)
	for _, c := range []struct {
		queries string
		want    bool
	}{{"T", true}, {"197", true}, {"192", false}} {
		g := irtest.Parse(t, "symbol T 64..300\n"+simpleAttention("2", c.queries, "192", 64, 64))
		p, err := CompileFor(g, slow(t, "x86_64_v4"), nil)
		require.NoError(t, err)
		var schedules []string
		for _, s := range p.Calls() {
			schedules = append(schedules, s.Schedule)
		}
		assert.Equal(t, c.want, tiles.MatchString(strings.Join(schedules, "\n")), "%s queries\n%s", c.queries, schedules)
	}
}

// ofSize are inputs of a graph whose symbols have values.
func ofSize(t *testing.T, g *ir.Graph, dims map[string]int64) []*ir.Tensor {
	r := rand.New(rand.NewPCG(1, 9))
	var in []*ir.Tensor
	for _, v := range g.Inputs {
		var shape []int64
		for _, e := range v.Shape {
			n, err := e.Eval(dims)
			require.NoError(t, err)
			shape = append(shape, n)
		}
		x := ir.NewTensor(v.Type, shape...)
		for i := range x.Len() {
			setNumber(x, i, r.Float32()*4-2)
		}
		in = append(in, x)
	}
	return in
}

// caches has keys and values of so many tokens before those at hand.
const caches = "symbol P 0..300\ninput %q f32[1, 4, 20, 16]\ninput %k f32[1, 2, 20, 16]\ninput %v f32[1, 2, 20, 24]\ninput %pk f32[1, 2, P, 16]\ninput %pv f32[1, 2, P, 24]\n" +
	"%y ?[*], %nk ?[*], %nv ?[*] = Attention.24(%q, %k, %v, _, %pk, %pv) {is_causal = 1}\noutput %y\noutput %nk\noutput %nv\n"

// maskedAttention is of scores that are scaled by what an input gives, with a mask of some of their axes.
func maskedAttention(queries, keys, mask string) string {
	return fmt.Sprintf("input %%q f32[3, %s, 16]\ninput %%k f32[3, 16, %s]\ninput %%v f32[3, %s, 24]\ninput %%scale f32[]\ninput %%mask f32[%s]\n", queries, keys, keys, mask) +
		"%s ?[*] = MatMul.13(%q, %k)\n%c ?[*] = Mul.14(%s, %scale)\n%m ?[*] = Add.14(%c, %mask)\n%p ?[*] = Softmax.13(%m) {axis = -1}\n%y ?[*] = MatMul.13(%p, %v)\noutput %y\n"
}

// TestAttentionWithoutKeys: where there may be no key there is no last chunk of keys, so that kernels of their own compute attention: results are sums of nothing.
func TestAttentionWithoutKeys(t *testing.T) {
	text := "symbol T 0..300\n" + simpleAttention("3", "40", "T", 16, 24)
	for _, chip := range Chips {
		p, err := CompileFor(irtest.Parse(t, text), slow(t, chip), nil)
		require.NoError(t, err, chip)
		assert.Zero(t, attentiontest.Kernels(p), chip)
		for _, n := range []int64{0, 1, 33} {
			g := irtest.Parse(t, text)
			in := ofSize(t, g, map[string]int64{"T": n})
			out, err := run.Program(p, in)
			require.NoError(t, err, "%s, %d keys", chip, n)
			assert.NoError(t, compare(out[0], expected(t, g, in)), "%s, %d keys", chip, n)
		}
	}
}

// simpleAttention is of so many heads, whose keys are given as rows of elements.
func simpleAttention(batch, queries, keys string, depth, wide int) string {
	return fmt.Sprintf("input %%q f32[%s, %s, %d]\ninput %%k f32[%s, %d, %s]\ninput %%v f32[%s, %s, %d]\n", batch, queries, depth, batch, depth, keys, batch, keys, wide) +
		"%s ?[*] = MatMul.13(%q, %k)\n%p ?[*] = Softmax.13(%s) {axis = -1}\n%y ?[*] = MatMul.13(%p, %v)\noutput %y\n"
}

// TestAttentionInCaches: kernels of their own compute scores that caches hold.
func TestAttentionInCaches(t *testing.T) {
	for _, c := range []struct {
		chip, tokens string
		want         int
	}{{"x86_64_zen4", "128", 0}, {"x86_64_zen4", "1024", 1}, {"x86_64_v3", "128", 0}, {"x86_64_v3", "1024", 1}, {"arm64", "128", 0}, {"arm64", "1024", 1}} {
		text := simpleAttention("8", c.tokens, c.tokens, 64, 64)
		var programs []*plan.Program
		for _, off := range [][]string{nil, {"attention"}} {
			p, err := Compile(irtest.Parse(t, text), Config{Chip: c.chip, Disable: off})
			require.NoError(t, err)
			programs = append(programs, p)
		}
		assert.Equal(t, c.want, attentiontest.Kernels(programs[0]), "%s tokens for %s", c.tokens, c.chip)
		assert.Zero(t, attentiontest.Kernels(programs[1]), c.tokens)
	}
}

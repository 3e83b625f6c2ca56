package opencl_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/emit/opencl"
	"rules_dnn/gen/emit/opencl/opencltest"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/program/plan"
	"rules_dnn/gen/program/run"
)

// attention is a model of heads of so many queries, keys and elements, with what is done to scores in between.
func attention(m *model, batch string, queries, keys string, depth, wide int, scores ...string) *model {
	if strings.Contains(queries+keys, "T") {
		m.line("symbol T 1..300")
	}
	m.line("input %%q f32[%s, %s, %d]", batch, queries, depth).line("input %%k f32[%s, %s, %d]", batch, keys, depth).line("input %%v f32[%s, %s, %d]", batch, keys, wide)
	m.line("%%t ?[*] = Transpose.13(%%k) {perm = [%s]}", map[bool]string{true: "0, 1, 3, 2", false: "0, 2, 1"}[strings.Contains(batch, ",")])
	m.line("%%s0 ?[*] = MatMul.13(%%q, %%t)")
	for i, s := range scores {
		m.line("%%s%d ?[*] = "+s, i+1, i)
	}
	return m.line("%%p ?[*] = Softmax.13(%%s%d) {axis = -1}", len(scores)).line("%%y ?[*] = MatMul.13(%%p, %%v)").line("output %%y")
}

// masked is attention of 20 queries and 70 keys, of which the first query has none, and others only late ones; its weights are no numbers, and become 0.
func masked(m *model) *model {
	var xs []string
	for i := range 20 {
		for k := range 70 {
			xs = append(xs, map[bool]string{true: "-inf", false: "0"}[i == 0 || k < 3*i])
		}
	}
	m.line("const @mask f32[20, 70] = {%s}", strings.Join(xs, ", ")).line("const @zero f32[] = {0}")
	m.line("input %%q f32[2, 20, 16]").line("input %%k f32[2, 16, 70]").line("input %%v f32[2, 70, 24]")
	m.line("%%s ?[*] = MatMul.13(%%q, %%k)").line("%%a ?[*] = Add.14(%%s, @mask)").line("%%p ?[*] = Softmax.13(%%a) {axis = -1}")
	m.line("%%n ?[*] = IsNaN.13(%%p)").line("%%w ?[*] = Where.16(%%n, @zero, %%p)")
	return m.line("%%y ?[*] = MatMul.13(%%w, %%v)").line("output %%y")
}

// causal is a mask of minus infinity beyond the diagonal.
func causal(m *model, queries, keys int) *model {
	var xs []string
	for i := range queries {
		for k := range keys {
			xs = append(xs, map[bool]string{true: "-inf", false: "0"}[k > i])
		}
	}
	return m.line("const @mask f32[%d, %d] = {%s}", queries, keys, strings.Join(xs, ", "))
}

// attentions are models that one kernel of work-groups computes.
var attentions = []struct {
	name  string
	model *model
}{
	{"heads of 64, 197 keys", attention(newModel().line("const @c f32[] = {0.125}"), "3", "197", "197", 64, 64, "Mul.14(%%s%d, @c)")},
	{"windows of 49", attention(newModel().weights("b", 3, 49, 49), "2, 3", "49", "49", 32, 32, "Add.14(%%s%d, @b)")},
	{"heads of 40 and 77 keys", attention(newModel(), "2", "64", "77", 40, 40)},
	{"a query without keys", masked(newModel())},
	{"heads of 80", attention(newModel(), "1, 2", "50", "33", 80, 80)},
	{"heads of 128 and values of 70", attention(newModel(), "2", "40", "90", 128, 70)},
	{"heads of 160", attention(newModel(), "2", "64", "64", 160, 160)},
	{"heads of 5 and values of 3", attention(newModel(), "2", "17", "19", 5, 3)},
	{"causal, of 128 tokens", attention(causal(newModel(), 128, 128).line("const @c f32[] = {0.125}"), "1, 2", "128", "128", 64, 64, "Mul.14(%%s%d, @c)", "Add.14(%%s%d, @mask)")},
	{"a batch that a symbol gives", attention(newModel().line("symbol N 1..4"), "N, 2", "65", "66", 32, 32)},
	{"tokens that a symbol gives", attention(newModel(), "2", "T", "T", 64, 64)},
	{"keys that a symbol gives", attention(newModel(), "2", "30", "T", 64, 64)},
}

// TestAttention: a softmax and the products around it are one kernel of work-groups, with a running maximum and sum.
func TestAttention(t *testing.T) {
	var cases []opencltest.Case
	var want [][]*ir.Tensor
	for _, name := range []string{"opencl_nvidia", "opencl_buffers"} {
		d := device(t, name)
		d.OpenCL.LaunchMicros = 1e4 // or estimates would have some as three kernels
		for _, b := range attentions {
			p := compile(t, b.model.graph(t), d)
			require.Len(t, p.Calls(), 1, "%s on %s\n%s", b.name, name, p)
			require.Equal(t, "attention", p.Calls()[0].Kernel.Anchor, "%s on %s", b.name, name)
			src, err := opencl.Print(p, d)
			require.NoError(t, err)
			again, err := opencl.Print(compile(t, b.model.graph(t), d), d)
			require.NoError(t, err)
			require.Equal(t, src.Text, again.Text)
			for _, tokens := range []int64{1, 77, 130} {
				if !strings.Contains(b.name, "tokens that") && !strings.Contains(b.name, "keys that") && tokens != 77 {
					continue
				}
				c := opencltest.Case{Name: fmt.Sprintf("%s on %s, %d", b.name, name, tokens), Program: p, Device: d, Dims: map[string]int64{"N": 3, "T": tokens}}
				want = append(want, looped(t, &c, b.model.graph(t)))
				cases = append(cases, c)
			}
		}
	}
	runs(t, cases, want)
}

// TestAttentionOfSomeKeys: a softmax whose maximum or total is of some keys alone stays kernels of its own.
func TestAttentionOfSomeKeys(t *testing.T) {
	for _, c := range []struct {
		name, most, total string // of which scores and powers
		want              bool
	}{
		{"all keys", "s", "e", true},
		{"maximum of some", "s0", "e", false},
		{"total of some", "s", "e0", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newModel().line("const @last i64[1] = {-1}").line("const @first i64[1] = {0}").line("const @half i64[1] = {35}")
			m.line("input %%q f32[2, 20, 16]").line("input %%k f32[2, 16, 70]").line("input %%v f32[2, 70, 24]")
			m.line("%%s ?[*] = MatMul.13(%%q, %%k)").line("%%s0 ?[*] = Slice.13(%%s, @first, @half, @last)").line("%%m ?[*] = ReduceMax.13(%%%s) {axes = [-1]}", c.most)
			m.line("%%d ?[*] = Sub.14(%%s, %%m)").line("%%e ?[*] = Exp.13(%%d)").line("%%e0 ?[*] = Slice.13(%%e, @first, @half, @last)").line("%%t ?[*] = ReduceSum.13(%%%s, @last)", c.total)
			m.line("%%p ?[*] = Div.14(%%e, %%t)").line("%%y ?[*] = MatMul.13(%%p, %%v)").line("output %%y")
			d := device(t, "opencl_nvidia")
			d.OpenCL.LaunchMicros = 1e4
			g := m.graph(t)
			p := compile(t, m.graph(t), d)
			assert.Equal(t, c.want, slices.ContainsFunc(p.Calls(), func(c *plan.Call) bool { return c.Kernel.Anchor == "attention" }))
			r := rand.New(rand.NewPCG(1, 2))
			in := []*ir.Tensor{random(r, ir.F32, 2, 20, 16), random(r, ir.F32, 2, 16, 70), random(r, ir.F32, 2, 70, 24)}
			out, err := run.Program(p, in)
			require.NoError(t, err)
			agrees(t, g, in, out)
		})
	}
}

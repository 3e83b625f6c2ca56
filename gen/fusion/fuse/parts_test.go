package fuse

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
)

// TestParts: what has few results of many points is cut into parts; what has many results, or few points, or is a contraction, is not.
func TestParts(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       []string
		parts      string // the shape of the first block's results
	}{
		{"a mean of everything", `
  input %x f32[1, 64, 8, 8]
  %y ?[*] = ReduceMean.13(%x)
  output %y
`, []string{"ReduceMean", "ReduceMean"}, "[1 64 1 1 1 1]"},
		{"axes before the one that is cut", `
  input %x f32[3, 128, 128]
  %y ?[*] = ReduceMax.13(%x)
  output %y
`, []string{"ReduceMax", "ReduceMax"}, "[3 32 1 1 1]"},
		{"places of the greatest", `
  input %x f32[4, 4096]
  %y ?[*] = ArgMax.13(%x) {axis = 1}
  output %y
`, []string{"ArgMax", "ArgMax"}, "[64 4 1]"},
		{"what follows joins where parts are joined", `
  input %x f32[1, 4096]
  input %z f32[1, 1]
  %s ?[*] = ReduceSum.11(%x) {axes = [1]}
  %y ?[*] = Add.14(%s, %z)
  output %y
`, []string{"ReduceSum+Add", "ReduceSum+Add"}, "[64 1 1]"},
		{"many results", `
  input %x f32[128, 512]
  %y ?[*] = ReduceMax.13(%x) {axes = [1]}
  output %y
`, []string{"ReduceMax"}, "[128 1]"},
		{"results that are few vectors", `
  input %x f32[1, 64, 16, 16]
  %y ?[*] = GlobalAveragePool.1(%x)
  output %y
`, []string{"GlobalAveragePool", "GlobalAveragePool"}, "[8 1 64 1 1]"},
		{"few points", `
  input %x f32[1, 1024]
  %y ?[*] = ReduceMax.13(%x) {axes = [1]}
  output %y
`, []string{"ReduceMax"}, "[1 1]"},
		{"no number of parts", `
  input %x f32[1, 4099]
  %y ?[*] = ReduceMax.13(%x) {axes = [1]}
  output %y
`, []string{"ReduceMax"}, "[1 1]"},
		{"a contraction", `
  input %x f32[1, 4096]
  input %w f32[4096, 1]
  %y ?[*] = MatMul.13(%x, %w)
  output %y
`, []string{"MatMul"}, "[1 1]"},
		{"rows of a chain", `
  input %x f32[2, 4096]
  %y ?[*] = Softmax.13(%x) {axis = 1}
  output %y
`, []string{"Softmax", "Softmax", "Softmax", "Softmax", "Softmax", "Softmax"}, "[64 2]"},
	} {
		g := blocks(t, c.text)
		Run(g, Options{Tasks: 64, TaskElements: 64, Lanes: 8})
		require.NoError(t, g.Verify(), c.name)
		assert.Equal(t, c.want, summary(g), c.name)
		assert.Equal(t, c.parts, fmt.Sprint(g.Blocks[0].Results[0].Shape), c.name)
	}
}

// TestLongRows: rows that leave the cache are no chain, shorter ones are.
func TestLongRows(t *testing.T) {
	for want, text := range map[int]string{
		1: "input %x f32[1, 64, 32, 32]\n%y ?[*] = InstanceNormalization.6(%x, %s, %s)\noutput %y\n",
		3: "input %x f32[1, 64, 256, 128]\n%y ?[*] = InstanceNormalization.6(%x, %s, %s)\noutput %y\n",
	} {
		g := blocks(t, "input %s f32[64]\n"+text)
		Run(g, Options{CacheBytes: 64 << 10})
		require.NoError(t, g.Verify())
		assert.Len(t, g.Blocks, want, text)
	}
}

func TestCut(t *testing.T) {
	for _, c := range []struct {
		extents []int64
		wanted  int64
		axis    int
		parts   int64
		name    string
	}{
		{[]int64{4096}, 64, 0, 64, "a divisor as wanted"},
		{[]int64{100, 7}, 8, 0, 10, "the next divisor"},
		{[]int64{3, 100}, 9, 1, 4, "whole axes before"},
		{[]int64{2, 3, 5}, 60, 0, 0, "not so many points"},
		{[]int64{1009, 64}, 64, 0, 0, "a prime of too many parts"},
		{[]int64{6 * 1009}, 64, 0, 6, "fewer than wanted"},
	} {
		var reduce []te.Axis
		for _, n := range c.extents {
			reduce = append(reduce, te.Axis{Var: "r", Extent: sym.Const(n)})
		}
		axis, parts := cut(reduce, c.wanted)
		assert.Equal(t, []int64{int64(c.axis), c.parts}, []int64{int64(axis), parts}, c.name)
	}
	axis, parts := cut([]te.Axis{{Var: "r", Extent: sym.Var("N")}}, 64)
	assert.Equal(t, []int64{0, 0}, []int64{int64(axis), parts}, "symbols")
}

package pipeline

import (
	"fmt"
	"strings"
)

// pooled is a pool, of what a convolution of one point makes of 16 channels and so in blocks of channels where blocked is set.
func pooled(shape, pool string, blocked bool) string {
	conv, from := "", "x"
	if blocked {
		rank := strings.Count(shape, ",") - 1
		weights := strings.TrimSuffix(strings.Repeat("0.5, -0.25, 0.125, 1, ", 64), ", ")
		conv = fmt.Sprintf("  const @w f32[16, 16%s] = {%s}\n", strings.Repeat(", 1", rank), weights)
		from = "c"
	}
	out := "graph \"g\" opset 19 {\n  symbol H 3..64\n  symbol W 3..64\n" + conv + "  input %x f32[" + shape + "]\n"
	if blocked {
		out += "  %c ?[*] = Conv.11(%x, @w)\n"
	}
	return out + "  %y ?[*] = " + strings.Replace(pool, "%x", "%"+from, 1) + "\n  output %y\n}"
}

// poolCases are pools: windows that lie wholly within the operand run in loops of their own, in vectors, and borders beside them.
func poolCases() []nestCase {
	const same = "{kernel_shape = [3, 3], pads = [1, 1, 1, 1]"
	return []nestCase{
		{
			name: "the interior of a pool in blocks", graph: pooled("1, 16, 20, 24", "MaxPool.12(%x) "+same+", strides = [2, 2]}", true), shapes: [][]int64{{1, 16, 20, 24}},
			has: []string{`p3 < 11; (?s:.)*r1 < 3; \+\+r1`, `Block1, 6\)`}, hasNot: []string{`task / \d+\) %`},
		},
		{
			name: "means of what is there, in blocks", graph: pooled("1, 16, 20, 24", "AveragePool.19(%x) "+same+"}", true), shapes: [][]int64{{1, 16, 20, 24}},
			has: []string{`p3 < 22; (?s:.)*r1 < 3; \+\+r1`, `dnn_store\(y0 .*, acc0 / t`}, hasNot: []string{`\] = t\d+ / t`},
		},
		{
			name: "the interior of a pool in rows", graph: pooled("1, 2, 20, 24", "MaxPool.12(%x) "+same+"}", false), shapes: [][]int64{{1, 2, 20, 24}},
			has: []string{`(?s)s0row\[0\] = .*w0c_93 < 24; w0c_93 \+= 4.*p3 < 24; p3 \+= 4`},
		},
		{
			name: "rows of columns of windows that lie apart", graph: pooled("1, 2, 21, 45", "MaxPool.12(%x) "+same+", strides = [2, 2]}", false), shapes: [][]int64{{1, 2, 21, 45}},
			has: []string{`(?s)w0c_93 < 44; w0c_93 \+= 4.*w0c_94 < 4;.*dnn_load_apart<dnn_f32x4, 2>\(s0row`},
		},
		{
			name: "columns of three dimensions", graph: pooled("1, 2, 5, 9, 12", "MaxPool.12(%x) {kernel_shape = [3, 3, 3], pads = [1, 1, 1, 1, 1, 1]}", false), shapes: [][]int64{{1, 2, 5, 9, 12}},
			has: []string{`w0c_93 < 12; w0c_93 \+= 4`},
		},
		{
			name: "columns beside which nothing is", graph: pooled("1, 2, 9, 21", "MaxPool.12(%x) {kernel_shape = [3, 3], strides = [2, 2]}", false), shapes: [][]int64{{1, 2, 9, 21}},
			has: []string{`w0c_93 < 20;`}, hasNot: []string{`s0row\[0\] =`},
		},
		{
			name: "windows along rows, with the padding beside these", graph: pooled("1, 2, 9, 20", "MaxPool.12(%x) {kernel_shape = [1, 9], pads = [0, 4, 0, 4]}", false), shapes: [][]int64{{1, 2, 9, 20}},
			has: []string{`(?s)s0row\[28 \* \w+\] = .*w0c_93 < 20;.*dnn_load<dnn_f32x4>\(s0row`},
		},
		{
			name: "sums along rows, with the padding beside these", graph: pooled("1, 2, 37", "AveragePool.19(%x) {kernel_shape = [13], pads = [6, 6], count_include_pad = 1}", false), shapes: [][]int64{{1, 2, 37}},
			has: []string{`s0row\[.*\] = 0\.0f`},
		},
		{
			name: "rows below each other as one", graph: pooled("1, 2, 9, 22", "MaxPool.12(%x) {kernel_shape = [5, 1], pads = [2, 0, 2, 0]}", false), shapes: [][]int64{{1, 2, 9, 22}},
			has: []string{`p3(_step)? < 110;`},
		},
		{
			name: "windows side by side in rows", graph: pooled("1, 2, 20, 25", "MaxPool.12(%x) {kernel_shape = [2, 3], pads = [0, 0, 0, 0], strides = [2, 3]}", false), shapes: [][]int64{{1, 2, 20, 25}},
			has: []string{`dnn_load_apart<dnn_f32x4, 3>`},
		},
		{
			name: "every second window in rows", graph: pooled("1, 2, 20, 64", "AveragePool.19(%x) "+same+", strides = [2, 2]}", false), shapes: [][]int64{{1, 2, 20, 64}},
			has: []string{`dnn_load_apart<dnn_f32x4, 2>`},
		},
		{
			name: "of many sizes", graph: pooled("1, 16, H, W", "AveragePool.19(%x) "+same+", ceil_mode = 1, strides = [2, 2]}", true),
			shapes: [][]int64{{1, 16, 20, 24}, {1, 16, 3, 3}, {1, 16, 4, 33}, {1, 16, 64, 5}}, has: []string{`r1 < 3; \+\+r1`},
		},
		{
			name: "of three dimensions", graph: pooled("1, 16, 5, 9, 12", "MaxPool.12(%x) {kernel_shape = [3, 3, 3], pads = [1, 1, 1, 1, 1, 1]}", true), shapes: [][]int64{{1, 16, 5, 9, 12}},
			has: []string{`(?s)w0c_93 < 12; w0c_93 \+= 4.*p4 < 12; p4 \+= 4`},
		},
		{
			name: "of one dimension", graph: pooled("1, 16, 50", "LpPool.18(%x) {kernel_shape = [5], pads = [2, 2], p = 2}", true), shapes: [][]int64{{1, 16, 50}},
			has: []string{`r0 < 5; \+\+r0`, `r0_count_91`}, hasNot: []string{`< 50 \?`},
		},
		{
			name: "windows of which none lies within", graph: pooled("1, 16, 4, 5", "MaxPool.12(%x) {kernel_shape = [7, 7], pads = [3, 3, 3, 3]}", true), shapes: [][]int64{{1, 16, 4, 5}},
		},
		{
			name: "windows of one element", graph: pooled("1, 16, 4, 5", "MaxPool.12(%x) {kernel_shape = [1, 1], pads = [0, 0, 0, 0], strides = [2, 2], ceil_mode = 1}", true), shapes: [][]int64{{1, 16, 4, 5}},
		},
		{
			name: "means of one element or none", graph: pooled("1, 16, 8, 9", "AveragePool.19(%x) {kernel_shape = [1, 1], pads = [1, 1, 1, 1], count_include_pad = 1}", true), shapes: [][]int64{{1, 16, 8, 9}},
		},
		{
			name: "dilated windows", graph: pooled("1, 16, 12, 21", "MaxPool.12(%x) {kernel_shape = [3, 3], pads = [2, 3, 2, 1], dilations = [2, 3], strides = [1, 2]}", true), shapes: [][]int64{{1, 16, 12, 21}},
			has: []string{`r1 < 3; \+\+r1`},
		},
	}
}

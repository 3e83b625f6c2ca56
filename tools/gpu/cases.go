package main

import (
	"fmt"
	"strings"
)

// testCase is an operator on inputs, and what PyTorch calls it.
type testCase struct {
	name string
	// graph is its lines in the text of graphs, and torch an expression of a, b, ... in the order of the inputs.
	graph, torch string
	flop         int64
}

func cases() []testCase {
	var out []testCase
	for _, n := range []int64{1024, 2048, 4096} {
		out = append(out, matmul(n, n, n))
	}
	for _, m := range []int64{49, 197} {
		for _, nk := range [][2]int64{{768, 768}, {3072, 768}, {768, 3072}} {
			out = append(out, matmul(m, nk[0], nk[1]))
		}
	}
	out = append(out, matmul(1, 1000, 2048), matmul(1, 4096, 4096))
	for _, n := range []int64{1, 16} {
		for _, c := range [][2]int64{{64, 56}, {128, 28}, {256, 14}, {512, 7}} {
			out = append(out, conv(n, c[0], c[0], c[1], 3), conv(n, c[0], 4*c[0], c[1], 1))
		}
	}
	out = append(out,
		testCase{"scores of 12 heads", "input %a f32[12, 197, 64]\ninput %b f32[12, 64, 197]\n%y ?[*] = MatMul.13(%a, %b)\noutput %y", "torch.matmul(a, b)", 2 * 12 * 197 * 197 * 64},
		testCase{"softmax 12x197x197", "input %a f32[12, 197, 197]\n%y ?[*] = Softmax.13(%a) {axis = -1}\noutput %y", "torch.softmax(a, -1)", 0},
		testCase{"add 32", "input %a f32[32]\ninput %b f32[32]\n%y ?[*] = Add.14(%a, %b)\noutput %y", "a + b", 0},
		testCase{"add 16x256x56x56", "input %a f32[16, 256, 56, 56]\ninput %b f32[16, 256, 56, 56]\n%y ?[*] = Add.14(%a, %b)\noutput %y", "a + b", 0},
		testCase{"transpose 16x3136x256", "input %a f32[16, 3136, 256]\n%y ?[*] = Transpose.13(%a) {perm = [0, 2, 1]}\noutput %y", "a.transpose(1, 2).contiguous()", 0},
	)
	return out
}

func matmul(m, n, k int64) testCase {
	return testCase{fmt.Sprintf("MatMul %dx%dx%d", m, n, k),
		fmt.Sprintf("input %%a f32[%d, %d]\ninput %%b f32[%d, %d]\n%%y ?[*] = MatMul.13(%%a, %%b)\noutput %%y", m, k, k, n), "torch.matmul(a, b)", 2 * m * n * k}
}

func conv(batch, in, out, side, kernel int64) testCase {
	pad := kernel / 2
	pads := strings.TrimSuffix(strings.Repeat(fmt.Sprintf("%d, ", pad), 4), ", ")
	return testCase{fmt.Sprintf("Conv %dx%d %d to %d, %dx%d, batch %d", kernel, kernel, in, out, side, side, batch),
		fmt.Sprintf("input %%a f32[%d, %d, %d, %d]\ninput %%b f32[%d, %d, %d, %d]\n%%y ?[*] = Conv.11(%%a, %%b) {pads = [%s]}\noutput %%y", batch, in, side, side, out, in, kernel, kernel, pads),
		fmt.Sprintf("torch.nn.functional.conv2d(a, b, padding=%d)", pad), 2 * batch * in * out * side * side * kernel * kernel}
}

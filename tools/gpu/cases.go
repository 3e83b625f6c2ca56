package main

import (
	"fmt"
	"math"
	"strings"
)

// testCase is an operator on inputs, and what PyTorch calls it.
type testCase struct {
	name string
	// graph is its lines in the text of graphs, and torch an expression of a, b, ... in the order
	// of the inputs.
	graph, torch string
	flop         int64
	without      []string // parts of the compiler that are left out
	known        bool     // the last input is weights, which are known when the operator is compiled
	winograd     int64    // results along each axis of the transform by which convolutions are computed; 0: as the device's facts say
}

// operator returns the case of a single operator.
func operator(name, graph, torch string, flop int64) testCase {
	return testCase{name: name, graph: graph, torch: torch, flop: flop}
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
			out = append(out, known(conv(n, c[0], c[0], c[1], 3))...)
		}
	}
	for _, c := range [][4]int64{{12, 197, 197, 64}, {12, 128, 128, 64}, {192, 49, 49, 32}, {8, 1024, 1024, 40}, {8, 256, 256, 80}, {8, 64, 77, 160}, {192, 197, 197, 64}, {128, 1024, 1024, 40}} {
		one := attention(c[0], c[1], c[2], c[3])
		out = append(out, one)
		one.name, one.without = one.name+", three kernels", []string{"attention"}
		out = append(out, one)
	}
	out = append(out,
		operator("scores of 12 heads", "input %a f32[12, 197, 64]\ninput %b f32[12, 64, 197]\n%y ?[*] = MatMul.13(%a, %b)\noutput %y", "torch.matmul(a, b)", 2*12*197*197*64),
		operator("softmax 12x197x197", "input %a f32[12, 197, 197]\n%y ?[*] = Softmax.13(%a) {axis = -1}\noutput %y", "torch.softmax(a, -1)", 0),
		operator("add 32", "input %a f32[32]\ninput %b f32[32]\n%y ?[*] = Add.14(%a, %b)\noutput %y", "a + b", 0),
		operator("add 16x256x56x56", "input %a f32[16, 256, 56, 56]\ninput %b f32[16, 256, 56, 56]\n%y ?[*] = Add.14(%a, %b)\noutput %y", "a + b", 0),
		operator("transpose 16x3136x256", "input %a f32[16, 3136, 256]\n%y ?[*] = Transpose.13(%a) {perm = [0, 2, 1]}\noutput %y", "a.transpose(1, 2).contiguous()", 0),
	)
	return out
}

// attention returns the case of attention with the given numbers of heads, queries, keys and
// elements of each.
func attention(heads, queries, keys, depth int64) testCase {
	scale := 1 / math.Sqrt(float64(depth))
	return operator(fmt.Sprintf("attention of %d heads, %dx%dx%d", heads, queries, keys, depth),
		fmt.Sprintf(`const @s f32[] = {%v}
input %%a f32[%d, %d, %d]
input %%b f32[%d, %d, %d]
input %%c f32[%d, %d, %d]
%%t ?[*] = Transpose.13(%%b) {perm = [0, 2, 1]}
%%m ?[*] = MatMul.13(%%a, %%t)
%%z ?[*] = Mul.14(%%m, @s)
%%p ?[*] = Softmax.13(%%z) {axis = -1}
%%y ?[*] = MatMul.13(%%p, %%c)
output %%y`, scale, heads, queries, depth, heads, keys, depth, heads, keys, depth),
		"torch.nn.functional.scaled_dot_product_attention(a, b, c)", 4*heads*queries*keys*depth)
}

func matmul(m, n, k int64) testCase {
	return operator(fmt.Sprintf("MatMul %dx%dx%d", m, n, k),
		fmt.Sprintf("input %%a f32[%d, %d]\ninput %%b f32[%d, %d]\n%%y ?[*] = MatMul.13(%%a, %%b)\noutput %%y", m, k, k, n), "torch.matmul(a, b)", 2*m*n*k)
}

// known returns the cases of a convolution with constant weights, as in networks: direct and with
// Winograd's algorithm.
func known(c testCase) []testCase {
	c.name, c.known = c.name+", known weights", true
	direct := c
	direct.without = []string{"winograd"}
	out := []testCase{direct}
	for _, results := range []int64{2, 4} {
		w := c
		w.name, w.winograd = fmt.Sprintf("%s, Winograd F(%d,3)", c.name, results), results
		out = append(out, w)
	}
	return out
}

func conv(batch, in, out, side, kernel int64) testCase {
	pad := kernel / 2
	pads := strings.TrimSuffix(strings.Repeat(fmt.Sprintf("%d, ", pad), 4), ", ")
	return operator(fmt.Sprintf("Conv %dx%d %d to %d, %dx%d, batch %d", kernel, kernel, in, out, side, side, batch),
		fmt.Sprintf("input %%a f32[%d, %d, %d, %d]\ninput %%b f32[%d, %d, %d, %d]\n%%y ?[*] = Conv.11(%%a, %%b) {pads = [%s]}\noutput %%y", batch, in, side, side, out, in, kernel, kernel, pads),
		fmt.Sprintf("torch.nn.functional.conv2d(a, b, padding=%d)", pad), 2*batch*in*out*side*side*kernel*kernel)
}

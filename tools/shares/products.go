package main

import "fmt"

// product is of two square matrices of computed elements.
type product struct {
	x, w string // types of the elements
	size int64
}

// products are those that are measured.
var products = []product{
	{"f32", "f32", 256}, {"f32", "f32", 384}, {"f32", "f32", 512}, {"f32", "f32", 768}, {"f32", "f32", 1024},
	{"u8", "i8", 512}, {"u8", "i8", 1024},
	{"f16", "f16", 512}, {"bf16", "bf16", 512},
}

func (p product) String() string {
	if p.x == p.w {
		return fmt.Sprintf("%s_%d", p.x, p.size)
	}
	return fmt.Sprintf("%s%s_%d", p.x, p.w, p.size)
}

// graph is the product's, as dnnc's first action writes it.
func (p product) graph() string {
	op, y := "MatMul.13", p.x
	if p.x == "u8" || p.x == "i8" {
		op, y = "MatMulInteger.10", "i32"
	}
	return fmt.Sprintf("graph %q opset 17 {\n  input %%a %s[%d, %d]\n  input %%b %s[%d, %d]\n  %%y %s[%d, %d] = %s(%%a, %%b)\n  output %%y\n}\n",
		p, p.x, p.size, p.size, p.w, p.size, p.size, y, p.size, p.size, op)
}

// operations are the products and sums that the network asks for.
func (p product) operations() float64 { return float64(2*p.size*p.size) * float64(p.size) }

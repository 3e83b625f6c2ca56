package main

import (
	"fmt"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/target"
)

// product is of two square matrices of computed elements.
type product struct {
	x, w string // types of the elements
	size int64
	// pairs: by instructions that sum products in pairs, of chips that have them.
	pairs bool
}

// products lists the measured products.
var products = []product{
	{x: "f32", w: "f32", size: 256}, {x: "f32", w: "f32", size: 384}, {x: "f32", w: "f32", size: 512}, {x: "f32", w: "f32", size: 768}, {x: "f32", w: "f32", size: 1024},
	{x: "u8", w: "i8", size: 512}, {x: "u8", w: "i8", size: 1024},
	{x: "f16", w: "f16", size: 512}, {x: "bf16", w: "bf16", size: 512},
	{"bf16", "bf16", 512, true}, {"bf16", "bf16", 1024, true},
}

// on reports whether a chip has instructions for the product.
func (p product) on(chip *target.Target) bool {
	return !p.pairs || len(chip.InPairs().Pairs(ir.F32)) > 0
}

// options returns dnnc's options for the product.
func (p product) options() []string {
	if p.pairs {
		return []string{"--precision=bf16"}
	}
	return nil
}

func (p product) String() string {
	switch {
	case p.pairs:
		return fmt.Sprintf("%s_%d_pairs", p.x, p.size)
	case p.x == p.w:
		return fmt.Sprintf("%s_%d", p.x, p.size)
	}
	return fmt.Sprintf("%s%s_%d", p.x, p.w, p.size)
}

// graph returns the product's graph, as dnnc's first action writes it.
func (p product) graph() string {
	op, y := "MatMul.13", p.x
	if p.x == "u8" || p.x == "i8" {
		op, y = "MatMulInteger.10", "i32"
	}
	return fmt.Sprintf("graph %q opset 17 {\n  input %%a %s[%d, %d]\n  input %%b %s[%d, %d]\n  %%y %s[%d, %d] = %s(%%a, %%b)\n  output %%y\n}\n",
		p, p.x, p.size, p.size, p.w, p.size, p.size, y, p.size, p.size, op)
}

// operations returns the number of multiplications and additions of the product.
func (p product) operations() float64 { return float64(2*p.size*p.size) * float64(p.size) }

package cppapi

import (
	"fmt"

	"rules_dnn/gen/ir/sym"
)

// Profile is what a program that measures the model is told of it.
type Profile struct {
	Chip string
	// VectorBytes is the width of the kernels' vectors, VectorRegisters how many they may use.
	VectorBytes, VectorRegisters int
	Blocks                       []Block
	// Products are the kinds of products of micro-kernels besides those of floats.
	Products []Product
}

// Product is a tile instruction, of which a program that measures the model is to know how fast it is.
type Product struct {
	Name string
	// Sum and Operand are the types of registers, Text adds products of x and w to sum, as many as Count.
	Sum, Operand, Text string
	Count              int64
}

// Products of a block that Products do not tell.
const (
	FloatProducts   = 0
	UnknownProducts = -1
)

// Block is a step of the program that computes, by its number there. Sizes are negative where
// they are not known.
type Block struct {
	// Name is of the network's nodes, Kernel says how they are computed. Both may be any text.
	Name, Kernel           string
	FLOPs, Products, Bytes sym.Expr
	Device                 bool // it runs there
	// Product is a number among Products, from 1 on, or one of the constants.
	Product int
}

// profileView is what the profile's template sees.
type profileView struct {
	Generator, Api, P, InternalName string
	Chip                            string
	VectorBytes, Chains             int
	Blocks                          []blockView
	HasDevice                       bool
	Exprs                           []string
	Products                        []Product
	Variants                        []string // what the names of all variants' profiles begin with, of the first one's profile
}

type blockView struct {
	Name, Kernel, FLOPs, Products, Bytes string
	Device                               bool
	Product                              int
}

// newProfileView: sizes that need code have it in the profile, since the API's source is linked
// without. That of the first variant tells of all.
func newProfileView(m *Model, variant int) *profileView {
	p := &m.Variants[variant].Profile
	v := &view{model: m, exprIndex: map[string]int{}}
	out := &profileView{Generator: m.Generator, Api: m.Api, P: m.Variants[variant].Prefix, InternalName: m.InternalName(), Chip: p.Chip,
		VectorBytes: max(p.VectorBytes, 4), Chains: chains(p.VectorRegisters), Products: p.Products}
	for _, b := range p.Blocks {
		out.Blocks = append(out.Blocks, blockView{b.Name, b.Kernel, v.size(b.FLOPs), v.size(b.Products), v.size(b.Bytes), b.Device, b.Product})
	}
	out.Exprs, out.HasDevice = v.Exprs, m.Device != nil
	if variant > 0 {
		return out
	}
	for _, x := range m.Variants {
		out.Variants = append(out.Variants, x.Prefix)
	}
	return out
}

// chains of products and sums that fit in registers, beside two that all share.
func chains(registers int) int { return min(max(registers-4, 1), 24) }

// checkBlocks refuses sizes of other symbols than the model's. They may shrink when a symbol grows:
// they are evaluated during the run.
func (m *Model) checkBlocks() error {
	var blocks []Block
	for _, v := range m.Variants {
		blocks = append(blocks, v.Profile.Blocks...)
	}
	for _, b := range blocks {
		for _, e := range []sym.Expr{b.FLOPs, b.Products, b.Bytes} {
			set := map[string]bool{}
			e.Vars(set)
			for _, name := range sortedKeys(set) {
				if m.symbolIndex(name) < 0 {
					return fmt.Errorf("block %s: the size %s depends on %q, which is unknown there", b.Name, e, name)
				}
			}
		}
	}
	return nil
}

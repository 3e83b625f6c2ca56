package cppapi

import (
	"fmt"

	"rules_dnn/gen/sym"
)

// Profile is what a program that measures the model is told of it.
type Profile struct {
	Chip string
	// VectorBytes is the width of the kernels' vectors, VectorRegisters how many they may use.
	VectorBytes, VectorRegisters int
	Blocks                       []Block
}

// Block is a step of the program that computes, by its number there. Sizes are negative where
// they are not known.
type Block struct {
	// Name is of the network's nodes, Kernel says how they are computed. Both may be any text.
	Name, Kernel           string
	FLOPs, Products, Bytes sym.Expr
	Device                 bool // it runs there
}

// profileView is what the profile's template sees.
type profileView struct {
	Generator, Api, P, InternalName string
	Chip                            string
	VectorBytes, Chains             int
	Blocks                          []blockView
	HasDevice                       bool
	Exprs                           []string
	Variants                        []string // what the names of all variants' profiles begin with, of the first one's profile
}

type blockView struct {
	Name, Kernel, FLOPs, Products, Bytes string
	Device                               bool
}

// newProfileView: sizes that need code have it in the profile, since the API's source is linked
// without. That of the first variant tells of all.
func newProfileView(m *Model, variant int) *profileView {
	p := &m.Variants[variant].Profile
	v := &view{model: m, exprIndex: map[string]int{}}
	out := &profileView{Generator: m.Generator, Api: m.Api, P: m.Variants[variant].Prefix, InternalName: m.InternalName(), Chip: p.Chip,
		VectorBytes: max(p.VectorBytes, 4), Chains: chains(p.VectorRegisters)}
	for _, b := range p.Blocks {
		out.Blocks = append(out.Blocks, blockView{b.Name, b.Kernel, v.size(b.FLOPs), v.size(b.Products), v.size(b.Bytes), b.Device})
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
					return fmt.Errorf("block %s: the size %s depends on %q, which is not known there", b.Name, e, name)
				}
			}
		}
	}
	return nil
}

package main

import (
	"fmt"
	"regexp"
	"strings"

	"rules_dnn/gen/emit/asm"
	"rules_dnn/gen/emit/cpp"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/kernel/loop"
	"rules_dnn/gen/program/plan"
)

// multiply is a kind of instruction that multiplies vectors and adds: how it is called, and one in
// a loop of nothing else.
type multiply struct {
	name  string
	is    *regexp.Regexp
	alone string
}

var multiplies = []*multiply{
	{"a multiply-add of a vector", regexp.MustCompile(`^fml[as]$`), "fmla v%d.4s, v30.4s, v31.4s"},
	{"a dot product of vectors", regexp.MustCompile(`^[su]dot$`), "sdot v%d.4s, v30.16b, v31.16b"},
	{"a product of matrices", regexp.MustCompile(`^(s|u|us)mmla$`), "smmla v%d.4s, v30.16b, v31.16b"},
}

// block is what is known of a block of the model.
type block struct {
	number, in, out int64 // channels; 0 where they are not known
	name, kernel    string
	flops           int64 // negative where not known
	tiles           string
	// cycles of one instruction that multiplies and adds, by processor, and the limits of these;
	// none for blocks without such loops.
	cycles []cycles
	limits []float64
	of     []*multiply // by which its loops multiply
}

// part is a loop of a block, what it multiplies by, and its share of the block's products.
type part struct {
	body  []string
	of    *multiply
	share float64
}

// analyse asks for each block.
func analyse(o *options, p *plan.Program, functions map[string]*asm.Function, a *analyser) ([]*block, error) {
	var out []*block
	for i, c := range p.Calls() {
		b := describe(i, c)
		if min(b.in, b.out) < o.channels {
			continue
		}
		out = append(out, b)
		parts, err := b.parts(c, functions)
		if err != nil || len(parts) == 0 {
			if err != nil {
				return nil, err
			}
			continue // it multiplies nothing in vectors
		}
		for _, part := range parts {
			b.of = append(b.of, part.of)
		}
		for _, cpu := range o.cpus {
			var sum cycles
			limit := 0.0
			for _, part := range parts {
				each, err := a.cycles(cpu, part.body)
				if err != nil {
					return nil, fmt.Errorf("block %d, %s: %w", i, b.name, err)
				}
				least, err := a.limit(cpu, part.of)
				if err != nil {
					return nil, err
				}
				n := float64(asm.Count(part.body, part.of.is))
				sum.taken += part.share * each.taken / n
				sum.least += part.share * each.least / n
				limit += part.share * least
			}
			b.cycles, b.limits = append(b.cycles, sum), append(b.limits, limit)
		}
	}
	return out, nil
}

func describe(i int, c *plan.Call) *block {
	b := &block{number: int64(i), name: c.Block.Label(), kernel: c.Kernel.Anchor, flops: -1}
	if n, ok := c.FLOPs().Const(); ok {
		b.flops = n
	}
	for k, v := range c.Args {
		if c.Kernel.Buffers[k].Write {
			b.out = max(b.out, channels(v))
		} else if v.Const == nil && b.in == 0 {
			b.in = channels(v)
		}
	}
	return b
}

// channels returns dimension 1 of images, and the last dimension of matrices.
func channels(v *ir.Value) int64 {
	if len(v.Shape) == 0 {
		return 0
	}
	at := len(v.Shape) - 1
	if at > 2 {
		at = 1
	}
	n, _ := v.Shape[at].Const()
	return n
}

// parts returns the loops with multiply-adds: of the micro-kernels that the block calls, each with
// its share, or of its own kernel if it calls none.
func (b *block) parts(c *plan.Call, functions map[string]*asm.Function) ([]part, error) {
	shares, order := shares(c)
	if len(order) == 0 {
		f := mangled(functions, "", c.Function)
		if f == nil {
			return nil, fmt.Errorf("block %d, %s: %s is not in the assembly", b.number, b.name, c.Function)
		}
		return hot(f, 1), nil
	}
	var out []part
	var tiles []string
	for _, t := range order {
		m, name := t.Micro, cpp.TileName(t)
		f := mangled(functions, "L", name)
		if f == nil {
			return nil, fmt.Errorf("block %d, %s: %s is not in the assembly", b.number, b.name, name)
		}
		tiles = append(tiles, fmt.Sprintf("%dx%d", m.Rows, m.Vectors))
		out = append(out, hot(f, shares[name])...)
	}
	b.tiles = strings.Join(tiles, " ")
	return out, nil
}

// mangled returns the C++ function of that name with any parameters. The linkage is "L" for a
// function of one file.
func mangled(functions map[string]*asm.Function, linkage, name string) *asm.Function {
	for symbol, f := range functions {
		if strings.HasPrefix(symbol, fmt.Sprintf("_Z%s%d%s", linkage, len(name), name)) {
			return f
		}
	}
	return nil
}

// hot returns a function's innermost loops with multiply-adds, with their shares of these.
func hot(f *asm.Function, share float64) []part {
	var out []part
	all := 0.0
	for _, body := range f.Innermost() {
		for _, of := range multiplies {
			if n := asm.Count(body, of.is); n > 0 {
				out = append(out, part{body, of, float64(n)})
				all += float64(n)
				break
			}
		}
	}
	for i := range out {
		out[i].share *= share / all
	}
	return out
}

// shares returns the share of the products that each micro-kernel adds; equal shares if that is
// unknown.
func shares(c *plan.Call) (map[string]float64, []loop.Tile) {
	var order []loop.Tile
	out, all := map[string]float64{}, 0.0
	cpp.Tiles(c.Kernel, func(t loop.Tile) {
		name := cpp.TileName(t)
		if _, seen := out[name]; seen {
			return
		}
		n, known := c.Kernel.ProductsOf(func(m *loop.MicroKernel) bool { return cpp.MicroName(m) == cpp.MicroName(t.Micro) })
		count, constant := n.Const()
		if !known || !constant {
			count = 1
		}
		out[name] = float64(count)
		all += float64(count)
		order = append(order, t)
	})
	for name := range out {
		out[name] /= all
	}
	return out, order
}

package block

import (
	"fmt"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ops"
	"rules_dnn/gen/sym"
	"rules_dnn/gen/te"
)

// Form makes one block of each node. Shapes must have been inferred.
func Form(g *ir.Graph) (*Graph, error) {
	out := &Graph{Name: g.Name, Inputs: g.Inputs, Outputs: g.Outputs, Symbols: g.Symbols, Facts: Facts(g)}
	for _, n := range g.Nodes {
		b, err := fromNode(n, out.Facts)
		if err != nil {
			return nil, err
		}
		out.Blocks = append(out.Blocks, b)
	}
	if err := out.Verify(); err != nil {
		return nil, err
	}
	return out, nil
}

// Facts are the ranges of a graph's symbols.
func Facts(g *ir.Graph) sym.Facts {
	f := sym.Facts{}
	for _, s := range g.Symbols {
		f[s.Name] = sym.Range{Lo: s.Lo, Hi: s.Hi}
	}
	return f
}

func fromNode(n *ir.Node, f sym.Facts) (*Block, error) {
	m, err := ops.Build(n, f)
	if err != nil {
		return nil, err
	}
	if len(m.Outputs) < len(n.Outputs) {
		return nil, n.Errorf("%d results, the operator gives %d", len(n.Outputs), len(m.Outputs))
	}
	b := &Block{Stages: m.Stages, Origins: []string{n.Label()}, Ops: []string{n.Op}}
	for i, v := range n.Outputs {
		if v != nil {
			b.Results = append(b.Results, Result{v, m.Outputs[i]})
		}
	}
	b.adoptOperands(n.Inputs)
	return b, nil
}

// adoptOperands keeps those of the node's operands that a stage loads: what
// only decided the structure (axes, shapes) is gone by now.
func (b *Block) adoptOperands(inputs []*ir.Value) {
	index := map[int]int{}
	for _, s := range b.Stages {
		Loads(s, func(l te.Load) {
			if _, ok := index[l.Source.N]; ok || l.Source.Stage {
				return
			}
			index[l.Source.N] = len(b.Operands)
			b.Operands = append(b.Operands, inputs[l.Source.N])
		})
	}
	b.renumber(func(s te.Source) te.Source {
		if !s.Stage {
			s.N = index[s.N]
		}
		return s
	})
}

func (b *Block) renumber(f func(te.Source) te.Source) {
	for i, s := range b.Stages {
		b.Stages[i] = MapExprs(s, func(e te.Expr) te.Expr {
			if l, ok := e.(te.Load); ok {
				l.Source = f(l.Source)
				return l
			}
			return e
		})
	}
}

// Merge fuses producer p into consumer c: p's stages first. p's results that
// others still need (keep) stay results of the merged block.
func Merge(p, c *Block, keep func(*ir.Value) bool) *Block {
	m := &Block{Operands: append([]*ir.Value{}, p.Operands...)}
	m.Origins = append(append(m.Origins, p.Origins...), c.Origins...)
	m.Ops = append(append(m.Ops, p.Ops...), c.Ops...)
	m.Stages = append(m.Stages, p.Stages...)
	from := map[*ir.Value]te.Source{}
	for _, r := range p.Results {
		from[r.Value] = r.From
		if keep(r.Value) {
			m.Results = append(m.Results, r)
		}
	}
	shift := len(p.Stages)
	sources := make([]te.Source, len(c.Operands))
	for i, v := range c.Operands {
		if s, ok := from[v]; ok {
			sources[i] = s
		} else {
			sources[i] = te.Source{N: m.operand(v)}
		}
	}
	move := func(s te.Source) te.Source {
		if s.Stage {
			s.N += shift
			return s
		}
		return sources[s.N]
	}
	tail := &Block{Stages: append([]*te.Stage{}, c.Stages...)}
	tail.renumber(move)
	m.Stages = append(m.Stages, tail.Stages...)
	for _, r := range c.Results {
		m.Results = append(m.Results, Result{r.Value, move(r.From)})
	}
	return m
}

func (b *Block) operand(v *ir.Value) int {
	for i, o := range b.Operands {
		if o == v {
			return i
		}
	}
	b.Operands = append(b.Operands, v)
	return len(b.Operands) - 1
}

// Inline replaces loads of the stages that keep(i) does not hold by those stages'
// expressions, and drops them. Only stages without a reduction can be inlined.
func (b *Block) Inline(keep func(i int) bool, f sym.Facts) error {
	index := make([]int, len(b.Stages))
	var kept []*te.Stage
	for i, s := range b.Stages {
		s = MapExprs(s, func(e te.Expr) te.Expr { return b.inlineLoad(e, index, kept, f) })
		b.Stages[i] = s
		if keep(i) {
			index[i] = len(kept)
			kept = append(kept, s)
			continue
		}
		if s.Combine != nil {
			return fmt.Errorf("block %s: stage %d reduces and cannot be inlined", b.Label(), i)
		}
		index[i] = -1 - i
	}
	for i, r := range b.Results {
		if r.From.Stage {
			b.Results[i].From.N = index[r.From.N]
		}
	}
	b.Stages = kept
	return nil
}

func (b *Block) inlineLoad(e te.Expr, index []int, _ []*te.Stage, f sym.Facts) te.Expr {
	l, ok := e.(te.Load)
	if !ok || !l.Source.Stage {
		return e
	}
	if k := index[l.Source.N]; k >= 0 {
		l.Source.N = k
		return l
	}
	s := b.Stages[l.Source.N]
	m := map[string]sym.Expr{}
	for i, a := range s.Axes {
		m[a.Var] = l.Index[i]
	}
	body := te.SubstIndices(s.Results[l.Source.Part], m, f)
	if len(l.Guard) == 0 {
		return body
	}
	return te.Select{Cond: l.Guard, Then: body, Else: l.Default}
}

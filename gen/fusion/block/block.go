// Package block is the graph after fusion: blocks of stages over values.
//
// A block is what one step of the host program computes: one dominant stage, into
// which fusion has composed the stages before it (as what its loads read) and after
// it (as what its results are made of), and stages that are placed at its loops.
package block

import (
	"fmt"
	"slices"
	"strings"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
)

// Graph is blocks in execution order.
type Graph struct {
	Name    string
	Inputs  []*ir.Value
	Outputs []*ir.Value
	Symbols []ir.Symbol
	Blocks  []*Block
	Facts   sym.Facts // what is known of the symbols and the loops' counters
	Checks  []Check   // what a run's dimensions must satisfy
	// Counters are those of all loops; only the outermost graph lists them, and Symbols.
	Counters []Counter
}

// Counter is a symbol that a loop counts with: at most Max.
type Counter struct {
	Name string
	Max  sym.Expr
}

// Block computes Results from Operands.
type Block struct {
	// Stage is the dominant stage. Results[k] is what Stage.Results[k] computes. It is nil
	// where the block runs graphs of blocks, or calls an opaque operator.
	Stage   *te.Stage
	Control *Control
	Call    *Call
	// Placed stages run, in order, for each point of Stage's first Depth axes, which are
	// theirs too; what they compute of it stays in scratch memory, where later stages load
	// it by Source{Stage: true, N: i}.
	Placed   []*te.Stage
	Depth    int
	Operands []*ir.Value
	Results  []*ir.Value
	// Origins name the ONNX nodes ("Conv \"conv1\"") that the block stands for.
	Origins []string
	// Models are the labels of the model's nodes, where some of the block's were made for others.
	Models []string
	// Ops are the operators of those nodes.
	Ops []string
}

// Result is a value and the stage or operand that gives it.
type Result struct {
	Value *ir.Value
	From  te.Source
}

// Label names the block in messages.
func (b *Block) Label() string { return strings.Join(b.Origins, " + ") }

// Model names the block to whoever runs the model: by the model's nodes, which it computes or was made for.
func (b *Block) Model() string { return strings.Join(b.models(), " + ") }

func (b *Block) models() []string {
	if b.Models != nil {
		return b.Models
	}
	return b.Origins
}

// JoinModels are the labels of the model's nodes of two blocks that become one; nil where the blocks' own say it.
func JoinModels(p, c *Block) []string {
	if p.Models == nil && c.Models == nil {
		return nil
	}
	out := slices.Clone(p.models())
	for _, m := range c.models() {
		if !slices.Contains(out, m) {
			out = append(out, m)
		}
	}
	return out
}

// madeFor notes which of the model's nodes the block's node was made for.
func (b *Block) madeFor(n *ir.Node) *Block {
	if n.For != "" {
		b.Models = []string{n.For}
	}
	return b
}

// IsOutput reports whether v is a result of the whole graph.
func (g *Graph) IsOutput(v *ir.Value) bool {
	for _, o := range g.Outputs {
		if o == v {
			return true
		}
	}
	return false
}

// Stages are the placed stages, then the dominant one.
func (b *Block) Stages() []*te.Stage {
	if b.Stage == nil {
		return nil
	}
	return append(append([]*te.Stage{}, b.Placed...), b.Stage)
}

// Loads calls f for each load of the block.
func (b *Block) Loads(f func(te.Load)) {
	for _, s := range b.Stages() {
		Loads(s, f)
	}
}

// MapExprs rewrites all expressions of the block.
func (b *Block) MapExprs(f func(te.Expr) te.Expr) {
	for i, s := range b.Placed {
		b.Placed[i] = s.MapExprs(f)
	}
	b.Stage = b.Stage.MapExprs(f)
}

// Loads calls f for each load of the stage.
func Loads(s *te.Stage, f func(te.Load)) {
	for _, e := range s.Exprs() {
		te.Walk(e, func(x te.Expr) {
			if l, ok := x.(te.Load); ok {
				f(l)
			}
		})
	}
}

func (b *Block) verifyStage(i int, s *te.Stage) (err error) {
	for k := 0; k < b.Depth; k++ {
		if k >= len(s.Axes) || k >= len(b.Stage.Axes) || !s.Axes[k].Extent.Equal(b.Stage.Axes[k].Extent) {
			return fmt.Errorf("stage %s does not begin with the axes of the dominant stage", s.Name)
		}
	}
	Loads(s, func(l te.Load) {
		var shape ir.Shape
		switch n := l.Source.N; {
		case l.Source.Stage && n >= 0 && n < i:
			shape = b.Placed[n].Shape()
			for k := 0; k < b.Depth && k < len(l.Index); k++ {
				if !l.Index[k].Equal(sym.Var(s.Axes[k].Var)) {
					err = fmt.Errorf("stage %s loads stage %d at another point of the common axes", s.Name, n)
				}
			}
		case !l.Source.Stage && n >= 0 && n < len(b.Operands):
			shape = b.Operands[n].Shape
		default:
			err = fmt.Errorf("stage %s loads %v, but the block has %d operands", s.Name, l.Source, len(b.Operands))
			return
		}
		if len(l.Index) != len(shape) {
			err = fmt.Errorf("stage %s: a load has %d indices; want %d, the rank of its operand", s.Name, len(l.Index), len(shape))
		}
	})
	return err
}

package block

import (
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
)

// Control is what a block does that runs graphs of blocks instead of a stage. The graphs read
// values of the graph around them as their own blocks do; the block's Operands are those, and
// what the control itself reads. What a graph computes for its Outputs is in them only: they
// are distinct, and each is the result of a block of the graph itself.
type Control struct {
	If   *If
	Loop *Loop
}

// If runs one of two graphs. Output k of either is the block's result k.
type If struct {
	Cond       *ir.Value // one bool
	Then, Else *Graph
	// Sets are symbols that tell the branches' results apart.
	Sets []Set
}

// Set is a symbol's value after either branch of an If.
type Set struct {
	Name       string
	Then, Else sym.Expr
}

// Loop runs Body for Counter = 0, 1, ... The body's inputs are the states'; its outputs are what
// they become, then the parts. The block's results are the states after the last
// iteration, then the wholes.
type Loop struct {
	Body *Graph
	// Counter is a symbol that the body's expressions read: the number of the iteration.
	Counter string
	// Trips and, where it is not nil, the element of Max (int64) are the most iterations.
	Trips sym.Expr
	Max   *ir.Value
	// While reports that States[0], a bool, must hold before each iteration.
	While  bool
	States []State
	Parts  []Part
	// Made is the symbol that becomes the number of iterations, or "".
	Made string
}

// State is a value that an iteration hands to the next one.
type State struct {
	Init     *ir.Value // before the first one
	In, Next *ir.Value // of the body
	Last     *ir.Value // the block's result
	// Dims are symbols of dimensions in which iterations differ. Next's shape speaks of the
	// iteration that computes it, Last's of the time after the last one.
	Dims []Dim
}

// Dim is a symbol that is First before a loop's first iteration and becomes Next after each.
type Dim struct {
	Name        string
	First, Next sym.Expr
}

// Part is what an iteration gives for the place Counter, or Trips - 1 - Counter where Backward,
// along the first axis of Whole.
type Part struct {
	Value    *ir.Value // of the body
	Whole    *ir.Value // the block's result
	Backward bool
	// Dims are symbols of Whole's dimensions after the first that the iterations compute: what Next is
	// in the first one, and must be in the others. Without an iteration they are First.
	Dims []Dim
}

// At is the place of iteration l.Counter's part in its whole.
func (p Part) At(l *Loop) sym.Expr {
	at := sym.Var(l.Counter)
	if p.Backward {
		return sym.Sub(sym.Sub(l.Trips, sym.Const(1)), at)
	}
	return at
}

// computes are the symbols that the control itself sets.
func (c *Control) computes() []string {
	var out []string
	if c.If != nil {
		for _, s := range c.If.Sets {
			out = append(out, s.Name)
		}
	} else {
		if c.Loop.Made != "" {
			out = append(out, c.Loop.Made)
		}
		for _, p := range c.Loop.Parts {
			for _, d := range p.Dims {
				out = append(out, d.Name)
			}
		}
	}
	return append(out, c.carries()...)
}

// carries are the symbols that the control sets before each run of its graph too.
func (c *Control) carries() []string {
	if c.Loop == nil {
		return nil
	}
	var out []string
	for _, s := range c.Loop.States {
		for _, d := range s.Dims {
			out = append(out, d.Name)
		}
	}
	return out
}

// Graphs are the graphs that the control runs.
func (c *Control) Graphs() []*Graph {
	if c.If != nil {
		return []*Graph{c.If.Then, c.If.Else}
	}
	return []*Graph{c.Loop.Body}
}

// reads are the values that the control itself reads.
func (c *Control) reads() []*ir.Value {
	if c.If != nil {
		return []*ir.Value{c.If.Cond}
	}
	var out []*ir.Value
	if c.Loop.Max != nil {
		out = append(out, c.Loop.Max)
	}
	for _, s := range c.Loop.States {
		out = append(out, s.Init)
	}
	return out
}

// setOperands finds what the block reads of the graph around it.
func (b *Block) setOperands() {
	b.Operands = nil
	seen := map[*ir.Value]bool{}
	add := func(v *ir.Value) {
		if !seen[v] {
			seen[v], b.Operands = true, append(b.Operands, v)
		}
	}
	for _, v := range b.Control.reads() {
		add(v)
	}
	for _, g := range b.Control.Graphs() {
		own := map[*ir.Value]bool{}
		for _, v := range g.Inputs {
			own[v] = true
		}
		for _, x := range g.Blocks {
			for _, v := range x.Operands {
				if !own[v] {
					add(v)
				}
			}
			for _, v := range x.Results {
				own[v] = true
			}
		}
	}
}

// sync sets the loop's graph and results by its states and parts.
func (l *Loop) sync(b *Block) {
	l.Body.Inputs, l.Body.Outputs, b.Results = nil, nil, nil
	for _, s := range l.States {
		l.Body.Inputs = append(l.Body.Inputs, s.In)
		l.Body.Outputs = append(l.Body.Outputs, s.Next)
		b.Results = append(b.Results, s.Last)
	}
	for _, p := range l.Parts {
		l.Body.Outputs = append(l.Body.Outputs, p.Value)
		b.Results = append(b.Results, p.Whole)
	}
}

// All calls f for each graph: g, and those that its blocks run, outer ones first.
func (g *Graph) All(f func(*Graph)) {
	f(g)
	for _, b := range g.Blocks {
		if b.Control != nil {
			for _, r := range b.Control.Graphs() {
				r.All(f)
			}
		}
	}
}

// each calls f for each block that has a stage, those of inner graphs included.
func (g *Graph) each(f func(*Block) error) (err error) {
	g.All(func(r *Graph) {
		for _, b := range r.Blocks {
			if b.Stage != nil && err == nil {
				err = f(b)
			}
		}
	})
	return err
}

// SyncOperands sets again what the blocks that run graphs read, after those have changed.
func (g *Graph) SyncOperands() {
	for _, b := range g.Blocks {
		if b.Control == nil {
			continue
		}
		for _, r := range b.Control.Graphs() {
			r.SyncOperands()
		}
		b.setOperands()
	}
}

// Package plan places values in memory and orders the steps of the host program.
package plan

import (
	"fmt"

	"rules_dnn/gen/fusion/block"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/kernel/layout"
	"rules_dnn/gen/kernel/loop"
)

// Alignment of every value in bytes: a cache line, and the widest vector of most chips. Constants
// and intermediate values of a program for another chip are aligned to Program.Align.
const Alignment = 64

// Region is where a value lies.
type Region uint8

// Regions.
const (
	Arena Region = iota
	Weights
	Input
	Output
	// Image is an image object of the device.
	Image
)

// Place is a value's storage: an offset in bytes within arena or weights of its space, or within the input,
// output or image of number N.
type Place struct {
	Region Region
	Offset sym.Expr
	N      int
	Space  layout.Space
}

// Estimate is what choosing layouts and kernels came to.
type Estimate struct {
	Cycles, Bound float64
	Conversions   int
	// StaleTuning is what the tuning record says that is true no more.
	StaleTuning []string
	// Learned is what the performance models are by which a search looked for what to measure next.
	Learned []string
}

// Precision is in what types floats are stored, multiplied and summed that the model has in f32. Nodes is how many nodes give their results
// in the type of storage, and Kept are those that give f32. Pairs is how many steps run kernels that sum products in pairs, of the type of products;
// others widen what they multiply. Halves is the number of steps whose kernels add products in
// f16, on the last chip of the library.
type Precision struct {
	Storage, Product, Accumulator string
	Nodes, Pairs, Halves          int
	Kept                          []Kept
}

// Kept is a node that gives floats, and the reason.
type Kept struct{ Node, Why string }

// Quantized is how many nodes of a quantized network give integers, and which give floats.
type Quantized struct {
	Nodes int
	Kept  []Kept
}

// Pruning is how many weights and multiply-adds of a pruned network are left.
type Pruning struct {
	Retrained            bool
	Layers               int // that are pruned
	Weights, KeptWeights int64
	MACs, KeptMACs       int64  // on one image; 0: not known
	Kernels              string // what computes the pruned layers
	Pruned               []PrunedLayer
}

// PrunedLayer is a layer that is pruned: the name of its weights, and the label of the node that reads them first; and whether such kernels are asked for as
// store them packed.
type PrunedLayer struct {
	Weights, Node string
	Packed        bool
}

// Warning is what makes a program slow and may be mended.
type Warning struct {
	Kind, Text string
}

// Program is what the printers print.
type Program struct {
	Name string
	// Warnings are told when the network is compiled.
	Warnings []Warning
	// Precision is there where floats are stored in another type than the model's.
	Precision *Precision
	// Quantized is there where the network is.
	Quantized *Quantized
	// Pruning is what was made of the weights before the network was read; nil: nothing.
	Pruning *Pruning
	Inputs  []*ir.Value
	Outputs []*ir.Value
	Symbols []ir.Symbol
	// Shapes of the outputs, as the caller is told.
	Shapes []ir.Shape
	// Counters are symbols that the program's loops count with; they follow Symbols.
	Counters []block.Counter
	Facts    sym.Facts
	Checks   []block.Check // what a run's dimensions must satisfy
	Steps    []Step
	// Others is how many more chips than one the calls have kernels for.
	Others int
	// Homes tell which values lie in another one's storage.
	Homes map[*ir.Value]Home
	roots map[*ir.Value]root // of values with homes, where they were asked for
	// products are those of kernels that were asked for.
	products map[*loop.Kernel]sym.Expr
	// Estimate is the cycles of all steps, a lower bound of what any choice of layouts and
	// kernels takes, and how many steps only change a layout.
	Estimate Estimate
	Layouts  map[*ir.Value]layout.Layout
	Places   map[*ir.Value]Place
	// Memory is the host's.
	Memory
	// Device is what launches run on, nil where all steps are the host's.
	Device *Device
}

// Constant is packed data at an offset of the weights file.
type Constant struct {
	Offset int64
	Value  *ir.Value // row-major elements of what is stored
}

// Run places everything that the steps mention.
func Run(p *Program) error {
	u := &unbounded{}
	if err := p.shapeOutputs(u); err != nil {
		return err
	}
	p.Places = map[*ir.Value]Place{}
	for i, v := range p.Inputs {
		p.Places[v] = Place{Region: Input, N: i, Offset: sym.Const(0)}
	}
	for i, v := range p.Outputs {
		if _, taken := p.Places[v]; taken {
			return fmt.Errorf("output %q has two places", v.Name)
		}
		p.Places[v] = Place{Region: Output, N: i, Offset: sym.Const(0)}
	}
	for _, space := range p.spaces() {
		if err := p.placeIn(space, u); err != nil {
			return err
		}
	}
	if err := u.err(p); err != nil {
		return err
	}
	p.placeHomes()
	return nil
}

// placeIn makes the plan of a space.
func (p *Program) placeIn(space layout.Space, u *unbounded) error {
	m := p.memory(space)
	if err := p.placeConstants(space, m); err != nil {
		return err
	}
	if err := p.placeImages(space, m, u); err != nil {
		return err
	}
	if err := p.placeArena(space, m, u); err != nil {
		return err
	}
	m.ScratchBytes = sym.Const(0)
	for i := range p.Variants() {
		if err := p.placeScratch(p.Variant(i).callsIn(space), m, u); err != nil {
			return err
		}
	}
	return nil
}

// placeScratch makes room for what kernels need.
func (p *Program) placeScratch(calls []*Call, m *Memory, u *unbounded) error {
	for _, s := range calls {
		_, bytes := s.Scratch()
		most, err := p.most(bytes)
		if err != nil {
			if err := u.note(err, "scratch memory of "+s.Block.Label()); err != nil {
				return err
			}
		}
		m.ScratchBytes = sym.Max(m.ScratchBytes, most, p.Facts)
	}
	return nil
}

// Scratch gives the offset of each scratch buffer of the step's kernel in the worker's memory,
// and the bytes of all.
func (s *Call) Scratch() (offsets []sym.Expr, bytes sym.Expr) {
	bytes = sym.Const(0)
	for _, b := range s.Kernel.Scratch {
		offsets = append(offsets, bytes)
		bytes = sym.Add(bytes, bytesOf(b.Size, b.Type, max(Alignment, s.Align)))
	}
	return offsets, bytes
}

func bytesOf(elements sym.Expr, t ir.DType, align int64) sym.Expr {
	return roundUp(sym.Scale(elements, int64(t.Size())), align)
}

// roundUp rounds up to the alignment: each summand by itself where none can be negative, which
// leaves multiples of symbols, and the sum otherwise.
func roundUp(e sym.Expr, align int64) sym.Expr {
	terms, c := e.Terms()
	if !eachNonNegative(terms, c) {
		return sym.Scale(sym.CeilDiv(e, sym.Const(align), nil), align)
	}
	out := sym.Const(alignInt(c, align))
	for _, t := range terms {
		out = sym.Add(out, sym.Scale(product(t.Atoms), alignInt(t.Coef, align)))
	}
	return out
}

func eachNonNegative(terms []sym.Term, c int64) bool {
	for _, t := range terms {
		if t.Coef < 0 || !sym.AtLeast(product(t.Atoms), 0, nil) {
			return false
		}
	}
	return c >= 0
}

func product(atoms []*sym.Atom) sym.Expr {
	e := sym.Const(1)
	for _, a := range atoms {
		e = sym.Mul(e, sym.FromAtom(a))
	}
	return e
}

func alignInt(n, align int64) int64 { return (n + align - 1) / align * align }

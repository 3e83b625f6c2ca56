// Package manifest describes a compiled model for tools and people: every block
// with its operators, shapes, layouts and places in memory, as JSON.
package manifest

import (
	"bytes"
	"encoding/json"
	"slices"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/loop"
	"rules_dnn/gen/plan"
	"rules_dnn/gen/target"
)

// Manifest is the file's structure. Sizes are bytes; expressions are over the symbols.
type Manifest struct {
	Generator string   `json:"generator"` // the compiler and its version
	Api       string   `json:"api"`       // the name of the header
	Chip      string   `json:"chip"`      // the name of the chip, the most capable of several
	Inputs    []Tensor `json:"inputs"`    // in the order of the API
	Outputs   []Tensor `json:"outputs"`   // in the order of the API
	Symbols   []Symbol `json:"symbols"`   // dimensions that are known at run time
	// Checks are what a run's dimensions must satisfy.
	Checks          []string `json:"checks"`
	ArenaBytes      string   `json:"arena_bytes"`              // memory for values in a run
	ArenaLowerBound string   `json:"arena_lower_bound_bytes"`  // what lives at once, at most
	ScratchBytes    string   `json:"scratch_bytes_per_worker"` // memory of each thread
	WeightsBytes    int64    `json:"weights_bytes"`            // packed constants
	Select          Select   `json:"select"`                   // the choice of layouts and kernels
	// Variants are the chips that the library has kernels for, the least capable first; Chip is the last, whose kernels the blocks name.
	Variants []Variant `json:"variants,omitempty"`
	// Warnings are what makes the model slow, or wrong, and may be mended.
	Warnings []Warning `json:"warnings"`
	// Precision is there where floats are stored in another type than the model's.
	Precision *Precision `json:"precision,omitempty"`
	// Quantized is there where the network is.
	Quantized *Quantized `json:"quantized,omitempty"`
	// Pruning is there where dnnc prune made the weights.
	Pruning *Pruning `json:"pruning,omitempty"`
	Blocks  []Block  `json:"blocks"` // in the order in which they run
	// Device is what runs launches beside the chip.
	Device *Device `json:"device,omitempty"`
}

// Device is the memory of a device, and the blocks that it runs; those of the manifest are the chip's.
type Device struct {
	// Name is that of the facts that its kernels are for.
	Name         string  `json:"name"`
	ArenaBytes   string  `json:"arena_bytes"`              // memory for values
	ScratchBytes string  `json:"scratch_bytes_per_worker"` // memory of a worker
	Workers      int64   `json:"workers"`                  // work-items with memory of their own
	WeightsBytes int64   `json:"weights_bytes"`            // constants on the device
	Images       int     `json:"images"`                   // values in texture memory
	Transfers    int     `json:"transfers"`                // steps that copy a value there or back
	Blocks       []Block `json:"blocks"`                   // that it runs
}

// Warning is of a kind, as dnnc's --accept names it.
type Warning struct {
	Kind string `json:"kind"` // baseline, pruning or untiled
	Text string `json:"text"` // for people
}

// Precision is in what types floats are stored, multiplied and summed that the model has in f32. Nodes is how many nodes give their results in
// the type of storage, and F32 lists those that do not. Pairs is how many steps run kernels that sum products in pairs, by the processor's instructions
// for the type; others widen what they multiply to f32.
type Precision struct {
	Storage     string `json:"storage"`         // type in memory
	Product     string `json:"product"`         // type of what is multiplied
	Accumulator string `json:"accumulator"`     // type of sums
	Nodes       int    `json:"nodes"`           // that give results in the type of storage
	Pairs       int    `json:"pairs,omitempty"` // steps that sum pairs
	F32         []Kept `json:"f32"`             // nodes that stay in f32
}

// Quantized is how many nodes of a quantized network give integers, and Float lists those that give floats.
type Quantized struct {
	Nodes int    `json:"nodes"` // that give integers
	Float []Kept `json:"float"` // nodes that give floats
}

// Kept is a node that gives floats, and the reason.
type Kept struct {
	Node string `json:"node"` // its name
	Why  string `json:"why"`  // the reason
}

// Select is what the choice of layouts and kernels came to: estimated cycles of a run on one core,
// and less than what no choice can take.
type Select struct {
	Cycles      int64 `json:"cycles"`             // estimated, of a run on one core
	LowerBound  int64 `json:"lower_bound_cycles"` // of any choice
	Conversions int   `json:"conversions"`        // changes of layout between blocks
	// StaleTuning is what the tuning record says that is true no more.
	StaleTuning []string `json:"stale_tuning,omitempty"`
	// Models are the performance models by which a search found what is to be measured, a line each.
	Models []string `json:"performance_models,omitempty"`
}

// Tensor is an input, output or operand.
type Tensor struct {
	Name   string   `json:"name"`             // the ONNX value's name
	Type   string   `json:"type"`             // of an element
	Shape  []string `json:"shape"`            // expressions over the symbols
	Layout string   `json:"layout,omitempty"` // the order of elements in memory; row-major if absent
	Place  string   `json:"place,omitempty"`  // in memory, for values of blocks
}

// Symbol is a dimension that is known at run time.
type Symbol struct {
	Name string `json:"name"` // as the API names it
	Min  int64  `json:"min"`  // inclusive
	Max  int64  `json:"max"`  // inclusive
	// UpTo bounds a symbol that a run computes, by the symbols that the inputs give.
	UpTo string `json:"up_to,omitempty"`
}

// Block is a step of the host program.
type Block struct {
	// Kernel is the function that computes the block; others of the model may share it.
	Kernel string `json:"kernel,omitempty"`
	// Where says in which runs the kernel computes the block, of several that do: "where 32 >= H, where 32 >= W".
	Where  string   `json:"where,omitempty"`
	Nodes  []string `json:"nodes"`  // names of the ONNX nodes that it computes
	Ops    []string `json:"ops"`    // their operators
	Anchor string   `json:"anchor"` // the kind of kernel
	Tasks  string   `json:"tasks"`  // how many tasks threads share
	Cycles int64    `json:"cycles"` // estimated
	// FLOPs are the network's, Products what micro-kernels add up, Bytes those of operands and
	// results; negative where not known. See plan.Work.
	FLOPs    string `json:"flops"`
	Products string `json:"products"` // that micro-kernels add up
	Bytes    string `json:"bytes"`    // of operands and results
	// Stages that are placed at the first Depth axes, before the one that gives the results.
	Stages []string `json:"stages,omitempty"`
	Depth  int      `json:"depth,omitempty"` // of axes at which stages are placed
	// Schedule is the text of the schedule that the kernel follows, which package sched reads; where the kernel was made of one.
	Schedule string `json:"schedule,omitempty"`
	// Tiles are the micro-kernels: accumulators as pixels x vectors, FMAs of a call.
	Tiles []Tile `json:"tiles,omitempty"`
	// Tuning is there where the kernel was measured, or is to be.
	Tuning  *Tuning  `json:"tuning,omitempty"`
	Reads   []Tensor `json:"reads"`   // operands
	Results []Tensor `json:"results"` // results
}

// Tuning is what the kernel was chosen from.
type Tuning struct {
	// Key is the block's in tuning records, and What the text there.
	Key  string `json:"key"`
	What string `json:"what"` // the text of the block in tuning records
	// Kernel is the name of the kernel, and Kernels those of all that could be measured, where dnnc was asked for them.
	Kernel  string   `json:"kernel"`
	Kernels []string `json:"kernels,omitempty"`
	// Params are the parameters of each of these, "" of one without.
	Params []string `json:"params,omitempty"`
	// Micros is what the record says that the kernel takes.
	Micros float64 `json:"us,omitempty"`
}

// Tile is a micro-kernel that a block calls.
type Tile struct {
	Rows    int64 `json:"rows"`    // pixels or rows
	Vectors int64 `json:"vectors"` // of accumulators in a row
	Lanes   int64 `json:"lanes"`   // elements of a vector
	FMAs    int64 `json:"fmas"`    // of a call
}

// JSON prints the manifest of a program for a chip, which is the last of several if a library has kernels for them.
func JSON(p *plan.Program, generator, api, chip string, chips ...*target.Target) ([]byte, error) {
	m := Manifest{Generator: generator, Api: api, Chip: chip, Variants: variants(p, chips),
		ArenaBytes: p.ArenaBytes.String(), ArenaLowerBound: p.LowerBoundBytes.String(),
		ScratchBytes: p.ScratchBytes.String(), WeightsBytes: p.WeightsBytes,
		Inputs: []Tensor{}, Outputs: []Tensor{}, Symbols: []Symbol{}, Checks: []string{}, Warnings: []Warning{}, Blocks: []Block{}}
	m.Select = Select{int64(p.Estimate.Cycles), int64(p.Estimate.Bound), p.Estimate.Conversions, p.Estimate.StaleTuning, p.Estimate.Learned}
	for _, v := range p.Inputs {
		m.Inputs = append(m.Inputs, tensor(v))
	}
	for _, v := range p.Outputs {
		m.Outputs = append(m.Outputs, tensor(v))
	}
	for _, s := range p.Symbols {
		x := Symbol{Name: s.Name, Min: s.Lo, Max: s.Hi}
		if s.Computed {
			x.UpTo = s.Max.String()
		}
		m.Symbols = append(m.Symbols, x)
	}
	for _, c := range p.Checks {
		m.Checks = append(m.Checks, c.String())
	}
	for _, w := range p.Warnings {
		m.Warnings = append(m.Warnings, Warning(w))
	}
	m.Precision = precision(p.Precision)
	m.Quantized = quantized(p.Quantized)
	var err error
	if m.Pruning, err = pruning(p); err != nil {
		return nil, err
	}
	guards := p.Guards()
	for _, s := range p.Calls() {
		b := block(p, s)
		if g, some := guards[s]; some {
			b.Where = g.String()
		}
		m.Blocks = append(m.Blocks, b)
	}
	m.Device = device(p)
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	err = e.Encode(m)
	// The same JSON, in which no name ends the script of a page that holds it.
	return bytes.ReplaceAll(out.Bytes(), []byte("</"), []byte(`<\/`)), err
}

// precision is what a program says of it; nil: nothing.
func precision(p *plan.Precision) *Precision {
	if p == nil {
		return nil
	}
	return &Precision{p.Storage, p.Product, p.Accumulator, p.Nodes, p.Pairs, kept(p.Kept)}
}

// quantized is what a program says of it; nil: nothing.
func quantized(q *plan.Quantized) *Quantized {
	if q == nil {
		return nil
	}
	return &Quantized{q.Nodes, kept(q.Kept)}
}

func kept(of []plan.Kept) []Kept {
	out := []Kept{}
	for _, k := range of {
		out = append(out, Kept(k))
	}
	return out
}

// device is what a program has of one; nil: none.
func device(p *plan.Program) *Device {
	d := p.Device
	if d == nil {
		return nil
	}
	out := &Device{Name: d.Name, ArenaBytes: d.ArenaBytes.String(), ScratchBytes: d.ScratchBytes.String(), Workers: d.Workers, WeightsBytes: d.WeightsBytes,
		Images: len(d.Images), Transfers: len(p.Transfers()), Blocks: []Block{}}
	for _, l := range p.Launches() {
		out.Blocks = append(out.Blocks, block(p, l.Call))
	}
	return out
}

func tensor(v *ir.Value) Tensor {
	t := Tensor{Name: v.Name, Type: v.Type.String(), Shape: []string{}}
	for _, d := range v.Shape {
		t.Shape = append(t.Shape, d.String())
	}
	return t
}

func block(p *plan.Program, s *plan.Call) Block {
	b := Block{Kernel: s.Function, Nodes: s.Block.Origins, Ops: s.Block.Ops, Anchor: s.Kernel.Anchor, Tasks: s.Kernel.Tasks().String(), Reads: []Tensor{},
		Cycles: int64(s.Cycles), Depth: s.Block.Depth, Tuning: tuningOf(s), Schedule: s.Schedule}
	w := p.Work(s)
	b.FLOPs, b.Products, b.Bytes = w.FLOPs.String(), w.Products.String(), w.Bytes.String()
	for _, st := range s.Block.Placed {
		b.Stages = append(b.Stages, st.Name)
	}
	loop.Tiles(s.Kernel.Body, func(t loop.Tile) {
		m := Tile{t.Micro.Rows, t.Micro.Vectors, t.Micro.Lanes(), t.Micro.FMAs()}
		if !slices.Contains(b.Tiles, m) {
			b.Tiles = append(b.Tiles, m)
		}
	})
	placed := func(v *ir.Value) Tensor {
		t := tensor(v)
		t.Layout, t.Place = p.Layouts[v].String(), p.Places[v].String()
		return t
	}
	for _, v := range s.Over {
		b.Reads = append(b.Reads, placed(v))
	}
	for i, v := range s.Args {
		t := placed(v)
		if s.Kernel.Buffers[i].Write {
			b.Results = append(b.Results, t)
		} else {
			b.Reads = append(b.Reads, t)
		}
	}
	return b
}

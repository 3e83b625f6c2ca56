// Package manifest describes a compiled model for tools and people: every block
// with its operators, shapes, layouts and places in memory, as JSON.
package manifest

import (
	"bytes"
	"encoding/json"
	"slices"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/kernel/loop"
	"rules_dnn/gen/program/plan"
	"rules_dnn/gen/target"
)

// Manifest is the structure of the file. Sizes are bytes; expressions are over the symbols.
type Manifest struct {
	Generator string   `json:"generator"` // the compiler and its version
	Api       string   `json:"api"`       // the name of the header
	Chip      string   `json:"chip"`      // the name of the chip; of several, the most capable one
	Inputs    []Tensor `json:"inputs"`    // the inputs in the order of the API
	Outputs   []Tensor `json:"outputs"`   // the outputs in the order of the API
	Symbols   []Symbol `json:"symbols"`   // dimensions that are known at run time
	// Conditions on a run's dimensions.
	Checks          []string `json:"checks"`
	ArenaBytes      string   `json:"arena_bytes"`              // memory for intermediate values in a run
	ArenaLowerBound string   `json:"arena_lower_bound_bytes"`  // the maximum of what is live at once, a lower bound of the arena
	ScratchBytes    string   `json:"scratch_bytes_per_worker"` // scratch memory of each thread
	WeightsBytes    int64    `json:"weights_bytes"`            // packed constants
	Select          Select   `json:"select"`                   // the choice of layouts and kernels
	// The chips that the library has kernels for, the least capable first. The last one is "chip",
	// whose kernels are listed in the blocks.
	Variants []Variant `json:"variants,omitempty"`
	// Problems that make the model slow or wrong and can be mended.
	Warnings []Warning `json:"warnings"`
	// The types in which f32 values are stored and computed; absent if all stay f32.
	Precision *Precision `json:"precision,omitempty"`
	// The nodes that compute in integers; absent if the network is not quantized.
	Quantized *Quantized `json:"quantized,omitempty"`
	// The pruned layers; absent if dnnc prune did not make the weights.
	Pruning *Pruning `json:"pruning,omitempty"`
	Blocks  []Block  `json:"blocks"` // the blocks on the chip, in the order of the program
	// The OpenCL device that also runs blocks; absent without --device.
	Device *Device `json:"device,omitempty"`
}

// Device describes the memory of a device and the blocks that run on it.
type Device struct {
	// The name of the facts that its kernels are compiled for.
	Name         string  `json:"name"`
	ArenaBytes   string  `json:"arena_bytes"`              // memory for intermediate values
	ScratchBytes string  `json:"scratch_bytes_per_worker"` // scratch memory of a worker
	Workers      int64   `json:"workers"`                  // the number of work-items with scratch memory
	WeightsBytes int64   `json:"weights_bytes"`            // constants on the device
	Images       int     `json:"images"`                   // the number of values in texture memory
	Transfers    int     `json:"transfers"`                // the number of steps that copy a value to or from the device
	Blocks       []Block `json:"blocks"`                   // the blocks on the device
}

// Warning is a problem of a kind that dnnc's --accept names.
type Warning struct {
	Kind string `json:"kind"` // baseline, pruning or untiled
	Text string `json:"text"` // the message for people
}

// Precision lists the types in which the model's f32 values are stored, multiplied and summed.
type Precision struct {
	Storage string `json:"storage"` // the type in memory
	Product string `json:"product"` // the type of factors
	// The type of sums. f16: kernels add blocks of up to 128 products, and then the sums of the
	// blocks, in f16.
	Accumulator string `json:"accumulator"`
	Nodes       int    `json:"nodes"` // the number of nodes whose results are stored in the storage type
	// The number of steps whose kernels sum products in pairs, by the processor's instructions for
	// the type; other kernels widen factors to f32.
	Pairs int `json:"pairs,omitempty"`
	// The number of steps whose kernels add products in f16, on the last chip of the library; other
	// kernels add in f32.
	Halves int    `json:"halves,omitempty"`
	F32    []Kept `json:"f32"` // the nodes that stay in f32
}

// Quantized lists the nodes of a quantized network by the type of their results.
type Quantized struct {
	Nodes int    `json:"nodes"` // the number of nodes with integer results
	Float []Kept `json:"float"` // the nodes with float results
}

// Kept is a node with float results.
type Kept struct {
	Node string `json:"node"` // the node's name
	Why  string `json:"why"`  // the reason
}

// Select describes the chosen layouts and kernels.
type Select struct {
	Cycles      int64 `json:"cycles"`             // estimated cycles of a run on one core
	LowerBound  int64 `json:"lower_bound_cycles"` // a lower bound of the cycles of any choice
	Conversions int   `json:"conversions"`        // the number of layout changes between blocks
	// Entries of the tuning record that no longer match the model.
	StaleTuning []string `json:"stale_tuning,omitempty"`
	// The performance models that a search used to propose kernels, a line each.
	Models []string `json:"performance_models,omitempty"`
}

// Tensor is an input, output or operand.
type Tensor struct {
	Name   string   `json:"name"`             // the ONNX value's name
	Type   string   `json:"type"`             // the element type
	Shape  []string `json:"shape"`            // the dimensions, as expressions over the symbols
	Layout string   `json:"layout,omitempty"` // the order of elements in memory; row-major if absent
	Place  string   `json:"place,omitempty"`  // the place in memory, for values of blocks
}

// Symbol is a dimension that is known at run time.
type Symbol struct {
	Name string `json:"name"` // the name in the API
	Min  int64  `json:"min"`  // the minimum, inclusive
	Max  int64  `json:"max"`  // the maximum, inclusive
	// The bound of a symbol that a run computes, in terms of the symbols that the caller sets.
	UpTo string `json:"up_to,omitempty"`
}

// Block is a step of the host program.
type Block struct {
	// The function that computes the block; several blocks may share it.
	Kernel string `json:"kernel,omitempty"`
	// The condition under which this kernel computes the block, if several kernels do:
	// "where 32 >= H, where 32 >= W".
	Where  string   `json:"where,omitempty"`
	Nodes  []string `json:"nodes"`  // the names of the ONNX nodes that it computes
	Ops    []string `json:"ops"`    // their operators
	Anchor string   `json:"anchor"` // the kind of kernel
	Tasks  string   `json:"tasks"`  // the number of tasks that threads share
	Cycles int64    `json:"cycles"` // estimated cycles
	// The floating-point operations of the network; negative if not known.
	FLOPs    string `json:"flops"`
	Products string `json:"products"` // the products that micro-kernels accumulate; negative if not known
	Bytes    string `json:"bytes"`    // bytes of operands and results; negative if not known
	// The stages that are placed at the first axes, before the stage of the result.
	Stages []string `json:"stages,omitempty"`
	Depth  int      `json:"depth,omitempty"` // the number of axes at which stages are placed
	// The schedule that the kernel was generated from, in the text form of package sched.
	Schedule string `json:"schedule,omitempty"`
	// The block's micro-kernels.
	Tiles []Tile `json:"tiles,omitempty"`
	// The block's kernels in tuning records; absent if the kernel was not and cannot be measured.
	Tuning  *Tuning  `json:"tuning,omitempty"`
	Reads   []Tensor `json:"reads"`   // the operands
	Results []Tensor `json:"results"` // the results
}

// Tuning lists the kernels that a block's kernel was chosen from.
type Tuning struct {
	// The block's key in tuning records.
	Key  string `json:"key"`
	What string `json:"what"` // the block's description in tuning records
	// The name of the chosen kernel.
	Kernel string `json:"kernel"`
	// The names of all kernels that could be measured, if dnnc was asked for them.
	Kernels []string `json:"kernels,omitempty"`
	// The parameters of each of these kernels; "" if a kernel has none.
	Params []string `json:"params,omitempty"`
	// The kernel's time in the record, in microseconds.
	Micros float64 `json:"us,omitempty"`
}

// Tile is a micro-kernel that a block calls.
type Tile struct {
	Rows    int64 `json:"rows"`    // the number of pixels or rows
	Vectors int64 `json:"vectors"` // the number of accumulator vectors in a row
	Lanes   int64 `json:"lanes"`   // the number of elements of a vector
	FMAs    int64 `json:"fmas"`    // the number of multiply-adds of a call
}

// JSON prints the manifest of a program for a chip, which is the last of several if a library has
// kernels for them.
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
	return &Precision{p.Storage, p.Product, p.Accumulator, p.Nodes, p.Pairs, p.Halves, kept(p.Kept)}
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

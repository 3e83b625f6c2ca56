package pipeline

import (
	"fmt"
	"slices"

	"rules_dnn/gen/fusion/block"
	"rules_dnn/gen/graph/passes/islands"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/kernel/layout"
	"rules_dnn/gen/kernel/loop"
	"rules_dnn/gen/program/plan"
	"rules_dnn/gen/selection/sel"
)

// checkNames refuses a kernel that calls something of its own like a symbol: it would be one in
// the kernel's code. Package sym reserves the names that kernels use.
func checkNames(g *block.Graph, k *loop.Kernel) (err error) {
	loop.Names(k, func(name string) {
		for _, s := range g.Symbols {
			if s.Name == name {
				err = fmt.Errorf("the kernel has a variable with the name of the symbol %q: rename the dimension", name)
			}
		}
	})
	return err
}

func lowerBlocks(s *State) error {
	g := s.Blocks
	p := &plan.Program{Name: g.Name, Inputs: g.Inputs, Outputs: g.Outputs, Symbols: g.Symbols, Counters: g.Counters, Facts: g.Facts, Checks: g.Checks,
		Layouts: s.Choice.Layouts, Memory: plan.Memory{Align: s.Target.VectorBytes()}, Homes: map[*ir.Value]plan.Home{},
		Estimate: plan.Estimate{Cycles: s.Choice.Solution.Cost, Bound: s.Choice.Solution.Bound, Conversions: s.Choice.Conversions, StaleTuning: s.Choice.Stale, Learned: s.Choice.Learned}}
	p.Others = len(s.Choice.Others)
	if err := s.addDevice(p); err != nil {
		return err
	}
	b := &builder{g: g, p: p, kernels: s.Choice.Kernels, others: s.Choice.Others, views: s.Choice.Views, transfers: s.Choice.Transfers, versions: s.Choice.Versions, constants: map[*ir.Value]*ir.Value{}}
	later := computedBy(g)
	p.Checks = nil
	for _, c := range g.Checks {
		if !uses(c, later) {
			p.Checks = append(p.Checks, c)
		}
	}
	var err error
	if p.Steps, err = b.blocks(g); err != nil {
		return err
	}
	s.Program = p
	p.Warnings = s.warnings()
	p.Precision, p.Quantized = s.precision(p), s.quantized()
	return nil
}

// precision says how the program stores and computes floats that were given a precision; nil: they have the model's types.
func (s *State) precision(p *plan.Program) *plan.Precision {
	if s.Precision == nil {
		return nil
	}
	out := &plan.Precision{Storage: s.Store.String(), Product: ir.F32.String(), Accumulator: ir.F32.String(), Nodes: s.Precision.Nodes}
	for _, c := range p.Calls() {
		pairs, halves := false, false
		loop.Tiles(c.Kernel.Body, func(t loop.Tile) {
			pairs, halves = pairs || t.Micro.Instr.InPairs(), halves || t.Micro.Instr.InHalves()
		})
		if pairs {
			out.Pairs, out.Product = out.Pairs+1, s.Store.String()
		}
		if halves {
			out.Halves, out.Product, out.Accumulator = out.Halves+1, s.Store.String(), s.Store.String()
		}
	}
	for _, k := range s.Precision.Kept {
		out.Kept = append(out.Kept, plan.Kept(k))
	}
	return out
}

// quantized says what of a quantized network computes floats; nil of another one.
func (s *State) quantized() *plan.Quantized {
	r := islands.Floats(s.Graph)
	if r == nil {
		return nil
	}
	out := &plan.Quantized{Nodes: r.Nodes}
	for _, k := range r.Kept {
		out.Kept = append(out.Kept, plan.Kept(k))
	}
	return out
}

// builder makes steps of blocks.
type builder struct {
	g       *block.Graph
	p       *plan.Program
	kernels map[*block.Block]sel.Kernel
	others  []map[*block.Block]sel.Kernel // of other variants
	views   map[*block.Block][]sel.View
	// versions are what computes blocks where symbols are small.
	versions map[*block.Block][]*sel.Version
	// transfers are blocks that copy a value to another space, and constants those that launches read.
	transfers map[*block.Block]bool
	constants map[*ir.Value]*ir.Value
}

// addDevice gives the program a memory space for the second target.
func (s *State) addDevice(p *plan.Program) error {
	if s.Device == nil {
		return nil
	}
	groups, err := s.Device.WorkGroups()
	if err != nil {
		return err
	}
	p.Device = &plan.Device{Name: s.Device.Name, Memory: plan.Memory{Align: s.Device.Alignment()}, GroupItems: groups.GroupItems, Workers: groups.Workers}
	return nil
}

// blocks makes the steps of a graph's blocks. What the graph demands of symbols that they compute is
// checked when the last of these is computed.
func (b *builder) blocks(g *block.Graph) ([]plan.Step, error) {
	var out []plan.Step
	later := computedBy(g)
	var waiting []*block.Check
	for i := range g.Checks {
		if uses(g.Checks[i], later) {
			waiting = append(waiting, &g.Checks[i])
		}
	}
	for _, x := range g.Blocks {
		steps, err := b.block(x)
		if err != nil {
			return nil, err
		}
		out = append(out, steps...)
		for _, s := range x.Computes() {
			delete(later, s)
		}
		waiting = slices.DeleteFunc(waiting, func(c *block.Check) bool {
			if uses(*c, later) {
				return false
			}
			out = append(out, plan.Step{Check: c})
			return true
		})
	}
	return out, nil
}

// computedBy are the symbols that the graph's own blocks compute.
func computedBy(g *block.Graph) map[string]bool {
	out := map[string]bool{}
	for _, x := range g.Blocks {
		for _, s := range x.Computes() {
			out[s] = true
		}
	}
	return out
}

func uses(c block.Check, symbols map[string]bool) bool {
	for s := range symbols {
		if c.A.Uses(s) || c.B.Uses(s) {
			return true
		}
	}
	return false
}

func (b *builder) block(x *block.Block) ([]plan.Step, error) {
	switch {
	case x.Control == nil:
		return b.call(x)
	case x.Control.If != nil:
		return b.branches(x, x.Control.If)
	}
	return b.loop(x, x.Control.Loop)
}

func (b *builder) call(x *block.Block) ([]plan.Step, error) {
	if views := b.views[x]; views != nil {
		for _, v := range views {
			whole := v.At.Is(0) && b.elements(v.Value).Equal(b.elements(v.Of))
			b.p.Homes[v.Value] = plan.Home{Of: v.Of, At: v.At, Whole: whole}
		}
		return nil, nil
	}
	if b.transfers[x] {
		return []plan.Step{{Transfer: b.p.Move(x.Operands[0], x.Results[0])}}, nil
	}
	k := b.kernels[x]
	args, err := k.Args()
	if err != nil {
		return nil, err
	}
	if k.Space != layout.Host {
		call, err := b.kernelCall(x, k, b.onDevice(args), nil)
		if err != nil {
			return nil, err
		}
		return []plan.Step{{Launch: b.p.Device.Launch(call)}}, nil
	}
	var others []sel.Kernel
	for _, kernels := range b.others {
		others = append(others, kernels[x])
	}
	call, err := b.kernelCall(x, k, args, others)
	if err != nil {
		return nil, err
	}
	return b.choice(x, call)
}

// kernelCall is the call of a block's kernel, or of those of the library's variants.
func (b *builder) kernelCall(x *block.Block, k sel.Kernel, args []*ir.Value, others []sel.Kernel) (*plan.Call, error) {
	if err := checkNames(b.g, k.Kernel); err != nil {
		return nil, fmt.Errorf("block %s: %w", x.Label(), err)
	}
	call := &plan.Call{Kernel: k.Kernel, Args: args, Block: x, Cycles: k.Cycles, Tuning: k.Tuning}
	if k.Schedule != nil {
		call.Schedule = k.Schedule.String()
	}
	if k.Space == layout.Host {
		call.Align = b.p.Memory.Align
	}
	for _, o := range others {
		l, err := b.lowering(x, o, args)
		if err != nil {
			return nil, err
		}
		call.Others = append(call.Others, l)
	}
	return call, nil
}

// choice is a block's call, or where it has versions one of them.
func (b *builder) choice(x *block.Block, last *plan.Call) ([]plan.Step, error) {
	versions := b.versions[x]
	if versions == nil {
		return []plan.Step{{Call: last}}, nil
	}
	c := &plan.Choose{Label: x.Label()}
	for _, v := range versions {
		args, err := last.Args, error(nil)
		if !v.Kernel.SamePacking {
			args, err = v.Kernel.Args()
		}
		if err != nil {
			return nil, err
		}
		call, err := b.kernelCall(v.Block, v.Kernel, args, v.Others)
		if err != nil {
			return nil, err
		}
		c.Versions = append(c.Versions, plan.Version{Guard: plan.Guard{Dims: v.Guard}, Steps: []plan.Step{{Call: call}}})
	}
	c.Versions = append(c.Versions, plan.Version{Steps: []plan.Step{{Call: last}}})
	return []plan.Step{{Choose: c}}, nil
}

// lowering is what another variant runs; args are those of the call's own kernel.
func (b *builder) lowering(x *block.Block, k sel.Kernel, args []*ir.Value) (plan.Lowering, error) {
	l := plan.Lowering{Kernel: k.Kernel, Args: args, Cycles: k.Cycles, Tuning: k.Tuning}
	if err := checkNames(b.g, k.Kernel); err != nil {
		return l, fmt.Errorf("block %s: %w", x.Label(), err)
	}
	if k.SamePacking {
		return l, nil
	}
	var err error
	l.Args, err = k.Args()
	return l, err
}

// onDevice are a launch's values: what a constant holds lies on the device too.
func (b *builder) onDevice(args []*ir.Value) []*ir.Value {
	out := slices.Clone(args)
	for i, v := range args {
		if v.Const == nil {
			continue
		}
		if b.constants[v] == nil {
			twin := *v
			b.constants[v], b.p.Layouts[&twin] = &twin, b.p.Layouts[v].In(layout.Device)
		}
		out[i] = b.constants[v]
	}
	return out
}

// elements are a value's, padding included.
func (b *builder) elements(v *ir.Value) sym.Expr { return b.p.Layouts[v].Elements(v.Shape) }

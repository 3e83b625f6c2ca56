package plan

import (
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/kernel/layout"
)

// Memory is the plan of one memory space: nothing else is allocated for a run.
type Memory struct {
	// ArenaBytes, LowerBoundBytes (the most that is live at once) and ScratchBytes (of a worker).
	ArenaBytes      sym.Expr
	LowerBoundBytes sym.Expr
	ScratchBytes    sym.Expr
	// Images hold the values whose layout is one.
	Images []Texture
	// Align is a multiple of Alignment; 0 counts as Alignment.
	Align int64
	// Constants in the order of the weights file.
	Constants    []Constant
	WeightsBytes int64
}

// Device is what launches run on: its memory, and how work-items are started.
type Device struct {
	// Name is that of its facts.
	Name string
	Memory
	// GroupItems is how many work-items a work-group has at most, and Workers how many run kernels with scratch memory.
	GroupItems, Workers int64
}

// align is the alignment of constants and intermediate values: on a device, of sub-buffers.
func (m *Memory) align() int64 { return max(m.Align, Alignment) }

// spaces are those of the program.
func (p *Program) spaces() []layout.Space {
	if p.Device == nil {
		return layout.Spaces[:1]
	}
	return layout.Spaces
}

func (p *Program) memory(s layout.Space) *Memory {
	if s == layout.Device {
		return &p.Device.Memory
	}
	return &p.Memory
}

// Space is where a value lies.
func (p *Program) Space(v *ir.Value) layout.Space { return p.Layouts[v].Space }

// Bytes are those of a value's storage, padding included.
func (p *Program) Bytes(v *ir.Value) sym.Expr {
	return sym.Scale(p.Layouts[v].Elements(v.Shape), int64(v.Type.Size()))
}

// unplaced selects the values of a space that have no place yet.
func (p *Program) unplaced(s layout.Space) func(*ir.Value) bool {
	return func(v *ir.Value) bool {
		_, placed := p.Places[v]
		return !placed && p.Space(v) == s
	}
}

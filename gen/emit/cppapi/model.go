// Package cppapi prints a model's public header (a C API and a C++ wrapper), the
// source behind it, and what the files of generated code share.
//
// The source is data, a rules_dnn::Description, and calls of the runtime, which checks
// arguments, owns memory and threads, and runs PREFIX_program, the function that the
// code generator prints.
package cppapi

import (
	"fmt"
	"path"
	"slices"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
)

// Model describes what is to be printed. Names of tensors and symbols may be any
// text; Api, Prefix and Namespace come from the build and are checked.
type Model struct {
	// Api names the header: "model" makes model.h. It may have folders, which
	// only users write in their #include.
	Api string
	// Prefix begins all C names: app_model.
	Prefix string
	// Namespace of the C++ wrapper: app::model.
	Namespace string
	// Generator is named in the files' first lines, with its version.
	Generator string

	Inputs, Outputs []Tensor
	// Symbols in the order of Ctx.sym; those that a run computes are the last.
	Symbols []Symbol
	// Checks guard on run-time dims: those that the nodes of the network do not allow are refused.
	Checks []Check
	// Notes are what the model says of inputs and outputs and the library does otherwise.
	Notes []string

	// Arena are byte counts; the arena holds the greatest. None: no arena.
	Arena []sym.Expr
	// Scratch is the bytes that one worker needs.
	Scratch sym.Expr
	Weights Weights
	// Variants are the chips that the library has kernels for, the least capable first; one at least.
	Variants []Variant
	// Device is what the model has of a device beside the processor; nil: none.
	Device *Device
	// Bare reports that the runtime starts no threads and sees no environment, and that buffers are aligned as weights are.
	Bare bool
	// Remote makes what is printed the stub of a model on a DSP; nil: it is none.
	Remote *Remote
	// Observed: users may have what blocks compute told to them.
	Observed bool
	// Skeleton has what FastRPC calls printed; nil: the library is no skeleton.
	Skeleton *Identity
}

// Tensor is an input or an output.
type Tensor struct {
	Name  string
	Type  ir.DType
	Shape ir.Shape
}

// Symbol is a dimension known at run time.
type Symbol struct {
	Name   string
	Lo, Hi int64 // inclusive
	// Computed: the program writes the value (the rows of a NonZero). Max bounds it by
	// the other symbols, before the run.
	Computed bool
	Max      sym.Expr
}

// Check is a condition on the symbols that the caller gives. Text says what it is about.
type Check struct {
	Relation Relation
	A, B     sym.Expr
	Text     string
}

// Relation is what holds of a check's two sides.
type Relation uint8

// Relations of a check: equal; equal, or one is 1 and the other at least 0; A >= B.
const (
	Equal Relation = iota
	Broadcast
	AtLeast
)

// Weights are the packed constants.
type Weights struct {
	Mode  Mode
	Bytes int64    // without the file's header
	Align int      // what their place in memory is a multiple of; 0: as everywhere
	Hash  [32]byte // of those bytes, and of what else decides their meaning
}

// Mode tells where weights are at run time.
type Mode uint8

// Modes of weights: in the library, or in a file that the options bring.
const (
	Embed Mode = iota
	File
)

// ParseMode reads dnnc's --weights.
func ParseMode(s string) (Mode, error) {
	switch s {
	case "embed":
		return Embed, nil
	case "file":
		return File, nil
	}
	return 0, fmt.Errorf("--weights=%s: want embed or file", s)
}

// HeaderName is the public header's file name.
func (m *Model) HeaderName() string { return path.Base(m.Api) + ".h" }

// InternalName is the file name of the header that generated files share.
func (m *Model) InternalName() string { return m.Prefix + "_internal.h" }

// SourceName is the file name of the API's source.
func (m *Model) SourceName() string { return m.Prefix + "_api.cc" }

// ProfileName is the file name of what programs that measure the model link.
func (m *Model) ProfileName() string { return m.Prefix + "_profile.cc" }

// symText is the C text of a symbol's value in an array of all.
func (m *Model) symText(array, name string) string {
	return fmt.Sprintf("%s[%d]", array, m.symbolIndex(name))
}

func (m *Model) symbolIndex(name string) int {
	return slices.IndexFunc(m.Symbols, func(s Symbol) bool { return s.Name == name })
}

func (m *Model) given() int {
	n := slices.IndexFunc(m.Symbols, func(s Symbol) bool { return s.Computed })
	if n < 0 {
		return len(m.Symbols)
	}
	return n
}

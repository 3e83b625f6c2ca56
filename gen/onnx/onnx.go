// Package onnx reads and writes ONNX models; nothing else in the compiler knows ONNX.
//
// Read makes the compiler's graph of a model:
//
//   - Weights stay where they are: a scanner of the wire format skips the elements of
//     tensors and attributes, and constants refer to ranges of the model's file, or of the
//     declared files of external data. Those whose stored form is not the one in memory
//     are decoded when they are read; only constants of at most 64 elements are held in memory.
//   - An initializer is a constant, also where it is a graph input as well (which
//     IR versions before 4 demand, and later ones mean as a default).
//   - Constant and Identity nodes leave the graph; an Identity stays only where an
//     input of the model is one of its outputs.
//   - A subgraph is a region of its node, closed but for constants: outer values
//     that it uses are the node's last operands, and the region's last inputs
//     (ir.Node.Captures).
//   - Nodes may stand in any order, of which a topological one is made; one that is topological stays.
//   - Model-local functions are inlined. Other domains than ai.onnx are refused.
//   - Types and shapes of inputs and outputs are taken from the model, those of all
//     other values are left to shape inference.
//   - Documentation strings, metadata, value_info, quantization annotations, device
//     configurations and training information do not change what a model computes
//     and are not read.
package onnx

import (
	"errors"
	"fmt"

	"google.golang.org/protobuf/proto"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/onnx/onnxpb"
)

// Opsets of ai.onnx that Read accepts.
const (
	OldestOpset = 1
	NewestOpset = newestOpset
)

// modernOpset is the oldest opset of the graphs that Read gives: nodes of older ones are upgraded.
const modernOpset = 7

// inlineLimit is the greatest number of elements of a constant that is held in memory.
const inlineLimit = ir.InlineElems

// Options of Read.
type Options struct {
	// Dims bind or bound symbolic dimensions, by the model's name or by the symbol's.
	Dims map[string]Dim
	// KeepInputs are inputs with default values that stay inputs, which each run gives: the defaults
	// are not used. Others become constants.
	KeepInputs []string
	// Fill makes pseudo-random weights for tensors whose external data has the
	// location "random" (graphs without weights, for tests and benchmarks).
	Fill bool
	// Seed is of random numbers.
	Seed Seed
	// Supported reports why an operator is not supported (nil: it is). Read reports
	// all unsupported nodes together. A nil function supports all of ai.onnx.
	Supported func(op string, version int) error
	// Operators are the names of those that are supported in some version. They follow the
	// nodes of a report, once, where a node has none of them.
	Operators []string
}

// Read reads a model. The files' names are set by Read: the model is "",
// external data are named by the locations that the model uses.
func Read(model *ir.File, external map[string]*ir.File, opt Options) (*ir.Graph, error) {
	m, payloads, err := scanModel(model)
	if err != nil {
		return nil, fmt.Errorf("reading ONNX model: %w", err)
	}
	if err := sortNodes(m); err != nil {
		return nil, fmt.Errorf("importing ONNX model: %w", err)
	}
	im, err := newImporter(m, payloads, model, external, opt)
	if err != nil {
		return nil, fmt.Errorf("importing ONNX model: %w", err)
	}
	g, err := im.model(m)
	if err != nil {
		return nil, fmt.Errorf("importing ONNX model: %w", err)
	}
	return g, nil
}

// errNoGraph reports a file that may be read as a model, and is none.
var errNoGraph = errors.New("the file holds no graph")

// scanModel parses the model without the tensors' payloads.
func scanModel(f *ir.File) (*onnxpb.ModelProto, []payload, error) {
	m := &onnxpb.ModelProto{}
	s := &scanner{cursor: cursor{file: f, stop: f.Size}}
	if err := s.message(m.ProtoReflect().Descriptor(), f.Size, 0); err != nil {
		return nil, nil, explain(f, fmt.Errorf("at byte %d: %w", s.pos, err))
	}
	if err := proto.Unmarshal(s.out, m); err != nil {
		return nil, nil, explain(f, err)
	}
	if m.Graph == nil {
		return nil, nil, explain(f, errNoGraph)
	}
	return m, s.payloads, nil
}

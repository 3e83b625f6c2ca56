package onnx

import (
	"fmt"
	"sort"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/onnx/onnxpb"
)

// importer converts one model.
type importer struct {
	opt       Options
	file      *ir.File
	payloads  []payload
	externals map[string]*ir.File // by clean location
	missing   map[string]int      // tensors by location that is not declared
	symbols   *symbols
	functions map[functionKey]*onnxpb.FunctionProto
	problems  problems
	opset     int
	ir        int64 // the model's IR version
	// used are the names of the model's graph, of constants and of inlined values:
	// what is made by inlining or lifted out of a subgraph avoids them.
	used    map[string]bool
	numbers map[string]int // how many names that are like a name are taken
	nodes   int
	outputs map[string]bool    // names of the model's outputs
	seed    *ir.Value          // the input of the seed, where there is one
	nibbles map[*ir.Value]bool // values of 4 bits
	streams int64              // how many nodes draw random numbers
	// What is read of tensors, of attributes' lists and of constants made of these: each time that a function is
	// inlined its nodes have them again.
	tensors map[*onnxpb.TensorProto]*ir.Tensor
	lists   map[*onnxpb.AttributeProto]any
	vectors map[*payload]*ir.Tensor
}

func newImporter(m *onnxpb.ModelProto, payloads []payload, file *ir.File, external map[string]*ir.File, opt Options) (*importer, error) {
	im := &importer{
		opt: opt, payloads: payloads, file: &ir.File{R: file.R, Size: file.Size},
		externals: map[string]*ir.File{}, missing: map[string]int{},
		functions: map[functionKey]*onnxpb.FunctionProto{}, nibbles: map[*ir.Value]bool{}, used: map[string]bool{}, numbers: map[string]int{}, outputs: map[string]bool{},
		tensors: map[*onnxpb.TensorProto]*ir.Tensor{}, lists: map[*onnxpb.AttributeProto]any{}, vectors: map[*payload]*ir.Tensor{},
	}
	for loc, f := range external {
		clean, err := CleanLocation(loc)
		if err != nil {
			return nil, err
		}
		if _, ok := im.externals[clean]; ok {
			return nil, fmt.Errorf("external data at %s is declared twice", show(clean))
		}
		im.externals[clean] = &ir.File{Name: clean, R: f.R, Size: f.Size}
	}
	var err error
	if im.symbols, err = newSymbols(opt.Dims); err != nil {
		return nil, err
	}
	if v := m.GetIrVersion(); v < 3 || v > newestIR {
		return nil, fmt.Errorf("the model's IR version is %d; supported are 3 to %d", v, newestIR)
	}
	im.ir = m.GetIrVersion()
	if err := im.addFunctions(m); err != nil {
		return nil, err
	}
	return im, im.checkExpansion(m)
}

// model converts the model's graph.
func (im *importer) model(m *onnxpb.ModelProto) (*ir.Graph, error) {
	opsets, err := opsetImports(m.OpsetImport)
	if err != nil {
		return nil, err
	}
	v, ok := opsets[""]
	if !ok {
		return nil, fmt.Errorf("the model imports no opset of ai.onnx")
	}
	if err := checkOpset(v); err != nil {
		return nil, err
	}
	im.opset = max(v, modernOpset)
	g := &ir.Graph{Name: m.Graph.GetName(), Opset: im.opset}
	s := &scope{im: im, g: g, frame: &frame{opsets: opsets}, top: true}
	if err := s.graph(m.Graph); err != nil {
		return nil, err
	}
	g.Symbols = im.symbols.list
	if err := im.problems.err(); err != nil {
		return nil, err
	}
	if len(g.Outputs) == 0 {
		return nil, fmt.Errorf("the model has no outputs")
	}
	if err := im.missingFiles(); err != nil {
		return nil, err
	}
	g.Bounded = im.symbols.others()
	return g, nil
}

func checkOpset(v int) error {
	if v < OldestOpset || v > NewestOpset {
		return fmt.Errorf("opset %d of ai.onnx is not supported; supported are %d to %d", v, OldestOpset, NewestOpset)
	}
	return nil
}

// domain gives the standard operators' domain its short name.
func domain(d string) string {
	if d == "ai.onnx" {
		return ""
	}
	return d
}

func opsetImports(list []*onnxpb.OperatorSetIdProto) (map[string]int, error) {
	out := map[string]int{}
	for _, o := range list {
		d := domain(o.GetDomain())
		if v, ok := out[d]; ok && int64(v) != o.GetVersion() {
			return nil, fmt.Errorf("opsets %d and %d of domain %s are both imported", v, o.GetVersion(), show(d))
		}
		out[d] = int(o.GetVersion())
	}
	return out, nil
}

// deprecatedButWritten are operators that ONNX deprecated in the opset which introduced them, and that exporters write all the same: the
// definition has a meaning, and the newest one of an older opset is none.
var deprecatedButWritten = map[string]int{"GroupNormalization": 18}

// sinceVersion returns the opset that introduced the definition of op in force at opset.
func sinceVersion(op string, opset int) (int, error) {
	all, ok := sinceVersions[op]
	if !ok {
		return 0, refusef("ai.onnx has no such operator up to opset %d", NewestOpset)
	}
	i := sort.Search(len(all), func(i int) bool { return abs(all[i]) > opset }) - 1
	switch {
	case i < 0:
		return 0, refusef("the operator exists since opset %d", abs(all[0]))
	case all[i] < 0 && deprecatedButWritten[op] == -all[i]:
		return -all[i], nil
	case all[i] < 0:
		return 0, refusef("the operator is deprecated since opset %d", -all[i])
	}
	return all[i], nil
}

func abs(x int) int { return max(x, -x) }

// unique is a name like name that nothing has yet.
func (im *importer) unique(name string) string {
	out := name
	for i := im.numbers[name]; im.used[out]; i++ {
		out = fmt.Sprintf("%s_%d", name, i+2)
		im.numbers[name] = i + 1
	}
	im.used[out] = true
	return out
}

// typeOf sets a value's type and shape from the model's declaration.
func (im *importer) typeOf(v *ir.Value, p *onnxpb.TypeProto, shape func(*onnxpb.TensorShapeProto) (ir.Shape, bool, error)) error {
	if p == nil || p.Value == nil {
		return nil
	}
	tt, ok := p.Value.(*onnxpb.TypeProto_TensorType)
	if !ok {
		return refusef("type %s is not supported; only tensors are", typeName(p))
	}
	t, err := elementType(tt.TensorType.GetElemType())
	if err != nil {
		return err
	}
	v.Type = t
	if tt.TensorType.Shape == nil {
		return nil
	}
	v.Shape, v.HasShape, err = shape(tt.TensorType.Shape)
	return err
}

func typeName(p *onnxpb.TypeProto) string {
	switch p.Value.(type) {
	case *onnxpb.TypeProto_SequenceType:
		return "sequence"
	case *onnxpb.TypeProto_MapType:
		return "map"
	case *onnxpb.TypeProto_OptionalType:
		return "optional"
	case *onnxpb.TypeProto_SparseTensorType:
		return "sparse tensor"
	}
	return "opaque"
}

// staticShape is a declared shape if it is all constants.
func staticShape(p *onnxpb.TensorShapeProto) (ir.Shape, bool, error) {
	out := make(ir.Shape, len(p.Dim))
	for i, d := range p.Dim {
		v, ok := d.GetValue().(*onnxpb.TensorShapeProto_Dimension_DimValue)
		if !ok || v.DimValue < 0 || v.DimValue > sym.MaxDim {
			return nil, false, nil
		}
		out[i] = sym.Const(v.DimValue)
	}
	return out, true, nil
}

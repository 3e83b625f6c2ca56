package ops

import (
	"slices"
	"strings"
	"sync"

	"rules_dnn/gen/ir"
)

// families are the parts of the table, a file each.
var families = []func() []*Row{
	unaryRows,
	activationRows,
	binaryRows,
	convRows,
	poolRows,
	resizeRows,
	einsumRows,
	gridRows,
	unpoolRows,
	deformRows,
	regionRows,
	fourierRows,
	spectralRows,
	sequenceRows,
	matmulRows,
	quantizeRows,
	qlinearRows,
	microsoftRows,
	microsoftFusedRows,
	microsoftAttentionRows,
	attentionRows,
	normRows,
	reshapeRows,
	softmaxRows,
	lossRows,
	reduceRows,
	movementRows,
	sliceRows,
	indexRows,
	scatterRows,
	cumulativeRows,
	shapeRows,
	rangeRows,
	constantRows,
	opaqueRows,
	controlRows,
	recurrentRows,
}

var table = sync.OnceValue(func() []*Row {
	var rows []*Row
	for _, f := range families {
		rows = append(rows, f()...)
	}
	slices.SortFunc(rows, func(a, b *Row) int { return strings.Compare(a.Name, b.Name) })
	return rows
})

// Table is all rows, sorted by name. The caller must not change them.
func Table() []*Row { return table() }

// Lookup is the row of an operator of ai.onnx, or of another domain, which its name begins with, or nil.
func Lookup(name string) *Row {
	i, ok := find(Table(), name)
	if !ok {
		return nil
	}
	return Table()[i]
}

func find(rows []*Row, name string) (int, bool) {
	return slices.BinarySearchFunc(rows, name, func(r *Row, n string) int { return strings.Compare(r.Name, n) })
}

// newest is the newest definition that the row knows.
func (r *Row) newest() int { return r.Versions[len(r.Versions)-1] }

// Definition is the version of the operator's definition that holds at a version
// or opset: the newest that is not newer; 0 when the operator is older than the table.
func (r *Row) Definition(version int) int {
	found := 0
	for _, v := range r.Versions {
		if v <= version {
			found = v
		}
	}
	return found
}

// Sets of element types, named as in ONNX's definitions.
var (
	bools       = []ir.DType{ir.Bool}
	signed      = []ir.DType{ir.I8, ir.I16, ir.I32, ir.I64}
	unsigned    = []ir.DType{ir.U8, ir.U16, ir.U32, ir.U64}
	integers    = slices.Concat(signed, unsigned)
	floats      = []ir.DType{ir.F16, ir.BF16, ir.F32, ir.F64}
	numbers     = slices.Concat(integers, floats)
	wideNumbers = slices.Concat([]ir.DType{ir.I32, ir.I64, ir.U32, ir.U64}, floats)
	// oldNumbers are the numbers of definitions that never learned bf16.
	oldNumbers = slices.Concat(integers, []ir.DType{ir.F16, ir.F32, ir.F64})
	anyType    = slices.Concat(bools, numbers)
	indexing   = []ir.DType{ir.I32, ir.I64}
	int64s     = []ir.DType{ir.I64}
)

// in is a required operand of type variable T.
func in(name string, types []ir.DType) Param { return Param{Name: name, Types: types, Like: "T"} }

// opt makes an operand optional.
func opt(p Param) Param { p.Optional = true; return p }

// structural marks an operand that decides shapes or loops; its type is its own.
func structural(name string, types []ir.DType) Param {
	return Param{Name: name, Types: types, Structural: true}
}

// since bounds an operand to the definitions from version v on.
func since(v int, p Param) Param { p.Since = v; return p }

// until bounds an operand to the definitions up to version v.
func until(v int, p Param) Param { p.Until = v; return p }

// Attributes of each Go type.
func intAttr(name string) AttrSpec    { return AttrSpec{Name: name, Zero: int64(0)} }
func floatAttr(name string) AttrSpec  { return AttrSpec{Name: name, Zero: float32(0)} }
func strAttr(name string) AttrSpec    { return AttrSpec{Name: name, Zero: ""} }
func intsAttr(name string) AttrSpec   { return AttrSpec{Name: name, Zero: []int64(nil)} }
func floatsAttr(name string) AttrSpec { return AttrSpec{Name: name, Zero: []float32(nil)} }
func strsAttr(name string) AttrSpec   { return AttrSpec{Name: name, Zero: []string(nil)} }
func regionAttr(name string) AttrSpec { return AttrSpec{Name: name, Zero: ir.RegionRef(0)} }
func tensorAttr(name string) AttrSpec { return AttrSpec{Name: name, Zero: (*ir.Tensor)(nil)} }

// from bounds an attribute to the definitions from version v on, until to those up to it.
func (a AttrSpec) from(v int) AttrSpec  { a.Since = v; return a }
func (a AttrSpec) until(v int) AttrSpec { a.Until = v; return a }
func (a AttrSpec) required() AttrSpec   { a.Required = true; return a }

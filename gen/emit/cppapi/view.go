package cppapi

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"rules_dnn/gen/emit/cexpr"
	"rules_dnn/gen/emit/ctext"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
)

// view is what the templates see: names that C accepts, initializers as text.
type view struct {
	Api, Generator, P, Namespace, Guard string
	Header, InternalName                string
	RuntimeVersion                      int
	Statuses                            []status
	OptionMembers                       []string

	Symbols, Given           []*symbolView
	HasComputed              bool
	Checks                   []checkView
	Notes                    []string
	Inputs, Outputs, Tensors []*tensorView
	RunParameters            string

	Embed         bool
	WeightsBytes  int64
	Large         bool // too large for 32 bits
	WeightsText   string
	WeightsName   string
	WeightsSkip   int
	Alignment     int
	UnusualAlign  bool
	Bare          bool
	HashInit      string
	ArenaInits    []string
	ScratchInit   string
	Variants      []Variant
	Device        *deviceView
	DeviceMembers []string
	BufferMembers []string
	EventMembers  []string
	Remote        *remoteView
	Skeleton      *identityView
	RemoteMembers []string
	Observed      bool
	ValueMembers  []string
	Exprs         []string // sizes that need code of their own
	exprIndex     map[string]int
	model         *Model
}

type symbolView struct {
	Index            int
	Name, Ident      string
	Lo, Hi           int64
	LoText, HiText   string
	Computed         bool
	MaxText, MaxInit string
}

type checkView struct {
	Text, Relation string
	A, B           dimView
}

type tensorView struct {
	Index               int
	Name, Type          string
	Macro, Arg, Table   string
	CType               string
	Rank, ElementBytes  int
	DimsText, ShapeInit string
	Static              bool
	Bytes               int64
	Dims                []dimView
}

type dimView struct{ Init, Text string }

type status struct {
	Code               int
	Name, Runtime, Doc string
}

// statuses are rules_dnn::Status; the generated source asserts that the codes agree.
var statuses = []status{
	{0, "OK", "kOk", "done"},
	{1, "NULL_ARGUMENT", "kNullArgument", "a required pointer is null"},
	{2, "BAD_OPTIONS", "kBadOptions", "the options' size is not valid, or allocate is set without release"},
	{3, "BAD_WEIGHTS", "kBadWeights", "weights of another model, or not a weights file"},
	{4, "BAD_DIMS", "kBadDims", "a dimension outside its bounds, or dimensions that do not fit"},
	{5, "TOO_LARGE", "kTooLarge", "a size too large for the address space"},
	{6, "BUFFER_SIZE", "kBufferSize", "a buffer's size differs from its tensor's"},
	{7, "MISALIGNED", "kMisaligned", "a buffer not aligned for its element type"},
	{8, "OVERLAP", "kOverlap", "an output overlaps another buffer"},
	{9, "OUT_OF_MEMORY", "kOutOfMemory", "the allocator returned no memory"},
	{10, "THREADS", "kThreads", "too many workers, or a thread did not start"},
	{11, "UNSUPPORTED_CPU", "kUnsupportedCpu", "the processor lacks an instruction set"},
	{12, "BAD_INDEX", "kBadIndex", "no input or output has this number"},
	{13, "BAD_VALUE", "kBadValue", "an input's value is outside what an operator allows, for example an index out of bounds; outputs are not valid"},
	{14, "NO_WEIGHTS", "kNoWeights", "the options have no weights"},
	{15, "WEIGHTS_ALIGNMENT", "kWeightsAlignment", "weights not aligned as the model's header file requires"},
	{16, "WEIGHTS_LENGTH", "kWeightsLength", "the weights file is truncated, or has trailing data"},
	{17, "WEIGHTS_DAMAGED", "kWeightsDamaged", "the weights differ from those that the compiler wrote"},
	{18, "UNKNOWN_VARIANT", "kUnknownVariant", "the options or DNN_VARIANT name a chip that the library has no kernels for"},
}

// relations are rules_dnn::Relation.
var relations = map[Relation]string{Equal: "kEqual", Broadcast: "kBroadcast", AtLeast: "kAtLeast"}

// optionMembers are those of rules_dnn::Options.
var optionMembers = []string{"size", "weights", "weights_bytes", "allocate", "release", "allocator_user", "workers", "parallel_for", "parallel_user", "keep_denormals", "verify_weights", "variant", "cores"}

// valueMembers are those of rules_dnn::Value.
var valueMembers = []string{"name", "type", "element_bytes", "rank", "dims", "layout", "data", "parts", "part_count"}

// runtimeVersion is rules_dnn::kRuntimeVersion of the runtime that this is printed for.
const runtimeVersion = 1

func newView(m *Model) *view {
	v := &view{
		Api: m.Api, Generator: m.Generator, P: m.Prefix, Namespace: m.Namespace,
		Guard: "RULES_DNN_" + m.Prefix + "_H_", Header: m.HeaderName(), InternalName: m.InternalName(),
		RuntimeVersion: runtimeVersion, Statuses: statusesOf(m), OptionMembers: optionMembers, DeviceMembers: deviceMembers, BufferMembers: bufferMembers, EventMembers: eventMembers, RemoteMembers: remoteMembers, Observed: m.Observed, ValueMembers: valueMembers,
		Embed: m.Weights.Mode == Embed, WeightsBytes: m.Weights.Bytes, Large: m.Weights.Bytes > math.MaxInt32, WeightsText: number(m.Weights.Bytes),
		Alignment: m.Weights.align(), UnusualAlign: m.Weights.align() != usualAlignment, Bare: m.Bare,
		Notes: m.Notes, Variants: m.Variants, exprIndex: map[string]int{}, model: m,
	}
	v.addSymbols()
	for _, c := range m.Checks {
		v.Checks = append(v.Checks, checkView{c.Text, relations[c.Relation], v.dim(c.A), v.dim(c.B)})
	}
	// One scope: the wrapper's arguments are inputs and outputs together.
	args := ctext.NewNamer("dims", "context_", "input_pointers", "output_pointers", "size_t")
	v.Inputs = v.tensors("INPUT", "Input", m.Inputs, args)
	v.Outputs = v.tensors("OUTPUT", "Output", m.Outputs, args)
	v.Tensors = append(append(v.Tensors, v.Inputs...), v.Outputs...)
	v.RunParameters = v.runParameters()
	for _, e := range m.Arena {
		v.ArenaInits = append(v.ArenaInits, v.size(e))
	}
	v.ScratchInit = v.size(m.Scratch)
	v.addDevice(m.Device)
	v.addRemote(m)
	v.HashInit = hashInit(m.Weights.Hash)
	return v
}

func (v *view) addSymbols() {
	fields := ctext.NewNamer()
	for i, s := range v.model.Symbols {
		sv := &symbolView{Index: i, Name: s.Name, Ident: fields.Name(s.Name, "dim"), Lo: s.Lo, Hi: s.Hi, Computed: s.Computed}
		sv.LoText, sv.HiText = number(s.Lo), number(s.Hi)
		sv.MaxInit = v.size(s.Max)
		v.Symbols = append(v.Symbols, sv)
		if s.Computed {
			v.HasComputed, sv.MaxText = true, s.Max.String()
			continue
		}
		v.Given = append(v.Given, sv)
	}
}

func (v *view) tensors(macro, table string, list []Tensor, args *ctext.Namer) []*tensorView {
	var out []*tensorView
	macros := ctext.NewNamer()
	for i, t := range list {
		tv := &tensorView{
			Index: i, Name: t.Name, Type: t.Type.String(), CType: cTypes[t.Type], Rank: len(t.Shape), ElementBytes: t.Type.Size(),
			Macro: v.P + "_" + macro + "_" + macros.Name(t.Name, strings.ToLower(macro)),
			Arg:   args.Name(t.Name, strings.ToLower(macro)), Table: fmt.Sprintf("k%s%dDims", table, i),
		}
		v.addShape(tv, t)
		out = append(out, tv)
	}
	return out
}

func (v *view) addShape(tv *tensorView, t Tensor) {
	var texts, constants []string
	tv.Static, tv.Bytes = true, int64(t.Type.Size())
	for _, d := range t.Shape {
		tv.Dims = append(tv.Dims, v.dim(d))
		texts = append(texts, d.String())
		c, ok := d.Const()
		if !ok || c < 0 || c > 0 && tv.Bytes > math.MaxInt32/c {
			tv.Static = false // no constant, or none that every preprocessor and compiler takes as an int
		}
		if !ok {
			c = -1
		}
		constants = append(constants, strconv.FormatInt(c, 10))
		tv.Bytes *= max(c, 0)
	}
	tv.DimsText = "[" + strings.Join(texts, ", ") + "]"
	tv.ShapeInit = strings.Join(constants, ", ")
}

func (v *view) runParameters() string {
	var list []string
	if len(v.Given) > 0 {
		list = append(list, "const Dims& dims")
	}
	for _, t := range v.Inputs {
		list = append(list, "const "+t.CType+"* "+t.Arg)
	}
	for _, t := range v.Outputs {
		list = append(list, t.CType+"* "+t.Arg)
	}
	return strings.Join(list, ", ")
}

// cTypes are the elements' types in the wrapper; 16-bit floats are their bits.
var cTypes = map[ir.DType]string{
	ir.Bool: "uint8_t", ir.I8: "int8_t", ir.I16: "int16_t", ir.I32: "int32_t", ir.I64: "int64_t",
	ir.U8: "uint8_t", ir.U16: "uint16_t", ir.U32: "uint32_t", ir.U64: "uint64_t",
	ir.F16: "uint16_t", ir.BF16: "uint16_t", ir.F32: "float", ir.F64: "double",
}

func (v *view) dim(e sym.Expr) dimView { return dimView{v.size(e), e.String()} }

// size is the initializer of a rules_dnn::Size.
func (v *view) size(e sym.Expr) string {
	terms, c := e.Terms()
	switch {
	case len(terms) == 0:
		return fmt.Sprintf("{0, %s, -1, -1}", number(c))
	case len(terms) == 1 && len(terms[0].Atoms) == 1 && terms[0].Atoms[0].Kind == sym.AtomVar:
		i := v.model.symbolIndex(terms[0].Atoms[0].Name)
		return fmt.Sprintf("{%s, %s, %d, -1}", number(terms[0].Coef), number(c), i)
	}
	text := cexpr.Checked(e, func(n string) string { return v.model.symText("sym", n) }, "bad")
	i, ok := v.exprIndex[text]
	if !ok {
		i = len(v.Exprs)
		v.exprIndex[text] = i
		v.Exprs = append(v.Exprs, text)
	}
	return fmt.Sprintf("{0, 0, -1, %d}", i)
}

func number(c int64) string { return cexpr.Expr(sym.Const(c), nil) }

func hashInit(hash [32]byte) string {
	var list []string
	for _, b := range hash {
		list = append(list, fmt.Sprintf("0x%02x", b))
	}
	return strings.Join(list, ", ")
}

package loop_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/ir/te/tetest"
	"rules_dnn/gen/kernel/loop"
	"rules_dnn/gen/ops/opaque"
	"rules_dnn/gen/target/instr"
)

// whole has every field of a kernel, its statements' and expressions' included.
func whole() *loop.Kernel {
	v := sym.Var
	within := []te.Within{{E: v("i"), Lo: v("N"), Hi: v("M")}}
	texel := loop.Texel{X: v("i"), Y: v("j")}
	buffer := func(name string) *loop.Buffer {
		return &loop.Buffer{Name: name, Type: ir.F32, Write: true, Size: v("N"), Image: &loop.Image{Width: v("N"), Height: v("M")}, Holds: true, Local: true, Packed: true, Const: true}
	}
	x, s, a, h := buffer("x"), buffer("s"), buffer("a"), buffer("h")
	micro := &loop.MicroKernel{Instr: instr.Lookup("fma_f32x8"), X: instr.Memory, Rows: 1, Vectors: 2, Stored: ir.F16, RowStep: 3, Run: 4, RunStep: 5, VecStep: 6,
		K: []loop.KLoop{{Extent: 7, XStep: 8, WStep: 9}}, PrefetchW: 10, Narrow: 33, Adds: true, PrefetchX: true, Fetch: 11, FetchX: 22,
		Kept: &loop.Kept{Taps: [][]int64{{12, 13}, {14, 15}}, Blocks: 16, Channels: 17, Group: 18, Step: 19, GroupStep: 20, Kernels: 21, Part: 23, Held: 24, Alone: true, Early: true, Given: true}}
	choice := te.Select{Cond: within, Then: te.Call{Fn: "add", Type: ir.F32, Args: []te.Expr{te.Const{Type: ir.F32, Bits: 7}, te.Index{Type: ir.F32, E: v("i")}}},
		Else: te.Call{Fn: "add", Type: ir.F32, Args: []te.Expr{loop.Mem{Buf: s, Index: v("i"), Texel: texel},
			te.Call{Fn: "add", Type: ir.F32, Args: []te.Expr{loop.Near{Buf: s, Index: v("i"), Width: 4, Lane: v("j")}, loop.Ref{Name: "v", Type: ir.F32}}}}}}
	call := loop.Call{Operands: []*loop.Buffer{x}, Results: []*loop.Buffer{s}, Scratch: []*loop.Buffer{a}, Call: &opaque.Call{
		Name: "TopK", Types: []ir.DType{ir.F32}, Operands: []opaque.Tensor{{Type: ir.F32, Shape: ir.Shape{v("N")}}}, Results: []opaque.Tensor{{Type: ir.F32, Shape: ir.Shape{v("N")}}},
		Args:  []opaque.Arg{{Kind: opaque.Operand, N: 1}, {Kind: opaque.Size, Size: v("N")}, {Kind: opaque.Dims, Dims: []sym.Expr{v("N")}}, {Kind: opaque.Flag, Flag: true}},
		Whole: true, Scratch: []opaque.Memory{{Type: ir.I32, Size: v("N")}}, Computes: []opaque.Symbol{{Name: "K", Lo: 1, Hi: 2, Max: v("N"), What: "rows"}},
		Elements: map[int]sym.Expr{1: v("K")}, Work: v("N"), Consts: []*ir.Tensor{{}},
		Run: func(map[string]int64, []*ir.Tensor) ([]*ir.Tensor, []int64, error) { return nil, nil, nil },
	}}
	return &loop.Kernel{
		Anchor: "test", Buffers: []*loop.Buffer{x}, Syms: []string{"N"}, Grid: []te.Axis{{Var: "t", Extent: v("N")}},
		Facts: sym.Facts{"N": {Lo: 1, Hi: 64}}, Scratch: []*loop.Buffer{s}, Shared: []*loop.Buffer{h}, Sets: []string{"K"},
		Body: []loop.Stmt{
			loop.Alloc{Buf: a}, loop.Index{Var: "j", Value: v("N")}, loop.Def{Name: "v", Init: choice}, loop.Set{Name: "v", Value: choice},
			loop.Bind{Var: "b", Value: choice, Lo: v("N"), Hi: v("M"), Known: true},
			loop.For{Var: "i", Extent: v("N"), Lanes: 1, Halves: true, Stride: 2, Items: true, Body: []loop.Stmt{
				loop.If{Cond: within, Then: []loop.Stmt{loop.Claim{Buf: x, Index: v("i"), Later: true}}, Else: []loop.Stmt{loop.Store{Buf: x, Index: v("i"), Texel: texel, Value: choice}}},
			}},
			loop.Tile{Micro: micro, X: x, W: s, XAt: v("N"), At: v("N"), Acc: a, AccAt: v("N"), FetchAt: v("N"), Index: h, Ends: h, IndexAt: v("N"), EndsAt: v("N"), Finish: &loop.Finish{}},
			loop.Barrier{}, call,
		},
	}
}

// silent are the fields that a text leaves out, and why.
var silent = map[string]string{
	"Call.Consts": "Parse takes them from the calls that it is given",
	"Call.Run":    "it is a function, too",
	"Tile.Finish": "only printers' kernels have it",
}

// changer makes the changes of what the text names or lists in other ways than its fields.
type changer struct{ tetest.Changer }

func (c *changer) own(path string, v reflect.Value, f func(string, reflect.Value)) bool {
	field := path[strings.LastIndex(path, "/")+1:]
	switch x := v.Interface().(type) {
	case *loop.Buffer: // what is not declared here is named only
		if field == "Kernel.Buffers" || field == "Kernel.Scratch" || field == "Kernel.Shared" || field == "Alloc.Buf" {
			c.pointed(path, v, f)
			break
		}
		other := *x
		other.Name += "x"
		f(path, reflect.ValueOf(&other))
	case *instr.Row:
		f(path, reflect.ValueOf(instr.Lookup("fma_f32x16")))
	case opaque.Kind:
		f(path, reflect.ValueOf((x+3)%(opaque.Flag+1)))
	case *opaque.Call:
		for i := range reflect.TypeOf(*x).NumField() {
			if name := "Call." + reflect.TypeOf(*x).Field(i).Name; silent[name] != "" {
				other := *x
				reflect.ValueOf(&other).Elem().Field(i).SetZero()
				f(path+"/"+name, reflect.ValueOf(&other))
			}
		}
		c.pointed(path, v, f)
	case *loop.Finish:
		f(path, reflect.ValueOf((*loop.Finish)(nil)))
	case sym.Facts:
		f(path, reflect.ValueOf(sym.Facts{}))
		f(path+"/Range.Lo", reflect.ValueOf(sym.Facts{"N": {Lo: 2, Hi: 64}}))
		f(path+"/Range.Hi", reflect.ValueOf(sym.Facts{"N": {Lo: 1, Hi: 65}}))
		f(path, reflect.ValueOf(sym.Facts{"t": {Lo: 1, Hi: 64}}))
	case map[int]sym.Expr:
		f(path, reflect.ValueOf(map[int]sym.Expr{}))
		f(path, reflect.ValueOf(map[int]sym.Expr{2: x[1]}))
		f(path, reflect.ValueOf(map[int]sym.Expr{1: sym.Const(1)}))
	default:
		return silent[field] != ""
	}
	return true
}

// pointed makes the changes of what is never nil.
func (c *changer) pointed(path string, v reflect.Value, f func(string, reflect.Value)) {
	c.Each(path, v.Elem(), func(p string, x reflect.Value) {
		out := reflect.New(v.Type().Elem())
		out.Elem().Set(x)
		f(p, out)
	})
}

// TestTextIsComplete changes each field of a kernel and finds it in the text. A field that is added is found here until
// the sample above has it and the text too.
func TestTextIsComplete(t *testing.T) {
	want, seen := whole().String(), map[string]int{}
	c := &changer{tetest.Changer{T: t, Maybe: sometimes}}
	c.Own = c.own
	c.Each("", reflect.ValueOf(whole()).Elem(), func(path string, v reflect.Value) {
		fields := strings.Split(path, "/")
		for _, f := range fields {
			seen[f]++
		}
		k := v.Interface().(loop.Kernel)
		if silent[fields[len(fields)-1]] != "" {
			assert.Equal(t, want, k.String(), path)
			return
		}
		assert.NotEqual(t, want, k.String(), path)
	})
	for _, x := range []any{loop.Kernel{}, loop.Buffer{}, loop.Image{}, loop.For{}, loop.Index{}, loop.Bind{}, loop.Def{}, loop.Set{}, loop.Alloc{}, loop.Store{}, loop.Texel{},
		loop.Claim{}, loop.If{}, loop.Tile{}, loop.Call{}, loop.Mem{}, loop.Ref{}, loop.MicroKernel{}, loop.KLoop{}, te.Axis{}, te.Within{}, te.Const{}, te.Index{}, te.Call{}, te.Select{},
		opaque.Call{}, opaque.Tensor{}, opaque.Memory{}, opaque.Symbol{}, opaque.Arg{}, sym.Range{}} {
		for i := range reflect.TypeOf(x).NumField() {
			name := reflect.TypeOf(x).Name() + "." + reflect.TypeOf(x).Field(i).Name
			assert.Positive(t, seen[name], "%s is not in the sample", name)
		}
	}
}

// sometimes are fields that one of several kinds has.
var sometimes = map[string]bool{"Arg.Kind": true, "Arg.N": true, "Arg.Size": true, "Arg.Dims": true, "Arg.Flag": true}

// TestTextOfSample: the sample's text is read back, and the call gets its function.
func TestTextOfSample(t *testing.T) {
	k := whole()
	call := k.Body[len(k.Body)-1].(loop.Call)
	back, err := loop.Parse(k.String(), call.Call)
	require.NoError(t, err)
	assert.Equal(t, k.String(), back.String())
	assert.Same(t, call.Call, back.Body[len(k.Body)-1].(loop.Call).Call)
	back, err = loop.Parse(k.String())
	require.NoError(t, err)
	_, _, err = back.Body[len(k.Body)-1].(loop.Call).Run(nil, nil)
	assert.EqualError(t, err, "the call of TopK comes from a text, which does not contain its function")
}

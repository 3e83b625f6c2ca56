package opencl

import (
	"slices"

	"rules_dnn/gen/emit/ckernel"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/loop"
)

// What follows products that items multiply together is computed for each of their sums, which are registers: arrays whose indices are constants, as loops are
// written out. GELU of 128 of them is 8,000 instructions that a group runs once, 128 KB of 16 bytes each, and products as many, so that units wait
// for instructions. Such loops stay loops, over copies of the sums in an item's own memory.

// mostFollowing are the operations that follow sums and are written out at most, and mostRolled those of an iteration where there are more.
const mostFollowing, mostRolled = 2048, 1024

// rolled prints a loop over sums of which much is computed; false where it is another one.
func (d dialect) rolled(w *ckernel.Kernel, x loop.For) bool {
	if d.rolls == nil || operations(x) <= d.most() {
		return false
	}
	var arrays []*loop.Buffer
	alone := true
	loop.Walk(x.Body, func(s loop.Stmt) bool {
		switch y := s.(type) {
		case loop.Store:
			alone = alone && !y.Buf.Local && !slices.Contains(d.k.Shared, y.Buf)
		case loop.Tile, loop.Barrier:
			alone = false
		}
		loop.Values(s, func(e te.Expr) {
			te.Walk(e, func(e te.Expr) {
				if m, is := e.(loop.Mem); is && m.Buf.Local && !slices.Contains(arrays, m.Buf) {
					arrays = append(arrays, m.Buf)
				}
			})
		})
		return true
	})
	if !alone || len(arrays) == 0 {
		return false
	}
	if d.rolls.within { // of arrays that are copies
		d.loop(w, x)
		return true
	}
	copies := map[*loop.Buffer]*loop.Buffer{}
	w.Line("{")
	w.Writer.Indent++
	for _, b := range arrays {
		own := *b
		own.Name = "kept_" + b.Name
		copies[b] = &own
		size := ckernel.Strip(w.Index(b.Size))
		w.Line("%s", d.Array(&own, size))
		w.Line("#pragma unroll")
		w.Line("for (dnn_index i = 0; i < %s; ++i) %s[i] = %s[i];", size, own.Name, b.Name)
	}
	x.Body = loop.Map(x.Body, func(s loop.Stmt) loop.Stmt { return withArrays(s, copies) })
	d.rolls.within = true
	d.loop(w, x)
	d.rolls.within = false
	w.Writer.Indent--
	w.Line("}")
	return true
}

// rolls is what printing a kernel knows of its loops over sums; within one of them iterations may have less.
type rolls struct{ within bool }

// most are the operations of a loop that is written out.
func (d dialect) most() int64 {
	if d.rolls.within {
		return mostRolled
	}
	return mostFollowing
}

// loop prints a loop that stays one.
func (dialect) loop(w *ckernel.Kernel, x loop.For) {
	w.Line("#pragma unroll 1")
	w.For(x)
}

// withArrays is a statement that reads other arrays.
func withArrays(s loop.Stmt, other map[*loop.Buffer]*loop.Buffer) loop.Stmt {
	of := func(e te.Expr) te.Expr {
		return te.Map(e, func(e te.Expr) te.Expr {
			if m, is := e.(loop.Mem); is && other[m.Buf] != nil {
				m.Buf = other[m.Buf]
				return m
			}
			return e
		})
	}
	switch x := s.(type) {
	case loop.Bind:
		x.Value = of(x.Value)
		return x
	case loop.Def:
		x.Init = of(x.Init)
		return x
	case loop.Set:
		x.Value = of(x.Value)
		return x
	case loop.Store:
		x.Value = of(x.Value)
		return x
	}
	return s
}

// operations are those of all iterations of a loop, of nests of so many.
func operations(x loop.For) int64 {
	n, known := x.Extent.Const()
	if !known {
		return 0
	}
	return n * operationsOf(x.Body)
}

func operationsOf(body []loop.Stmt) int64 {
	all := int64(0)
	for _, s := range body {
		if x, is := s.(loop.For); is {
			all += operations(x)
			continue
		}
		loop.Values(s, func(e te.Expr) { all += differentOperations(e) })
		for _, inner := range loop.Inner(s) {
			all += operationsOf(inner)
		}
	}
	return all
}

// differentOperations are those of an expression, of whose parts those that are alike are computed once.
func differentOperations(e te.Expr) int64 {
	names := map[string]int{}
	named := func(name string, t ir.DType, at ...sym.Expr) te.Expr {
		if _, known := names[name]; !known {
			names[name] = len(names)
		}
		return te.Load{Source: te.Source{N: names[name]}, Type: t, Index: at}
	}
	e = te.Map(e, func(e te.Expr) te.Expr {
		switch x := e.(type) {
		case loop.Mem:
			return named(x.Buf.Name, x.DType(), x.Index)
		case loop.Ref:
			return named(x.Name, x.DType())
		}
		return e
	})
	all, different := int64(0), map[string]bool{}
	te.Walk(e, func(e te.Expr) {
		c, is := e.(te.Call)
		if !is {
			return
		}
		if text := te.Text(c); !different[text] {
			different[text] = true
			all += int64(ckernel.Row(c).FLOPs)
		}
	})
	return all
}

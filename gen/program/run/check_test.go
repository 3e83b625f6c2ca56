package run

import (
	"testing"

	"github.com/stretchr/testify/require"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/loop"
)

// TestChecks: what C++ would do silently is an error that names the statement and the values.
func TestChecks(t *testing.T) {
	store := func(f *fixture, e sym.Expr) loop.Stmt { return loopOver("i", num(4), put(f.y, e, lit(1))) }
	for _, c := range []struct {
		name string
		body func(f *fixture) []loop.Stmt
		want string
	}{
		{"load outside", func(f *fixture) []loop.Stmt {
			return []loop.Stmt{loopOver("i", num(4), put(f.y, i, mem(f.x, sym.Scale(i, 4))))}
		}, "statement y[i] = ..., task 0, i = 0, lanes 0 to 3: element 12 is outside of x, which has 12"},
		{"store outside", func(f *fixture) []loop.Stmt { return []loop.Stmt{store(f, sym.Add(i, num(1)))} }, "element 4 is outside of y, which has 4"},
		{"store before", func(f *fixture) []loop.Stmt { return []loop.Stmt{store(f, sym.Sub(i, num(1)))} }, "element -1 is outside of y"},
		{"one iteration after the other", func(f *fixture) []loop.Stmt {
			return []loop.Stmt{loopOver("i", num(4), put(f.y, sym.Add(sym.FloorDiv(i, num(2), nil), num(3)), lit(1)))}
		}, "task 0, i = 2: element 4 is outside of y"},
		{"array before written", func(f *fixture) []loop.Stmt {
			return []loop.Stmt{loop.Alloc{Buf: f.la}, put(f.la, num(0), lit(1)), put(f.y, num(0), mem(f.la, num(1)))}
		}, "element 1 of acc is read before it is written"},
		{"array of another iteration", func(f *fixture) []loop.Stmt {
			return []loop.Stmt{loopOver("i", num(2), loop.Alloc{Buf: f.la}, put(f.la, i, lit(1)), put(f.y, i, mem(f.la, num(0))))}
		}, "task 0, i = 1: element 0 of acc is read before it is written"},
		{"scratch of another task", func(f *fixture) []loop.Stmt {
			return []loop.Stmt{loop.If{Cond: within(task, 0, 1), Then: []loop.Stmt{put(f.s, num(0), lit(1))}}, put(f.y, task, mem(f.s, num(0)))}
		}, "task 1: element 0 of scratch is read before it is written"},
		{"result before written", func(f *fixture) []loop.Stmt { return []loop.Stmt{put(f.y, num(0), mem(f.y, num(1)))} }, "element 1 of y is read before it is written"},
		{"result of another task", func(f *fixture) []loop.Stmt {
			return []loop.Stmt{put(f.y, task, lit(1)), put(f.y, sym.Add(task, num(2)), mem(f.y, num(0)))}
		}, "element 0 of y is read, but task 0 wrote it"},
		{"two writers", func(f *fixture) []loop.Stmt { return []loop.Stmt{store(f, i)} }, "element 0 of y is written by task 0 too"},
		{"no writer", func(f *fixture) []loop.Stmt { return []loop.Stmt{put(f.y, task, lit(1))} }, "no task writes element 2 of y, which has 4"},
		{"operand written", func(f *fixture) []loop.Stmt { return []loop.Stmt{put(f.x, num(0), lit(1))} }, "x is not written to"},
		{"lane reads what a lane wrote", func(f *fixture) []loop.Stmt {
			return []loop.Stmt{loop.Alloc{Buf: f.la}, put(f.la, num(0), lit(1)), lanes("i", 4, 4, put(f.la, sym.Add(i, num(1)), mem(f.la, num(0))), put(f.y, i, mem(f.la, i)))}
		}, "lane 1 reads element 1 of acc, which lane 0 wrote"},
		{"lanes write what others wrote", func(f *fixture) []loop.Stmt {
			return []loop.Stmt{loop.Alloc{Buf: f.la}, lanes("i", 8, 4, put(f.la, i, lit(1))), lanes("i", 4, 4, put(f.la, i, mem(f.la, sym.Add(i, num(1)))), put(f.la, sym.Add(i, num(2)), lit(0)))}
		}, "lanes 2 and 0 both write element 2 of acc"},
		{"lane writes what an earlier lane has read", func(f *fixture) []loop.Stmt {
			return []loop.Stmt{loop.Alloc{Buf: f.la}, lanes("i", 8, 4, put(f.la, i, lit(1))),
				lanes("i", 4, 4, def("v", mem(f.la, sym.Add(i, num(1)))), put(f.la, i, ref("v")))}
		}, ""},
		{"lane writes what the next lane has read", func(f *fixture) []loop.Stmt {
			return []loop.Stmt{loop.Alloc{Buf: f.la}, lanes("i", 8, 4, put(f.la, i, lit(1))),
				lanes("i", 4, 4, def("v", mem(f.la, i)), put(f.la, sym.Add(i, num(1)), ref("v")))}
		}, "lane 0 writes element 1 of acc, which lane 1 has read already"},
		{"lanes write one element", func(f *fixture) []loop.Stmt { return []loop.Stmt{lanes("i", 4, 4, put(f.y, num(0), at(i)))} }, "4 lanes write element 0 of y"},
		{"lanes branch", func(f *fixture) []loop.Stmt {
			return []loop.Stmt{lanes("i", 4, 4, loop.If{Cond: within(i, 0, 2), Then: []loop.Stmt{put(f.y, i, lit(1))}})}
		}, "lanes 0 to 1 differ from others in the condition"},
		{"lanes loop", func(f *fixture) []loop.Stmt {
			return []loop.Stmt{lanes("i", 4, 4, loopOver("j", i, put(f.s, sym.Add(i, j), lit(1))))}
		}, "lanes differ in the number of iterations"},
		{"lanes in lanes", func(f *fixture) []loop.Stmt {
			return []loop.Stmt{lanes("i", 4, 4, lanes("j", 4, 4, put(f.s, j, lit(1))))}
		}, "a vector loop in a vector loop"},
		{"lanes assign", func(f *fixture) []loop.Stmt {
			return []loop.Stmt{def("v", lit(0)), lanes("i", 4, 4, set("v", at(i)))}
		}, `a vector loop assigns to "v", which is defined outside of it`},
		{"fact of a loop", func(f *fixture) []loop.Stmt {
			f.kernel.Facts["i"] = sym.Range{Lo: 0, Hi: 2}
			return []loop.Stmt{loopOver("i", num(4), put(f.y, i, lit(1)))}
		}, "i is in [0, 3]; the kernel's facts say [0, 2]"},
		{"fact of a variable", func(f *fixture) []loop.Stmt {
			return []loop.Stmt{loop.Index{Var: "i", Value: sym.Sub(task, num(1))}, put(f.y, task, lit(1))}
		}, "statement i = task - 1, task 0: i is in [-1, -1]; the kernel's facts say [0, 2147483647]"},
		{"fact of a symbol", func(f *fixture) []loop.Stmt {
			f.kernel.Facts["N"] = sym.Range{Lo: 8, Hi: 9}
			return nil
		}, "N is in [6, 6]; the kernel's facts say [8, 9]"},
		{"division by zero", func(f *fixture) []loop.Stmt {
			return []loop.Stmt{put(f.y, sym.FloorDiv(num(1), sym.Sub(n, num(6)), nil), lit(1))}
		}, "1 is divided by 0"},
		{"symbol not in the list", func(f *fixture) []loop.Stmt { return []loop.Stmt{put(f.y, sym.Var("M"), lit(1))} }, `no variable "M" is in scope`},
		{"variable out of scope", func(f *fixture) []loop.Stmt { return []loop.Stmt{loopOver("i", num(1)), put(f.y, i, lit(1))} }, `no variable "i" is in scope`},
		{"declared twice", func(f *fixture) []loop.Stmt { return []loop.Stmt{def("v", lit(1)), def("v", lit(2))} }, `statement define v: "v" is declared twice in one block`},
		{"undefined", func(f *fixture) []loop.Stmt { return []loop.Stmt{put(f.y, num(0), ref("v"))} }, `no variable "v" is defined here`},
		{"array out of scope", func(f *fixture) []loop.Stmt {
			return []loop.Stmt{loopOver("i", num(2), loop.Alloc{Buf: f.la}), put(f.la, num(0), lit(1))}
		}, `no buffer "acc" is in scope`},
		{"type", func(f *fixture) []loop.Stmt { return []loop.Stmt{put(f.y, num(0), te.Int(ir.I32, 1))} }, "an expression of type i32 where the kernel wants f32"},
		{"function", func(f *fixture) []loop.Stmt { return []loop.Stmt{put(f.y, num(0), te.Fn(ir.F32, "frob"))} }, `no scalar function "frob"`},
		{"load of a tensor", func(f *fixture) []loop.Stmt { return []loop.Stmt{put(f.y, num(0), te.Operand(0, ir.F32))} }, "an expression of type te.Load"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := kernelOf(4, 2)
			body := c.body(f)
			if c.want == "" {
				body = append(body, loop.Index{Var: "i", Value: task}, put(f.y, i, lit(1)), put(f.y, sym.Add(i, num(2)), lit(1)))
			}
			_, err := f.run(body...)
			if c.want == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, c.want)
		})
	}
}

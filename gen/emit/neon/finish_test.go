package neon

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/loop"
	"rules_dnn/gen/target/instr"
)

// block is a tile and the buffers of the statements after it.
type block struct {
	acc, y, bias, residual *loop.Buffer
	tile                   loop.Tile
	facts                  sym.Facts
}

func newBlock(rows, vectors int64) *block {
	buffer := func(name string) *loop.Buffer { return &loop.Buffer{Name: name, Type: ir.F32} }
	b := &block{acc: buffer("acc"), y: buffer("y"), bias: buffer("bias"), residual: buffer("residual"), facts: sym.Facts{"g": {Lo: 0, Hi: 9}}}
	b.acc.Local, b.y.Write = true, true
	m := kernel(instr.Lane, rows, vectors, 8, [2]int64{8, 1}, [2]int64{3, 200})
	b.tile = loop.Tile{Micro: m, X: buffer("x"), W: buffer("w"), Acc: b.acc}
	return b
}

// at returns an element of the accumulators, of a bias for each channel, or of a blocked tensor.
func (b *block) at(of *loop.Buffer) loop.Mem {
	r, v, l := sym.Var("r"), sym.Var("v"), sym.Var("l")
	width := b.tile.Micro.Vectors * 4
	switch of {
	case b.acc:
		return loop.Mem{Buf: of, Index: sym.Add(sym.Scale(r, width), sym.Scale(v, 4), l)}
	case b.bias:
		return loop.Mem{Buf: of, Index: sym.Add(sym.Scale(sym.Var("g"), width), sym.Scale(v, 4), l)}
	}
	return loop.Mem{Buf: of, Index: sym.Add(sym.Scale(sym.Var("g"), 100000), sym.Scale(r, 8), sym.Scale(v, 9000), l)}
}

// nest stores a value for each accumulator.
func (b *block) nest(value te.Expr) loop.Stmt {
	m := b.tile.Micro
	store := loop.Store{Buf: b.y, Index: b.at(b.y).Index, Value: value}
	lanes := loop.For{Var: "l", Extent: sym.Const(4), Lanes: 4, Body: []loop.Stmt{store}}
	return loop.For{Var: "r", Extent: sym.Const(m.Rows), Body: []loop.Stmt{
		loop.For{Var: "v", Extent: sym.Const(m.Vectors), Body: []loop.Stmt{loop.Index{Var: "unused", Value: sym.Const(0)}, lanes}},
	}}
}

// join joins a kernel of statements.
func (b *block) join(body ...loop.Stmt) []loop.Stmt {
	return Join(&loop.Kernel{Facts: b.facts, Body: append([]loop.Stmt{loop.Alloc{Buf: b.acc}}, body...)})
}

func fn(name string, args ...te.Expr) te.Expr { return te.Fn(ir.F32, name, args...) }

func number32(x float32) te.Expr { return te.Number(ir.F32, float64(x)) }

// TestFinish checks that assembly stores the same as the statements after a tile.
func TestFinish(t *testing.T) {
	for name, f := range map[string]func(b *block) te.Expr{
		"sums alone":  func(b *block) te.Expr { return b.at(b.acc) },
		"a bias":      func(b *block) te.Expr { return fn("add", b.at(b.acc), b.at(b.bias)) },
		"greatest":    func(b *block) te.Expr { return fn("max", b.at(b.acc), b.at(b.bias)) },
		"rectified":   func(b *block) te.Expr { return fn("max", fn("add", b.at(b.acc), b.at(b.bias)), number32(0)) },
		"clipped":     func(b *block) te.Expr { return fn("min", fn("max", b.at(b.acc), number32(0)), number32(6)) },
		"a residual":  func(b *block) te.Expr { return fn("add", b.at(b.residual), fn("add", b.at(b.acc), b.at(b.bias))) },
		"in place":    func(b *block) te.Expr { return fn("sub", b.at(b.y), b.at(b.acc)) },
		"twice":       func(b *block) te.Expr { return fn("mul", b.at(b.acc), b.at(b.acc)) },
		"one for all": func(b *block) te.Expr { return fn("mul", b.at(b.acc), loop.Mem{Buf: b.bias, Index: sym.Const(3)}) },
		"one for each row": func(b *block) te.Expr {
			return fn("mul", b.at(b.acc), loop.Mem{Buf: b.bias, Index: sym.Scale(sym.Var("r"), 4000)})
		},
		"hard swish": func(b *block) te.Expr {
			x := fn("add", b.at(b.acc), b.at(b.bias))
			gate := fn("min", fn("max", fn("add", fn("mul", x, number32(1.0/6)), number32(0.5)), number32(0)), number32(1))
			return fn("mul", x, gate)
		},
	} {
		for _, size := range [][2]int64{{6, 4}, {10, 2}, {7, 3}, {3, 2}, {4, 6}} {
			t.Run(fmt.Sprintf("%s/%dx%d", name, size[0], size[1]), func(t *testing.T) {
				b := newBlock(size[0], size[1])
				value := f(b)
				body := b.join(b.tile, b.nest(value))
				require.Len(t, body, 1, "the tile is all that is left")
				joined := body[0].(loop.Tile)
				require.NotNil(t, joined.Finish)
				b.check(t, joined, value)
			})
		}
	}
}

// check runs a tile with a finish, and compares with what it is to store.
func (b *block) check(t *testing.T, tile loop.Tile, value te.Expr) {
	k, ok := New(tile)
	require.True(t, ok)
	m := tile.Micro
	sums := sumsOf(m)
	allowed, pointers := map[int64]bool{}, map[string]int64{}
	for at := range sums.reads {
		allowed[at] = true
	}
	home := map[*loop.Buffer]int64{b.y: 4 << 40, b.bias: 5 << 40, b.residual: 6 << 40}
	zero := map[string]sym.Expr{"g": sym.Const(2)}
	place := func(l loop.Mem, at map[string]sym.Expr) int64 {
		n, known := l.Index.Subst(at, nil).Const()
		require.True(t, known)
		return home[l.Buf] + 4*n
	}
	for i, p := range tile.Finish.Pointers {
		pointers[fmt.Sprintf("%%[p%d]", i)] = place(loop.Mem{Buf: p.Buf, Index: p.At}, zero)
	}
	want := map[int64]float64{}
	for r := range m.Rows {
		for v := range m.Vectors {
			for l := range int64(4) {
				at := map[string]sym.Expr{"g": sym.Const(2), "r": sym.Const(r), "v": sym.Const(v), "l": sym.Const(l)}
				var eval func(e te.Expr) float64
				eval = func(e te.Expr) float64 {
					switch x := e.(type) {
					case te.Const:
						return math.Float64frombits(x.Bits)
					case loop.Mem:
						if x.Buf == b.acc {
							return sums.of[accAt+4*((r*m.Vectors+v)*4+l)]
						}
						allowed[place(x, at)] = true
						return valueAt(place(x, at))
					}
					c := e.(te.Call)
					a, b := eval(c.Args[0]), eval(c.Args[1])
					return map[string]float64{"add": a + b, "sub": a - b, "mul": a * b, "max": max(a, b), "min": min(a, b)}[c.Fn]
				}
				want[place(b.at(b.y), at)] = eval(value)
			}
		}
	}
	run := &machine{t: t, allowed: allowed, pointers: pointers}
	run.run(k.Lines, valueAt)
	require.Len(t, run.stored, len(want))
	for at, x := range want {
		require.InDelta(t, x, run.stored[at], 1e-6*max(1, math.Abs(x)), "element %d", (at-home[b.y])/4)
	}
}

// TestNotFinished checks that a tile keeps its accumulators if assembly cannot compute the
// statements after it, or if others read them, too.
func TestNotFinished(t *testing.T) {
	for name, f := range map[string]func(b *block) []loop.Stmt{
		"an exponential": func(b *block) []loop.Stmt { return []loop.Stmt{b.tile, b.nest(fn("exp", b.at(b.acc)))} },
		"a stored neighbor": func(b *block) []loop.Stmt {
			x := b.at(b.y)
			x.Index = sym.Add(x.Index, sym.Const(8))
			return []loop.Stmt{b.tile, b.nest(fn("add", b.at(b.acc), x))}
		},
		"another statement": func(b *block) []loop.Stmt { return []loop.Stmt{b.tile, loop.Barrier{}, b.nest(b.at(b.acc))} },
		"another reader": func(b *block) []loop.Stmt {
			return []loop.Stmt{b.tile, b.nest(b.at(b.acc)), loop.Store{Buf: b.y, Index: sym.Const(0), Value: loop.Mem{Buf: b.acc, Index: sym.Const(0)}}}
		},
		"some of them": func(b *block) []loop.Stmt {
			n := b.nest(b.at(b.acc)).(loop.For)
			n.Extent = sym.Const(1)
			return []loop.Stmt{b.tile, n}
		},
		"lanes apart": func(b *block) []loop.Stmt {
			n := b.nest(b.at(b.acc)).(loop.For)
			s := n.Body[0].(loop.For).Body[1].(loop.For).Body
			store := s[0].(loop.Store)
			store.Index = sym.Add(store.Index, sym.Var("l"))
			s[0] = store
			return []loop.Stmt{b.tile, n}
		},
	} {
		b := newBlock(6, 4)
		body := b.join(f(b)...)
		assert.Nil(t, body[1].(loop.Tile).Finish, name)
		assert.IsType(t, loop.Alloc{}, body[0], name)
	}
}

package interp

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/scalar"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
)

// naive evaluates stages as they are defined: element by element, by walking trees.
// The interpreter must agree with it bit by bit.
type naive struct {
	t        *testing.T
	operands []*ir.Tensor
	stages   [][]*ir.Tensor
	env      map[string]int64
	acc, in  []*scalar.Vec
}

func naiveEval(t *testing.T, stages []*te.Stage, operands []*ir.Tensor, env map[string]int64) [][]*ir.Tensor {
	n := &naive{t: t, operands: operands, env: map[string]int64{}}
	for k, v := range env {
		n.env[k] = v
	}
	for _, s := range stages {
		n.stages = append(n.stages, n.stage(s))
	}
	return n.stages
}

func (n *naive) extents(axes []te.Axis) []int64 {
	var out []int64
	for _, a := range axes {
		x, err := a.Extent.Eval(n.env)
		require.NoError(n.t, err)
		out = append(out, x)
	}
	return out
}

// each calls f for all points of the axes, in row-major order.
func (n *naive) each(axes []te.Axis, f func()) {
	if len(axes) == 0 {
		f()
		return
	}
	for i := range n.extents(axes[:1])[0] {
		n.env[axes[0].Var] = i
		n.each(axes[1:], f)
	}
}

func (n *naive) stage(s *te.Stage) []*ir.Tensor {
	var out []*ir.Tensor
	var bufs []*buffer
	for _, e := range s.Results {
		t := ir.NewTensor(e.DType(), n.extents(s.Axes)...)
		b, err := bufferOf(t)
		require.NoError(n.t, err)
		out, bufs = append(out, t), append(bufs, b)
	}
	at := int64(0)
	n.each(s.Axes, func() {
		if s.Combine != nil {
			n.reduce(s)
		}
		for k, e := range s.Results {
			bufs[k].Store(n.eval(e), at, 1)
		}
		at++
	})
	return out
}

func (n *naive) reduce(s *te.Stage) {
	n.acc = n.all(s.Combine.Init)
	n.each(s.Reduce, func() {
		n.in = n.all(s.Values)
		n.acc = n.all(s.Combine.Join)
	})
}

func (n *naive) all(es []te.Expr) []*scalar.Vec {
	var out []*scalar.Vec
	for _, e := range es {
		out = append(out, n.eval(e))
	}
	return out
}

func (n *naive) number(e sym.Expr) int64 {
	x, err := e.Eval(n.env)
	require.NoError(n.t, err)
	return x
}

func (n *naive) eval(e te.Expr) *scalar.Vec {
	switch x := e.(type) {
	case te.Const:
		k, err := literal(x)
		require.NoError(n.t, err)
		return new(scalar.Vec).Cut(k.eval(&program{n: 1}), 0, 1)
	case te.Index:
		return n.call(te.Call{Fn: "cast", Type: x.Type}, []ir.DType{ir.I64}, []*scalar.Vec{{I64: []int64{n.number(x.E)}}})
	case te.Call:
		if x.Fn == "select" {
			// The other branch may have indices out of bounds.
			if n.eval(x.Args[0]).I64[0] != 0 {
				return n.eval(x.Args[1])
			}
			return n.eval(x.Args[2])
		}
		var types []ir.DType
		for _, a := range x.Args {
			types = append(types, a.DType())
		}
		return n.call(x, types, n.all(x.Args))
	case te.Let:
		v := n.eval(x.Value).I64[0]
		require.True(n.t, n.number(x.Lo) <= v && v <= n.number(x.Hi), "index %d", v)
		n.env[x.Var] = v
		defer delete(n.env, x.Var)
		return n.eval(x.Body)
	case te.Select:
		if n.holds(x.Cond) {
			return n.eval(x.Then)
		}
		return n.eval(x.Else)
	case te.Acc:
		return n.acc[x.N]
	case te.In:
		return n.in[x.N]
	case te.Load:
		return n.load(x)
	}
	panic(fmt.Sprintf("%T", e))
}

func (n *naive) call(x te.Call, types []ir.DType, args []*scalar.Vec) *scalar.Vec {
	f, err := scalar.Bind(x.Fn, x.Type, types)
	require.NoError(n.t, err)
	out := scalar.NewVec(x.Type, 1)
	f(out, args)
	return out
}

func (n *naive) holds(ws []te.Within) bool {
	for _, g := range ws {
		if v := n.number(g.E); v < n.number(g.Lo) || v >= n.number(g.Hi) {
			return false
		}
	}
	return true
}

func (n *naive) load(x te.Load) *scalar.Vec {
	if !n.holds(x.Guard) {
		return n.eval(x.Default)
	}
	var t *ir.Tensor
	if x.Source.Stage {
		t = n.stages[x.Source.N][x.Source.Part]
	} else {
		t = n.operands[x.Source.N]
	}
	off := int64(0)
	for d, e := range x.Index {
		i := n.number(e)
		require.True(n.t, 0 <= i && i < t.Shape[d], "index %d of dimension %d", i, d)
		off = off*t.Shape[d] + i
	}
	b, err := bufferOf(t)
	require.NoError(n.t, err)
	out := scalar.NewVec(x.Type, 1)
	b.Load(out, off, 1)
	return out
}

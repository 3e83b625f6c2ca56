package ops

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/scalar"
	"rules_dnn/gen/ir/te"
)

// shortened is a node whose floats of one type variable have 16 bits, as package precision changes it; nil if it has none.
func shortened(n *ir.Node, t ir.DType) *ir.Node {
	out := *n
	out.Inputs, out.Saturates = append([]*ir.Value{}, n.Inputs...), true
	share := Sharers(n, t)
	for _, i := range share {
		if v := n.Inputs[i]; v.Type == ir.F32 {
			half := *v
			half.Type, half.Const = t, nil
			out.Inputs[i] = &half
		} else if v.Type != t {
			return nil
		}
	}
	if len(share) == 0 {
		return nil
	}
	return &out
}

// TestSaturating walks the table: no operator's expression rounds to f16 without bounds when its results saturate, and none sums there, but those
// of which KeepsSums tells.
func TestSaturating(t *testing.T) {
	built, keep := 0, map[string]bool{}
	for _, x := range examples() {
		n := shortened(x.n, ir.F16)
		if n == nil {
			continue
		}
		m, err := Build(n, nil)
		if err != nil || m.Call != nil {
			continue // it has no f16, or elements that it only moves
		}
		built++
		if KeepsSums(m, ir.F16) != "" {
			keep[n.Op] = true
			continue
		}
		for i, s := range m.Stages {
			if IsBounded(n.Op) {
				for part, r := range s.Results {
					require.True(t, r.DType() != ir.F16 || slices.Contains(m.Outputs, te.Source{Stage: true, N: i, Part: part}), "%s has a stage of f16 on the way", n.Op)
				}
				continue
			}
			EachExpr(s, func(e te.Expr) {
				c, ok := e.(te.Call)
				if !ok || c.Type != ir.F16 || scalar.Lookup(c.Fn).Exact || c.Fn == "narrow" {
					return
				}
				require.Equal(t, "cast", c.Fn, "%s computes in f16: %s", n.Op, te.Text(e))
				require.True(t, c.Args[0].DType() == ir.F16 || te.EndsWithin(c.Args[0], 65504), "%s rounds without bounds: %s", n.Op, te.Text(e))
			})
			if s.Combine != nil {
				for _, e := range s.Combine.Join {
					require.True(t, e.DType() != ir.F16 || chooses(e), "%s sums in f16: %s", n.Op, te.Text(e))
				}
			}
		}
	}
	require.Greater(t, built, 90)
	assert.Equal(t, map[string]bool{"CumProd": true, "CumSum": true}, keep, "sums in place by ScatterElements are in package precision's tests")
	t.Logf("%d operators; sums are kept by %v", built, keep)
}

// TestOwnHalf: a model's own f16 is ONNX's: a node that does not saturate rounds as it did, and so does its Cast.
func TestOwnHalf(t *testing.T) {
	x := &ir.Value{Name: "x", Type: ir.F16, Shape: ir.Dims(4), HasShape: true}
	n := &ir.Node{Op: "Mul", Inputs: []*ir.Value{x, x}, Outputs: []*ir.Value{{Name: "y"}}, Attrs: ir.Attrs{}}
	results := func() te.Expr {
		m, err := Build(n, nil)
		require.NoError(t, err)
		return m.Stages[0].Results[0]
	}
	assert.Equal(t, "mul", results().(te.Call).Fn)
	n.Saturates = true
	assert.Equal(t, "narrow", results().(te.Call).Fn)
	n.Op, n.Inputs = "Relu", n.Inputs[:1]
	assert.Equal(t, "max", results().(te.Call).Fn, "what is chosen needs no bounds")
	n.Op = "Sigmoid"
	assert.Equal(t, "cast", results().(te.Call).Fn, "what has bounds needs no others")
}

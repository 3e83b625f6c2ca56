package interp

import (
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/scalar"
	"rules_dnn/gen/ir/te"
)

// picked is a choice between f32 by a comparison of others, in one loop.
type picked struct {
	pick     *scalar.Pick
	args     [4]node // of the comparison, then the branches
	needs    set
	all, cut scalar.Vec
	to       *scalar.Vec
}

// pick is the node of a select as one, whose arguments are compiled, or nil.
func (p *program) pick(x te.Call, k *apply) (node, error) {
	if x.Fn != "select" || x.Type != ir.F32 || k.perilous {
		return nil, nil
	}
	test, ok := x.Args[0].(te.Call)
	if !ok || len(test.Args) != 2 || test.Args[0].DType() != ir.F32 {
		return nil, nil
	}
	how := scalar.PickOf(test.Fn)
	if how == nil {
		return nil, nil
	}
	compared := k.args[0].(*apply)
	return &picked{pick: how, args: [4]node{compared.args[0], compared.args[1], k.args[1], k.args[2]}, needs: k.needs, all: *scalar.NewVec(x.Type, chunk)}, nil
}

func (k *picked) eval(p *program) *scalar.Vec {
	var v [4][]float32
	for i, a := range k.args {
		v[i] = a.eval(p).F32
	}
	out := k.to
	if out == nil {
		out = k.cut.Cut(&k.all, 0, p.n)
	}
	k.pick.Apply(out.F32, v[0], v[1], v[2], v[3])
	return out
}

func (k *picked) deps() set { return k.needs }
func (*picked) risky() bool { return false }

func (k *picked) into(v *scalar.Vec) { k.to = v }

package depthwise

import (
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/loop"
	"rules_dnn/gen/propose/lower"
	"rules_dnn/gen/propose/nest"
)

// widen lets results read constants of 16 bits, of which a row needs the same for each pixel, as float32.
func (d *direct) widen(env *lower.Env) {
	_, operands := d.Widened(d.Block)
	for i, v := range operands {
		if from := d.Block.Operands[i]; v != from {
			narrow := d.n.In[i]
			d.n.In[i] = nest.Stored(narrow.Name, v, env.Layouts(from))
			for k, r := range d.n.Results {
				d.n.Results[k] = te.Map(r, func(e te.Expr) te.Expr { return widenedLoad(e, narrow, d.n.In[i]) })
			}
		}
	}
}

// widenedLoad is an expression of what a buffer of 16 bits holds as one of what another one holds as float32.
func widenedLoad(e te.Expr, narrow, wide *loop.Buffer) te.Expr {
	c, ok := e.(te.Call)
	if !ok || c.Fn != "cast" || c.Type != ir.F32 {
		return e
	}
	m, ok := c.Args[0].(loop.Mem)
	if !ok || m.Buf != narrow {
		return e
	}
	m.Buf = wide
	return m
}

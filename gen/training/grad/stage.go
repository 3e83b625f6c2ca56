package grad

import (
	"fmt"

	"rules_dnn/gen/ir/te"
)

// stage makes the stages of the gradients of what stage i reads.
func (b *builder) stage(i int) error {
	s := b.stages[i]
	v := &visit{b: b, at: i, s: s}
	for k, e := range s.Results {
		from := te.Source{Stage: true, N: i, Part: k}
		g, ok, err := b.adjoint(from)
		if err != nil {
			return err
		}
		if !ok || !b.active[from] {
			continue
		}
		if s.Update != nil {
			if g, err = v.update(g); err != nil {
				return b.fail(i, "%v", err)
			}
		}
		if err := v.result(e, te.Load{Source: g, Type: e.DType(), Index: te.AxisVars(s.Axes)}); err != nil {
			return b.fail(i, "%v", err)
		}
	}
	if err := v.reduction(); err != nil {
		return b.fail(i, "%v", err)
	}
	return v.contribute()
}

// visit is the differentiation of one stage.
type visit struct {
	b     *builder
	at    int
	s     *te.Stage
	accs  map[int][]te.Expr // adjoints of accumulators, over the axes
	loads []*loaded         // adjoints of loads
}

// loaded is the adjoint of an element that points of axes load.
type loaded struct {
	key   string
	load  te.Load
	binds []te.Let
	axes  []te.Axis
	adj   []te.Expr
}

// result walks a result back.
func (v *visit) result(e, adj te.Expr) error {
	r := v.walk(v.s.Axes)
	r.acc = func(n int, adj te.Expr) {
		if v.accs == nil {
			v.accs = map[int][]te.Expr{}
		}
		v.accs[n] = append(v.accs[n], adj)
	}
	return r.run(e, adj)
}

// walk is a reverser that collects loads of what is active, at points of the axes.
func (v *visit) walk(axes []te.Axis) *reverser {
	r := &reverser{}
	r.load = func(l te.Load, adj te.Expr) {
		if !v.b.active[l.Source] {
			return
		}
		w := te.NewWriter()
		w.Stage(&te.Stage{Axes: axes, Results: []te.Expr{bound(r.binds, l)}})
		key := fmt.Sprint(l.Source, w.String())
		for _, x := range v.loads {
			if x.key == key {
				x.adj = append(x.adj, adj)
				return
			}
		}
		v.loads = append(v.loads, &loaded{key: key, load: l, binds: append([]te.Let{}, r.binds...), axes: axes, adj: []te.Expr{adj}})
	}
	return r
}

// bound is an expression within the scopes of loaded integers.
func bound(binds []te.Let, e te.Expr) te.Expr {
	for i := len(binds) - 1; i >= 0; i-- {
		l := binds[i]
		l.Body = e
		e = l
	}
	return e
}

// joinOf is the function that joins accumulator k of a combiner with what comes in, and whether it is a function of
// these two alone.
func joinOf(c *te.Combiner, k int) (string, bool) {
	call, ok := c.Join[k].(te.Call)
	if !ok || len(call.Args) != 2 {
		return "", false
	}
	t := call.Type
	acc, in := te.Expr(te.Acc{N: k, Type: t}), te.Expr(te.In{N: k, Type: t})
	return call.Fn, call.Args[0] == acc && call.Args[1] == in || call.Args[0] == in && call.Args[1] == acc
}

// reduction walks the values back whose accumulators have adjoints.
func (v *visit) reduction() error {
	for k := range v.s.Values {
		if len(v.accs[k]) == 0 {
			continue
		}
		join, ok := joinOf(v.s.Combine, k)
		rule := reductions[join]
		if !ok || rule == nil {
			return fmt.Errorf("it is the reduction %q; only add, max, min and mul have a gradient", v.s.Combine.Name)
		}
		adj, err := rule(v, k, v.kept(sumOf(v.accs[k])))
		if err != nil {
			return err
		}
		all := append(append([]te.Axis{}, v.s.Axes...), v.s.Reduce...)
		r := v.walk(all)
		r.acc = func(int, te.Expr) {}
		if err := r.run(v.s.Values[k], adj); err != nil {
			return err
		}
	}
	return nil
}

// kept is an expression over the stage's axes that loops of a reduction read: computed once, unless it is a load.
func (v *visit) kept(e te.Expr) te.Expr {
	if _, ok := e.(te.Load); ok {
		return e
	}
	return v.stageOf("adjoint", e)
}

// stageOf is a stage of an expression over the axes, and the load of its elements.
func (v *visit) stageOf(name string, e te.Expr) te.Load {
	from := v.b.add(&te.Stage{Name: name, Axes: v.s.Axes, Results: []te.Expr{e}})
	return te.Load{Source: from, Type: e.DType(), Index: te.AxisVars(v.s.Axes)}
}

// folded is a reduction of an expression over the stage's loops, and the load of its elements.
func (v *visit) folded(name string, c *te.Combiner, e te.Expr) te.Load {
	t := e.DType()
	from := v.b.add(&te.Stage{
		Name: name, Axes: v.s.Axes, Reduce: v.s.Reduce, Combine: c,
		Values: []te.Expr{e}, Results: []te.Expr{te.Acc{Type: t}},
	})
	return te.Load{Source: from, Type: t, Index: te.AxisVars(v.s.Axes)}
}

// accumulator is the load of accumulator k, which is a result: split saw to that.
func (v *visit) accumulator(k int) te.Expr {
	return te.Load{Source: te.Source{Stage: true, N: v.at, Part: k}, Type: v.s.Values[k].DType(), Index: te.AxisVars(v.s.Axes)}
}

// reductions are, by the function that joins, the adjoint of a value at each point of the loops, of its accumulator's.
var reductions = map[string]func(v *visit, k int, adj te.Expr) (te.Expr, error){
	"add": func(_ *visit, _ int, adj te.Expr) (te.Expr, error) { return adj, nil },
	"max": best, "max_number": best,
	"min": best,
	"mul": product,
}

// best shares the adjoint out among the values that are the greatest, or the least.
func best(v *visit, k int, adj te.Expr) (te.Expr, error) {
	t := adj.DType()
	is := func(yes te.Expr) te.Expr {
		return te.Fn(t, "select", te.Fn(boolean, "eq", v.s.Values[k], v.accumulator(k)), yes, te.Number(t, 0))
	}
	ties := v.folded("ties", te.Sum(t), is(te.Number(t, 1)))
	return is(v.stageOf("share", te.Fn(t, "div", adj, ties))), nil
}

// product is the adjoint times the product of all other values: their product is divided by a value unless it is 0,
// and of several zeros none has an influence.
func product(v *visit, k int, adj te.Expr) (te.Expr, error) {
	t, value := adj.DType(), v.s.Values[k]
	num := func(x float64) te.Expr { return te.Number(t, x) }
	eq := func(a, b te.Expr) te.Expr { return te.Fn(boolean, "eq", a, b) }
	sel := func(c, a, b te.Expr) te.Expr { return te.Fn(t, "select", c, a, b) }
	zeros := v.folded("zeros", te.Sum(t), sel(eq(value, num(0)), num(1), num(0)))
	others := v.folded("others", te.Prod(t), sel(eq(value, num(0)), num(1), value))
	without := sel(eq(value, num(0)),
		sel(eq(zeros, num(1)), others, num(0)),
		sel(eq(zeros, num(0)), te.Fn(t, "div", others, value), num(0)))
	return te.Fn(t, "mul", adj, without), nil
}

// contribute adds the loads' adjoints to those of what they read.
func (v *visit) contribute() error {
	for _, l := range v.loads {
		axes, t, err := v.b.axesOf(l.load.Source)
		if err != nil {
			return err
		}
		part, ok := gathered(l, axes, t)
		if !ok {
			if part, err = scattered(l, axes, t); err != nil {
				return v.b.fail(v.at, "%v", err)
			}
		}
		v.b.adjoints[l.load.Source] = append(v.b.adjoints[l.load.Source], v.b.add(v.b.spread(part)))
	}
	return nil
}

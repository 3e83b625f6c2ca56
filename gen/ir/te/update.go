package te

import (
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
)

// Update is what a stage of one result does after computing it (ScatterND, CumSum and kin): for
// each point of Axes, in row-major order, the result's element At becomes Join of what is
// then at From, Acc(0), and of Value, In(0). Several points may meet one element.
type Update struct {
	Axes []Axis
	// Binds are loaded integers, which At may use; they read Axes' variables only.
	Binds []Bind
	At    []sym.Expr
	From  []sym.Expr // nil: At
	Value Expr
	Join  Expr
}

// Bind is the variable of a loaded integer with inclusive bounds, as in Let.
type Bind struct {
	Var    string
	Value  Expr
	Lo, Hi sym.Expr
}

// Replace joins by taking the new element.
func Replace(t ir.DType) Expr { return In{0, t} }

// Exprs are the scalar expressions of an update besides Join, whose loads read operands and stages.
func (u *Update) Exprs() []Expr {
	out := []Expr{u.Value}
	for _, b := range u.Binds {
		out = append(out, b.Value)
	}
	return out
}

// mapped rewrites the update's expressions besides Join.
func (u *Update) mapped(f func(Expr) Expr) *Update {
	out := *u
	out.Value = Map(u.Value, f)
	out.Binds = make([]Bind, len(u.Binds))
	for i, b := range u.Binds {
		b.Value = Map(b.Value, f)
		out.Binds[i] = b
	}
	return &out
}

// Exprs are the expressions of the stage whose loads read operands and stages.
func (s *Stage) Exprs() []Expr {
	out := append(append([]Expr{}, s.Values...), s.Results...)
	if s.Update != nil {
		out = append(out, s.Update.Exprs()...)
	}
	return out
}

// MapExprs rewrites these expressions.
func (s *Stage) MapExprs(f func(Expr) Expr) *Stage {
	out := *s
	out.Values, out.Results = mapAll(s.Values, f), mapAll(s.Results, f)
	if s.Update != nil {
		out.Update = s.Update.mapped(f)
	}
	return &out
}

func mapAll(es []Expr, f func(Expr) Expr) []Expr {
	out := make([]Expr, len(es))
	for i, e := range es {
		out[i] = Map(e, f)
	}
	return out
}

// Source is where Acc reads.
func (u *Update) Source() []sym.Expr {
	if u.From == nil {
		return u.At
	}
	return u.From
}

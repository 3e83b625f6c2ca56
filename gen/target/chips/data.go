package chips

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"go.starlark.net/syntax"
)

// dict is a dict of Starlark whose keys are strings, in their order.
type dict struct {
	keys   []string
	values map[string]any
}

// with is the dict and one key more, or with another value.
func (d *dict) with(key string, value any) *dict {
	return d.union(&dict{[]string{key}, map[string]any{key: value}})
}

// union is Starlark's |: keys of both, values of the second where both have them.
func (d *dict) union(other *dict) *dict {
	out := &dict{slices.Clone(d.keys), maps.Clone(d.values)}
	for _, key := range other.keys {
		if _, ok := out.values[key]; !ok {
			out.keys = append(out.keys, key)
		}
		out.values[key] = other.values[key]
	}
	return out
}

// MarshalJSON writes keys in order.
func (d *dict) MarshalJSON() ([]byte, error) { return json.Marshal(d.values) }

// scope is the names that a file of data has given so far.
type scope map[string]any

// evaluate returns the values of a file's names. It knows what data needs: strings, numbers, booleans, lists and dicts, names that were given
// before, and + | * between them. Whatever calls, loads or repeats is refused.
func evaluate(path string, text []byte) (scope, error) {
	f, err := (&syntax.FileOptions{}).Parse(path, text, 0)
	if err != nil {
		return nil, err
	}
	names := scope{}
	for i, statement := range f.Stmts {
		switch s := statement.(type) {
		case *syntax.ExprStmt:
			if i > 0 || !isString(s.X) {
				return nil, refused(s, "a statement that assigns nothing")
			}
		case *syntax.AssignStmt:
			name, ok := s.LHS.(*syntax.Ident)
			if !ok || s.Op != syntax.EQ {
				return nil, refused(s, "an assignment")
			}
			if _, ok := names[name.Name]; ok {
				return nil, at(s, fmt.Errorf("%s is given twice", name.Name))
			}
			value, err := names.value(s.RHS)
			if err != nil {
				return nil, err
			}
			names[name.Name] = value
		default:
			return nil, refused(s, "a statement")
		}
	}
	return names, nil
}

func isString(e syntax.Expr) bool {
	literal, ok := e.(*syntax.Literal)
	return ok && literal.Token == syntax.STRING
}

func at(n syntax.Node, err error) error {
	start, _ := n.Span()
	return fmt.Errorf("%s:%d: %w", start.Filename(), start.Line, err)
}

func refused(n syntax.Node, what string) error {
	return at(n, fmt.Errorf("%s is not allowed here; this file has only NAME = VALUE of literals, names, +, | and *", what))
}

func (s scope) value(expr syntax.Expr) (any, error) {
	switch e := expr.(type) {
	case *syntax.Literal:
		return literal(e)
	case *syntax.Ident:
		return s.name(e)
	case *syntax.ParenExpr:
		return s.value(e.X)
	case *syntax.ListExpr:
		return s.list(e)
	case *syntax.DictExpr:
		return s.dict(e)
	case *syntax.BinaryExpr:
		return s.binary(e)
	}
	return nil, refused(expr, "an expression of this kind")
}

func literal(e *syntax.Literal) (any, error) {
	switch v := e.Value.(type) {
	case string, int64, float64:
		return v, nil
	}
	return nil, at(e, fmt.Errorf("%s is not a number that this file may contain", e.Raw))
}

func (s scope) name(e *syntax.Ident) (any, error) {
	switch e.Name {
	case "True", "False":
		return e.Name == "True", nil
	}
	if v, ok := s[e.Name]; ok {
		return v, nil
	}
	return nil, at(e, fmt.Errorf("%s is not defined before its use", e.Name))
}

func (s scope) list(e *syntax.ListExpr) (any, error) {
	out := make([]any, len(e.List))
	for i, x := range e.List {
		var err error
		if out[i], err = s.value(x); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (s scope) dict(e *syntax.DictExpr) (any, error) {
	out := &dict{values: map[string]any{}}
	for _, x := range e.List {
		pair := x.(*syntax.DictEntry)
		key, err := s.value(pair.Key)
		if err != nil {
			return nil, err
		}
		name, ok := key.(string)
		if !ok {
			return nil, at(pair, fmt.Errorf("a key is not a string"))
		}
		if _, ok := out.values[name]; ok {
			return nil, at(pair, fmt.Errorf("the key %q occurs twice", name))
		}
		value, err := s.value(pair.Value)
		if err != nil {
			return nil, err
		}
		out = out.with(name, value)
	}
	return out, nil
}

func (s scope) binary(e *syntax.BinaryExpr) (any, error) {
	x, err := s.value(e.X)
	if err != nil {
		return nil, err
	}
	y, err := s.value(e.Y)
	if err != nil {
		return nil, err
	}
	switch x := x.(type) {
	case *dict:
		if y, ok := y.(*dict); ok && e.Op == syntax.PIPE {
			return x.union(y), nil
		}
	case []any:
		if y, ok := y.([]any); ok && e.Op == syntax.PLUS {
			return slices.Concat(x, y), nil
		}
	case int64:
		if y, ok := y.(int64); ok && e.Op == syntax.STAR {
			return x * y, nil
		}
	}
	return nil, refused(e, "this "+e.Op.String())
}

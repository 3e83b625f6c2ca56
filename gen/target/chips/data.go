package chips

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/bazelbuild/buildtools/build"
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

// evaluate gives the values of a file's names. It knows what data needs: strings, numbers, booleans, lists and dicts, names that were given
// before, and + | * between them. Whatever calls, loads or repeats is refused.
func evaluate(path string, text []byte) (scope, error) {
	f, err := build.ParseDefault(path, text)
	if err != nil {
		return nil, err
	}
	names := scope{}
	for i, statement := range f.Stmt {
		switch s := statement.(type) {
		case *build.CommentBlock:
		case *build.StringExpr:
			if i > 0 {
				return nil, refused(path, s, "a string")
			}
		case *build.AssignExpr:
			name, ok := s.LHS.(*build.Ident)
			if !ok || s.Op != "=" {
				return nil, refused(path, s, "an assignment")
			}
			if _, ok := names[name.Name]; ok {
				return nil, at(path, s, fmt.Errorf("%s is given twice", name.Name))
			}
			value, err := names.value(path, s.RHS)
			if err != nil {
				return nil, err
			}
			names[name.Name] = value
		default:
			return nil, refused(path, s, "a statement")
		}
	}
	return names, nil
}

func at(path string, e build.Expr, err error) error {
	start, _ := e.Span()
	return fmt.Errorf("%s:%d: %w", path, start.Line, err)
}

func refused(path string, e build.Expr, what string) error {
	return at(path, e, fmt.Errorf("%s does not belong here: this file is data, NAME = VALUE of literals, names, +, | and *", what))
}

func (s scope) value(path string, expr build.Expr) (any, error) {
	switch e := expr.(type) {
	case *build.StringExpr:
		return e.Value, nil
	case *build.LiteralExpr:
		return number(path, e)
	case *build.Ident:
		return s.name(path, e)
	case *build.ParenExpr:
		return s.value(path, e.X)
	case *build.ListExpr:
		return s.list(path, e)
	case *build.DictExpr:
		return s.dict(path, e)
	case *build.BinaryExpr:
		return s.binary(path, e)
	}
	return nil, refused(path, expr, "an expression of this kind")
}

func number(path string, e *build.LiteralExpr) (any, error) {
	if n, err := strconv.ParseInt(e.Token, 0, 64); err == nil {
		return n, nil
	}
	x, err := strconv.ParseFloat(e.Token, 64)
	if err != nil || !strings.ContainsAny(e.Token, ".eE") {
		return nil, at(path, e, fmt.Errorf("%s is no number that this file may hold", e.Token))
	}
	return x, nil
}

func (s scope) name(path string, e *build.Ident) (any, error) {
	switch e.Name {
	case "True", "False":
		return e.Name == "True", nil
	}
	if v, ok := s[e.Name]; ok {
		return v, nil
	}
	return nil, at(path, e, fmt.Errorf("%s is not given before", e.Name))
}

func (s scope) list(path string, e *build.ListExpr) (any, error) {
	out := make([]any, len(e.List))
	for i, x := range e.List {
		var err error
		if out[i], err = s.value(path, x); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (s scope) dict(path string, e *build.DictExpr) (any, error) {
	out := &dict{values: map[string]any{}}
	for _, pair := range e.List {
		key, err := s.value(path, pair.Key)
		if err != nil {
			return nil, err
		}
		name, ok := key.(string)
		if !ok {
			return nil, at(path, pair, fmt.Errorf("a key is no string"))
		}
		if _, ok := out.values[name]; ok {
			return nil, at(path, pair, fmt.Errorf("the key %q is there twice", name))
		}
		value, err := s.value(path, pair.Value)
		if err != nil {
			return nil, err
		}
		out = out.with(name, value)
	}
	return out, nil
}

func (s scope) binary(path string, e *build.BinaryExpr) (any, error) {
	x, err := s.value(path, e.X)
	if err != nil {
		return nil, err
	}
	y, err := s.value(path, e.Y)
	if err != nil {
		return nil, err
	}
	switch x := x.(type) {
	case *dict:
		if y, ok := y.(*dict); ok && e.Op == "|" {
			return x.union(y), nil
		}
	case []any:
		if y, ok := y.([]any); ok && e.Op == "+" {
			return slices.Concat(x, y), nil
		}
	case int64:
		if y, ok := y.(int64); ok && e.Op == "*" {
			return x * y, nil
		}
	}
	return nil, refused(path, e, "this "+e.Op)
}

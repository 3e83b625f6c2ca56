package policy

import (
	"errors"
	"fmt"
	"strings"

	"go.starlark.net/starlark"

	"rules_dnn/gen/compress/prune"
)

// Bounds of values.
const (
	maxString   = 1 << 10 // bytes of strings that are joined
	maxBits     = 1 << 10 // of integers that are computed with
	maxSequence = 1 << 12 // elements of a range, and of a list that is compared
)

// Names of the functions that check operands: no file can name them.
const (
	numberCheck  = "number of"
	addendCheck  = "addend of"
	scalarCheck  = "scalar of"
	compareCheck = "compared of"
)

// factsKey is where a thread has what is known of the layer.
const factsKey = "facts"

// universe are the built-in names of Starlark that policies have.
var universe = []string{"None", "True", "False", "abs", "any", "all", "bool", "float", "int", "len"}

// predeclared are the names that a policy finds.
func predeclared() starlark.StringDict {
	out := starlark.StringDict{}
	for name := range starlark.Universe {
		out[name] = builtin(name, func(starlark.Tuple) (starlark.Value, error) {
			return nil, errors.New("policies do not have this function; they have abs, any, all, bool, fail, float, int, len, max, min, range and settings")
		})
	}
	for _, name := range universe {
		delete(out, name)
	}
	for name, check := range map[string]func(starlark.Value) error{numberCheck: number, addendCheck: addend, scalarCheck: scalar, compareCheck: comparable} {
		out[name] = builtin(name, func(args starlark.Tuple) (starlark.Value, error) { return args[0], check(args[0]) })
	}
	out["dense"] = denseValue{}
	out["fail"] = builtin("fail", fail)
	out["max"] = builtin("max", func(args starlark.Tuple) (starlark.Value, error) { return extreme(args, 1) })
	out["min"] = builtin("min", func(args starlark.Tuple) (starlark.Value, error) { return extreme(args, -1) })
	out["range"] = builtin("range", ranged)
	out["settings"] = starlark.NewBuiltin("settings", settings)
	return out
}

// builtin is a function of positional arguments.
func builtin(name string, f func(args starlark.Tuple) (starlark.Value, error)) *starlark.Builtin {
	return starlark.NewBuiltin(name, func(_ *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		if len(kwargs) > 0 {
			return nil, fmt.Errorf("%s takes no named arguments", name)
		}
		return f(args)
	})
}

func number(v starlark.Value) error {
	switch v := v.(type) {
	case starlark.Float:
		return nil
	case starlark.Int:
		if v.BigInt().BitLen() > maxBits {
			return fmt.Errorf("an integer of more than %d bits", maxBits)
		}
		return nil
	}
	return fmt.Errorf("policies compute only with numbers; found %s", v.Type())
}

func addend(v starlark.Value) error {
	s, ok := v.(starlark.String)
	if !ok {
		return number(v)
	}
	if len(s) > maxString {
		return fmt.Errorf("a string of more than %d bytes", maxString)
	}
	return nil
}

func scalar(v starlark.Value) error {
	switch v.(type) {
	case starlark.NoneType, starlark.Bool, starlark.Int, starlark.Float, starlark.String:
		return nil
	}
	return fmt.Errorf("want None, a bool, a number or a string here; found %s", v.Type())
}

func comparable(v starlark.Value) error {
	list, ok := v.(starlark.Indexable)
	if _, isString := v.(starlark.String); !ok || isString {
		if _, isDense := v.(denseValue); isDense {
			return nil
		}
		return scalar(v)
	}
	if list.Len() > maxSequence {
		return fmt.Errorf("a comparison of lists of more than %d elements", maxSequence)
	}
	for i := range list.Len() {
		if err := scalar(list.Index(i)); err != nil {
			return err
		}
	}
	return nil
}

func fail(args starlark.Tuple) (starlark.Value, error) {
	var words []string
	for _, a := range args {
		if err := scalar(a); err != nil {
			return nil, err
		}
		if s, ok := starlark.AsString(a); ok {
			words = append(words, shown(s))
		} else {
			words = append(words, a.String())
		}
	}
	return nil, errors.New(strings.Join(words, " "))
}

// extreme is the greatest of numbers, or the least.
func extreme(args starlark.Tuple, sign int) (starlark.Value, error) {
	if len(args) == 0 {
		return nil, errors.New("want numbers")
	}
	best := args[0]
	for _, a := range args {
		if err := number(a); err != nil {
			return nil, err
		}
		if d, err := cmp(a, best); err != nil || d*sign > 0 {
			best = a
		}
	}
	return best, nil
}

func cmp(a, b starlark.Value) (int, error) {
	x, ok1 := starlark.AsFloat(a)
	y, ok2 := starlark.AsFloat(b)
	switch {
	case !ok1 || !ok2:
		return 0, errors.New("want numbers")
	case x < y:
		return -1, nil
	case x > y:
		return 1, nil
	}
	return 0, nil
}

func ranged(args starlark.Tuple) (starlark.Value, error) {
	for _, a := range args {
		if n, err := starlark.AsInt32(a); err != nil || n > maxSequence || n < -maxSequence {
			return nil, fmt.Errorf("want numbers from -%d to %d", maxSequence, maxSequence)
		}
	}
	return starlark.Call(&starlark.Thread{}, starlark.Universe["range"], args, nil)
}

// settings are what a policy returns. What the layer cannot have is refused here, where the line is known.
func settings(t *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	facts, ok := t.Local(factsKey).(prune.Facts)
	if !ok {
		return nil, errors.New("settings() is called outside policy(layer); call it within")
	}
	w := &wish{Wish: facts.Uniform}
	var rate starlark.Value = starlark.Float(w.Connectivity)
	err := starlark.UnpackArgs("settings", args, kwargs, "patterns?", &w.Patterns, "entries?", &w.Entries, "connectivity?", &rate, "share?", &w.Share, "packed?", &w.Packed)
	if err != nil {
		return nil, err
	}
	if w.Connectivity, ok = starlark.AsFloat(rate); !ok {
		return nil, fmt.Errorf("settings: connectivity is %s; want a number of 1 or more", rate.Type())
	}
	if w.Patterns == 0 {
		w.Entries = 0 // settings(patterns = 0) is enough
	}
	if err := w.Check(facts.Layer); err != nil {
		return nil, fmt.Errorf("settings: %w", err)
	}
	return w, nil
}

// wish is a layer's settings as a value of Starlark.
type wish struct{ prune.Wish }

func (w *wish) String() string        { return "settings" }
func (w *wish) Type() string          { return "settings" }
func (w *wish) Freeze()               {}
func (w *wish) Truth() starlark.Bool  { return true }
func (w *wish) Hash() (uint32, error) { return 0, errors.New("settings cannot be a key") }

// denseValue leaves a layer as it is.
type denseValue struct{}

func (denseValue) String() string        { return "dense" }
func (denseValue) Type() string          { return "dense" }
func (denseValue) Freeze()               {}
func (denseValue) Truth() starlark.Bool  { return false }
func (denseValue) Hash() (uint32, error) { return 0, errors.New("dense cannot be a key") }

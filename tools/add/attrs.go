package main

import (
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/bazelbuild/buildtools/build"
)

// external sets external_data to the files that the model names.
func (e *edit) external(r *build.Rule) error {
	value := r.Attr("external_data")
	list, ok := value.(*build.ListExpr)
	if value == nil {
		list, ok = &build.ListExpr{}, true
	}
	if !ok {
		if len(e.m.locations) > 0 {
			e.f.note("%s: external_data is an expression, and stays: the model's are %s", e.f.label(r.Name()), strings.Join(e.m.locations, ", "))
		}
		return nil
	}
	kept, missing, err := e.keep(list)
	if err != nil {
		return err
	}
	if len(kept) == len(list.List) && len(missing) == 0 {
		return nil
	}
	list.List = kept
	for _, location := range missing {
		label, err := e.w.label(e.m.beside(location), e.f.pkg)
		if err != nil {
			return err
		}
		if strings.HasPrefix(label, "//") {
			e.f.note("%s: %s must be exported by its package: exports_files", e.f.label(r.Name()), label)
		}
		list.List = append(list.List, text(label))
	}
	if len(list.List) == 0 {
		r.DelAttr("external_data")
	} else if value == nil {
		setAttr(r, "external_data", list)
	}
	return nil
}

// keep returns the elements of a list that stay, and the locations that the model needs in
// addition. Outputs of rules and expressions that it does not understand stay, and may provide any
// location without a file.
func (e *edit) keep(list *build.ListExpr) (kept []build.Expr, missing []string, err error) {
	found, open := map[string]bool{}, false
	for _, x := range list.List {
		label, ok := x.(*build.StringExpr)
		if !ok {
			kept, open = append(kept, x), true
			continue
		}
		location, isSource, stale := e.location(label.Value)
		switch {
		case stale || isSource && !slices.Contains(e.m.locations, location):
			continue
		case isSource:
			found[location] = true
		default:
			open = true
		}
		kept = append(kept, x)
	}
	for _, location := range e.m.locations {
		_, err := os.Stat(e.m.beside(location))
		switch {
		case found[location]:
		case err == nil:
			missing = append(missing, location)
		case !open:
			return nil, nil, fmt.Errorf("its external data are in %s, which is not beside the model: copy the file there, or add the target that makes it to external_data", location)
		}
	}
	return kept, missing, nil
}

// location returns the path at which the rules place a source file of external data, relative to
// the model's folder. A label is stale if it is neither a file nor a target of this package.
func (e *edit) location(label string) (location string, isSource, stale bool) {
	pkg, name, ok := resolve(label, e.f.pkg)
	if !ok {
		return "", false, false
	}
	if !hasFile(e.w.file(pkg, ""), []string{name}) {
		return "", false, pkg == e.f.pkg && !e.f.defines(name)
	}
	home := path.Dir(path.Join(e.f.pkg, strings.TrimPrefix(e.src, ":"))) + "/"
	if home == "./" {
		home = ""
	}
	file := path.Join(pkg, name)
	switch {
	case strings.HasPrefix(file, home):
		return strings.TrimPrefix(file, home), true, false
	case pkg != "":
		return name, true, false
	}
	return path.Base(name), true, false
}

// dims adds a bound for each symbol of the model, and removes bounds without a symbol.
func (e *edit) dims(r *build.Rule) error {
	value := r.Attr("dims")
	dict, ok := value.(*build.DictExpr)
	ok = ok && !slices.ContainsFunc(dict.List, func(x *build.KeyValueExpr) bool { return keyOf(x) == nil })
	if value == nil {
		dict, ok = &build.DictExpr{}, true
	}
	for _, d := range e.o.dims {
		if !e.m.symbol(d.symbol) {
			return fmt.Errorf("--dims=%s=%s: no dimension of the model's inputs has this name; %s", d.symbol, d.bound, e.symbols())
		}
	}
	if !ok {
		if len(e.o.dims) > 0 {
			return errors.New("--dims: dims is an expression in the BUILD file, which is people's to change")
		}
		if len(e.m.symbols) > 0 {
			e.f.note("%s: dims is an expression, and stays; %s", e.f.label(r.Name()), e.symbols())
		}
		return nil
	}
	e.mergeDims(dict)
	switch {
	case len(dict.List) == 0 && value != nil:
		r.DelAttr("dims")
	case len(dict.List) > 0 && value == nil:
		setAttr(r, "dims", dict)
	}
	return nil
}

func (e *edit) symbols() string {
	if len(e.m.symbols) == 0 {
		return "all of them are constants"
	}
	names := make([]string, len(e.m.symbols))
	for i, s := range e.m.symbols {
		names[i] = s.Name
	}
	return "the model's symbols are " + strings.Join(names, ", ")
}

// mergeDims keeps what people wrote for symbols that the model has.
func (e *edit) mergeDims(dict *build.DictExpr) {
	dict.List = slices.DeleteFunc(dict.List, func(x *build.KeyValueExpr) bool { return !e.m.symbol(keyOf(x).Value) })
	for _, s := range e.m.symbols {
		at := slices.IndexFunc(dict.List, func(x *build.KeyValueExpr) bool { return s.Is(keyOf(x).Value) })
		given := slices.IndexFunc(e.o.dims, func(d dim) bool { return s.Is(d.symbol) })
		bound := "1.."
		if given >= 0 {
			bound = e.o.dims[given].bound
		}
		switch {
		case at < 0:
			dict.List = append(dict.List, &build.KeyValueExpr{Key: text(s.Name), Value: text(bound)})
		case given >= 0:
			dict.List[at].Value = text(bound)
		}
	}
}

// keyOf returns an entry's key, or nil if it is an expression.
func keyOf(x *build.KeyValueExpr) *build.StringExpr {
	key, _ := x.Key.(*build.StringExpr)
	return key
}

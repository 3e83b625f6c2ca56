package main

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/bazelbuild/buildtools/build"
)

// edit brings what compiles one model up to date in one BUILD file.
type edit struct {
	o   *options
	w   *workspace
	f   *buildFile
	m   *model
	src string // the model as the file writes it
}

// Rules whose src is an ONNX model; their attributes that follow from it are the same.
const (
	modelRule  = "dnn_model"
	importRule = "dnn_import"
)

func (e *edit) run() error {
	targets, err := e.targets()
	if err != nil {
		return err
	}
	if len(targets) > 1 && e.o.target != "" {
		return fmt.Errorf("--target=%s: %s compile this model: choose one with --name, or a new name for a new target", e.o.target, e.list(targets))
	}
	if len(targets) == 0 {
		r, err := e.create()
		if err != nil {
			return err
		}
		return e.update(r, "added to "+e.f.name)
	}
	for _, r := range targets {
		if err := e.update(r, "brought up to date in "+e.f.name); err != nil {
			return fmt.Errorf("%s: %w", e.f.label(r.Name()), err)
		}
	}
	return nil
}

func (e *edit) list(targets []*build.Rule) string {
	names := make([]string, len(targets))
	for i, r := range targets {
		names[i] = e.f.label(r.Name())
	}
	return strings.Join(names, ", ")
}

// rules returns the rules of the file that can compile a model.
func (e *edit) rules() []*build.Rule {
	var found []*build.Rule
	for _, kind := range []string{importRule, modelRule} {
		if name, ok := e.f.local(e.w.repo, kind); ok {
			found = append(found, e.f.tree.Rules(name)...)
		}
	}
	return found
}

// has reports whether a rule of the file that may compile a model has the name.
func (e *edit) has(name string) bool {
	return slices.ContainsFunc(e.rules(), func(r *build.Rule) bool { return r.Name() == name })
}

// targets returns the rules that compile the model, or the one named by --name.
func (e *edit) targets() ([]*build.Rule, error) {
	if e.o.name != "" {
		return e.named(e.o.name)
	}
	var found []*build.Rule
	for _, r := range e.rules() {
		if e.isModel(r.AttrString("src")) {
			found = append(found, r)
		}
	}
	return found, nil
}

// named returns the target of this name, if it exists.
func (e *edit) named(name string) ([]*build.Rule, error) {
	for _, r := range e.rules() {
		if r.Name() != name {
			continue
		}
		src := r.AttrString("src")
		if src == "" && r.Attr("src") != nil {
			return nil, fmt.Errorf("%s chooses its src by an expression, which is people's to change: nothing is done", e.f.label(name))
		}
		if src != "" && path.Ext(src) != ".onnx" {
			return nil, fmt.Errorf("the src of %s is %s, which is no .onnx file: nothing is done; name the target that reads the model, or change src", e.f.label(name), src)
		}
		return []*build.Rule{r}, nil
	}
	return nil, nil
}

// isModel reports whether a label means the model.
func (e *edit) isModel(label string) bool {
	if label == "" {
		return false
	}
	pkg, name, ok := resolve(label, e.f.pkg)
	return ok && e.w.file(pkg, name) == e.m.path
}

// create adds a dnn_model without what follows from the model.
func (e *edit) create() (*build.Rule, error) {
	name := e.o.name
	if name == "" {
		name = nameOf(e.m.path)
	}
	if old := e.f.tree.RuleNamed(name); old != nil {
		start, _ := old.Call.Span()
		line, src := start.Line, ""
		if s := old.AttrString("src"); s != "" {
			src = " of " + s
		}
		return nil, fmt.Errorf("%s exists: a %s%s (%s, line %d); name this model's target differently with --name, or use --name=%s if that dnn_model should compile this model now",
			e.f.label(name), old.Kind(), src, e.f.name, line, name)
	}
	call := &build.CallExpr{X: &build.Ident{Name: e.f.load(e.w.repo, modelRule)}, ForceMultiLine: true}
	e.f.tree.Stmt = append(e.f.tree.Stmt, call)
	r := build.NewRule(call)
	setAttr(r, "name", text(name))
	return r, nil
}

// nameOf makes a target's name of a file's.
func nameOf(file string) string {
	name := strings.TrimSuffix(path.Base(strings.ReplaceAll(file, "\\", "/")), ".onnx")
	return strings.Map(func(r rune) rune {
		if isNameRune(r) && r != '/' {
			return r
		}
		return '_'
	}, name)
}

func isNameRune(r rune) bool {
	return r < 0x80 && (r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_-.+/", r))
}

// isName reports whether a target of the name can have a header of that name, as the rules want.
func isName(name string) bool {
	for _, part := range strings.Split(name, "/") {
		if part == "" || part == "." || part == ".." {
			return false
		}
	}
	return strings.IndexFunc(name, func(r rune) bool { return !isNameRune(r) }) < 0
}

// update sets the attributes that depend on the model, and reports done if anything changed.
func (e *edit) update(r *build.Rule, done string) error {
	before := build.FormatString(r.Call)
	if !e.isModel(r.AttrString("src")) {
		setAttr(r, "src", text(e.src))
	}
	if e.o.target != "" {
		if name, ok := e.f.local(e.w.repo, importRule); ok && r.Kind() == name {
			return errors.New("--target: dnn_import reads a model for all platforms")
		}
		setAttr(r, "target", text(e.o.target))
	}
	if err := e.external(r); err != nil {
		return err
	}
	if err := e.m.verify(); err != nil {
		return err
	}
	if err := e.dims(r); err != nil {
		return err
	}
	label := e.f.label(r.Name())
	if build.FormatString(r.Call) == before {
		e.f.note("%s is up to date", label)
		return nil
	}
	e.f.changed = true
	if e.o.check || e.o.dryRun {
		done = "would be " + done
	}
	e.f.note("%s: %s", label, done)
	return nil
}

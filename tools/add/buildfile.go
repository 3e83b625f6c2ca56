package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/bazelbuild/buildtools/build"
	"github.com/bazelbuild/buildtools/tables"

	"rules_dnn/gen/base/files"
)

// buildFile is a package's BUILD file.
type buildFile struct {
	path    string // absolute
	name    string // from the workspace's root, for people
	pkg     string
	before  []byte
	tree    *build.File
	changed bool
	notes   []string // what was done, and what was left to people
}

func readBuildFile(path, name, pkg string) (*buildFile, error) {
	data, err := files.Read(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	tree, err := build.ParseBuild(name, data)
	if err != nil {
		return nil, fmt.Errorf("the BUILD file is not understood, and nothing is changed: %w", err)
	}
	return &buildFile{path: path, name: name, pkg: pkg, before: data, tree: tree}, nil
}

// text returns the new text of the file. A file formatted by buildifier stays formatted; other
// files keep the order that buildifier would change.
func (f *buildFile) text() []byte {
	if !f.changed {
		return f.before
	}
	if original, err := build.ParseBuild(f.name, f.before); err == nil && bytes.Equal(build.Format(original), f.before) {
		return build.Format(f.tree)
	}
	return build.FormatWithoutRewriting(f.tree)
}

func (f *buildFile) note(format string, args ...any) {
	f.notes = append(f.notes, fmt.Sprintf(format, args...))
}

// label returns a target's label for messages.
func (f *buildFile) label(name string) string { return "//" + f.pkg + ":" + name }

// defines reports whether a target or a file is made by a rule in this file.
func (f *buildFile) defines(name string) bool {
	for _, r := range f.tree.Rules("") {
		made := append(r.AttrStrings("outs"), r.Name(), r.AttrString("out"))
		if slices.Contains(made, name) || slices.Contains(made, ":"+name) {
			return true
		}
	}
	return false
}

// uses returns a text of the file by which its package has files of a folder below it, or "": a
// label or a pattern of glob.
func (f *buildFile) uses(folder string) string {
	found := ""
	build.Walk(f.tree, func(x build.Expr, _ []build.Expr) {
		s, ok := x.(*build.StringExpr)
		if !ok || found != "" {
			return
		}
		name := strings.TrimPrefix(strings.TrimPrefix(s.Value, "//"+f.pkg), ":")
		// Of a pattern, what comes before the first * counts: **/*.txt is of all folders.
		pattern, _, isPattern := strings.Cut(name, "*")
		if strings.HasPrefix(name, folder+"/") || isPattern && (strings.Contains(name, "**") && strings.HasPrefix(folder+"/", pattern) || strings.HasPrefix(pattern, folder+"/")) {
			found = fmt.Sprintf("%q", s.Value)
		}
	})
	return found
}

// defsFile ends the label of the file that users load.
const defsFile = "//rules:defs.bzl"

// loads returns the load statements of that file.
func (f *buildFile) loads(repo string) []*build.LoadStmt {
	var found []*build.LoadStmt
	for _, s := range f.tree.Stmt {
		load, ok := s.(*build.LoadStmt)
		if ok && slices.Contains([]string{repo + defsFile, "@rules_dnn" + defsFile}, load.Module.Value) {
			found = append(found, load)
		}
	}
	return found
}

// local returns the file's name for a symbol of rules_dnn; ok reports whether the file loads it. A
// symbol of the same name loaded from elsewhere counts, because the user replaced it.
func (f *buildFile) local(repo, symbol string) (name string, ok bool) {
	for _, load := range f.loads(repo) {
		for i, from := range load.From {
			if from.Name == symbol {
				return load.To[i].Name, true
			}
		}
	}
	for _, s := range f.tree.Stmt {
		if load, isLoad := s.(*build.LoadStmt); isLoad && slices.ContainsFunc(load.To, func(id *build.Ident) bool { return id.Name == symbol }) {
			return symbol, true
		}
	}
	return symbol, false
}

// load makes the file load a symbol of rules_dnn, and returns its name there.
func (f *buildFile) load(repo, symbol string) string {
	name, ok := f.local(repo, symbol)
	if ok {
		return name
	}
	if loads := f.loads(repo); len(loads) > 0 {
		addToLoad(loads[0], symbol)
		return name
	}
	load := &build.LoadStmt{Module: text(repo + defsFile), ForceCompact: true}
	addToLoad(load, symbol)
	f.tree.Stmt = slices.Insert(f.tree.Stmt, f.placeOfLoad(load.Module.Value), build.Expr(load))
	return name
}

func addToLoad(load *build.LoadStmt, symbol string) {
	at := slices.IndexFunc(load.From, func(id *build.Ident) bool { return id.Name > symbol })
	if at < 0 {
		at = len(load.From)
	}
	load.From = slices.Insert(load.From, at, &build.Ident{Name: symbol})
	load.To = slices.Insert(load.To, at, &build.Ident{Name: symbol})
}

// placeOfLoad returns the position for a load statement: among the others, or after the file's
// head.
func (f *buildFile) placeOfLoad(module string) int {
	place, header := -1, true
	for i, s := range f.tree.Stmt {
		switch s := s.(type) {
		case *build.LoadStmt:
			if compareModules(module, s.Module.Value) < 0 {
				return i
			}
			place, header = i+1, false
		case *build.CommentBlock, *build.StringExpr:
			if header {
				place = i + 1
			}
		default:
			header = false
		}
	}
	return max(place, 0)
}

// compareModules orders load statements as buildifier wants them: other repositories' first.
func compareModules(a, b string) int {
	rank := func(module string) int {
		for i, prefix := range []string{"@", "//"} {
			if strings.HasPrefix(module, prefix) {
				return i
			}
		}
		return 2
	}
	if x, y := rank(a), rank(b); x != y {
		return x - y
	}
	return strings.Compare(a, b)
}

// setAttr sets an attribute of a rule. A new attribute goes to buildifier's position for it.
func setAttr(r *build.Rule, key string, value build.Expr) {
	if old := r.AttrDefn(key); old != nil {
		old.RHS = value
		return
	}
	at := 0
	for i, arg := range r.Call.List {
		// **kwargs come last, and whatever is not in order stays so.
		if named, ok := arg.(*build.AssignExpr); ok && compareAttrs(named.LHS.(*build.Ident).Name, key) < 0 {
			at = i + 1
		}
	}
	r.Call.List = slices.Insert(r.Call.List, at, build.Expr(&build.AssignExpr{LHS: &build.Ident{Name: key}, Op: "=", RHS: value}))
}

func compareAttrs(a, b string) int {
	if x, y := tables.NamePriority[a], tables.NamePriority[b]; x != y {
		return x - y
	}
	return strings.Compare(a, b)
}

// text returns a string expression that keeps all letters; buildtools would escape non-ASCII
// bytes.
func text(value string) *build.StringExpr {
	x := &build.StringExpr{Value: value}
	if !strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r == '"' || r == '\\' || r == 0x7f }) {
		x.Token = `"` + value + `"`
	}
	return x
}

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/bazelbuild/buildtools/build"
)

// publicFile lists the rules and providers that users load.
const publicFile = "rules/defs.bzl"

// argument is a parameter of a macro, an attribute of a rule or a field of a provider.
type argument struct{ name, doc string }

// symbol is a rule, macro or provider.
type symbol struct {
	name, doc string
	arguments []argument
	provider  bool
}

// rulesPages makes the page of rules and providers from their docstrings.
func rulesPages(r *repository) (map[string]string, error) {
	symbols, err := publicSymbols(r.root)
	if err != nil {
		return nil, err
	}
	p := newPage("Rules and providers", "docstrings of `rules`")
	p.text("Load them from `@rules_dnn//rules:defs.bzl`. Guides show how they are used.")
	for _, s := range symbols {
		s.write(p)
	}
	extensions, err := extensionSymbols(r.root)
	if err != nil {
		return nil, err
	}
	p.heading(2, "Module extensions")
	for _, s := range extensions {
		p.heading(3, s.name)
		p.text(s.doc)
		p.table([]string{"attribute of `configure`", "meaning"}, s.rows())
	}
	return map[string]string{"rules.md": p.String()}, nil
}

func (s *symbol) write(p *page) {
	p.heading(2, s.name)
	for _, paragraph := range strings.Split(s.doc, "\n\n") {
		p.text(paragraph)
	}
	column := "attribute"
	if s.provider {
		column = "field"
	}
	p.table([]string{column, "meaning"}, s.rows())
}

func (s *symbol) rows() [][]string {
	var rows [][]string
	for _, a := range s.arguments {
		rows = append(rows, []string{quoted(a.name), a.doc})
	}
	return rows
}

func parseBzl(path string) (*build.File, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return build.ParseBzl(path, data)
}

// publicSymbols returns what publicFile re-exports, in its order.
func publicSymbols(root string) ([]*symbol, error) {
	file, err := parseBzl(filepath.Join(root, publicFile))
	if err != nil {
		return nil, err
	}
	var out []*symbol
	for _, statement := range file.Stmt {
		load, ok := statement.(*build.LoadStmt)
		if !ok {
			continue
		}
		_, name, _ := strings.Cut(load.Module.Value, ":")
		path := filepath.Join(root, "rules", name)
		if strings.HasPrefix(load.Module.Value, "//") {
			path = filepath.Join(root, strings.NewReplacer("//", "", ":", "/").Replace(load.Module.Value))
		}
		from, err := parseBzl(path)
		if err != nil {
			return nil, err
		}
		for _, ident := range load.From {
			s, err := findSymbol(from, ident.Name)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", path, err)
			}
			out = append(out, s)
		}
	}
	return out, nil
}

// findSymbol reads a macro's docstring, or the docs in a call of rule() or provider().
func findSymbol(f *build.File, name string) (*symbol, error) {
	for _, statement := range f.Stmt {
		switch s := statement.(type) {
		case *build.DefStmt:
			if s.Name == name {
				return macroSymbol(s)
			}
		case *build.AssignExpr:
			if ident, ok := s.LHS.(*build.Ident); ok && ident.Name == name {
				return callSymbol(name, s.RHS)
			}
		}
	}
	return nil, fmt.Errorf("there is no %s", name)
}

var argumentEntry = regexp.MustCompile(`(?m)^      (\*{0,2}\w+): (.*(?:\n        .*)*)`)

// macroSymbol splits a docstring at "Args:". Each parameter must have an entry.
func macroSymbol(def *build.DefStmt) (*symbol, error) {
	doc, ok := def.Body[0].(*build.StringExpr)
	if !ok {
		return nil, fmt.Errorf("%s has no docstring", def.Name)
	}
	text, list, _ := strings.Cut(doc.Value, "Args:\n")
	s := &symbol{name: def.Name, doc: strings.TrimSpace(text)}
	var told, params []string
	for _, m := range argumentEntry.FindAllStringSubmatch(list, -1) {
		s.arguments = append(s.arguments, argument{m[1], strings.Join(strings.Fields(m[2]), " ")})
		told = append(told, strings.Trim(m[1], "*"))
	}
	for _, p := range def.Params {
		name, _ := build.GetParamName(p)
		params = append(params, strings.Trim(name, "*"))
	}
	slices.Sort(told)
	slices.Sort(params)
	if !slices.Equal(told, params) {
		return nil, fmt.Errorf("%s has the parameters %v, but its docstring describes %v", def.Name, params, told)
	}
	return s, nil
}

// callSymbol reads rule(doc = ..., attrs = ...), provider(doc = ..., fields = ...), or an
// extension.
func callSymbol(name string, expr build.Expr) (*symbol, error) {
	call, ok := expr.(*build.CallExpr)
	if !ok {
		return nil, fmt.Errorf("%s is not a call", name)
	}
	kind, _ := call.X.(*build.Ident)
	s := &symbol{name: name, provider: kind != nil && kind.Name == "provider"}
	if kind != nil && kind.Name == "rule" {
		s.arguments = append(s.arguments, argument{"name", "the target."})
	}
	for _, arg := range call.List {
		assign, ok := arg.(*build.AssignExpr)
		if !ok {
			continue
		}
		switch key := assign.LHS.(*build.Ident).Name; key {
		case "doc":
			s.doc = stringOf(assign.RHS)
		case "attrs", "fields":
			arguments, err := dictArguments(assign.RHS)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			s.arguments = append(s.arguments, arguments...)
		}
	}
	if s.doc == "" {
		return nil, fmt.Errorf("%s has no doc", name)
	}
	return s, nil
}

// dictArguments returns the entries of attrs or fields, without private ones.
func dictArguments(expr build.Expr) ([]argument, error) {
	dict, ok := expr.(*build.DictExpr)
	if !ok {
		return nil, fmt.Errorf("want a dict")
	}
	var out []argument
	for _, entry := range dict.List {
		name := stringOf(entry.Key)
		if strings.HasPrefix(name, "_") {
			continue
		}
		doc := stringOf(entry.Value)
		if call, ok := entry.Value.(*build.CallExpr); ok {
			for _, arg := range call.List {
				if a, ok := arg.(*build.AssignExpr); ok && a.LHS.(*build.Ident).Name == "doc" {
					doc = stringOf(a.RHS)
				}
			}
		}
		if doc == "" {
			return nil, fmt.Errorf("%s has no doc", name)
		}
		out = append(out, argument{name, doc})
	}
	return out, nil
}

func stringOf(expr build.Expr) string {
	if s, ok := expr.(*build.StringExpr); ok {
		return s.Value
	}
	return ""
}

// extensionSymbols returns the module extensions that users configure.
func extensionSymbols(root string) ([]*symbol, error) {
	var out []*symbol
	for _, e := range []struct{ path, name string }{
		{"toolchains/ndk/extensions.bzl", "ndk"},
		{"toolchains/hexagon/extensions.bzl", "hexagon_sdk"},
	} {
		f, err := parseBzl(filepath.Join(root, e.path))
		if err != nil {
			return nil, err
		}
		s, err := findSymbol(f, e.name)
		if err != nil {
			return nil, err
		}
		configure, err := findConfigure(f)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", e.path, err)
		}
		s.arguments = configure.arguments
		s.doc += " " + configure.doc + " Extension of `@rules_dnn//" + strings.Replace(e.path, "/extensions", ":extensions", 1) + "`."
		out = append(out, s)
	}
	return out, nil
}

func findConfigure(f *build.File) (*symbol, error) { return findSymbol(f, "_configure") }

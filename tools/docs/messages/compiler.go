package messages

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

const (
	module  = "rules_dnn/"
	command = "gen/cmd/dnnc"
)

// helpers are the functions and methods whose strings are messages, however short.
var helpers = map[string]bool{
	"Errorf": true, "errorf": true, "fail": true, "failf": true, "hint": true, "limitf": true, "refuse": true, "refused": true, "refusef": true,
	"unsuited": true, "errors.New": true,
}

// silent are the functions whose strings no user sees: patterns of shapes, generated code, and
// panics, which are bugs.
var silent = map[string]bool{"panic": true, "shaped": true, "line": true, "Line": true, "cpp": true, "MustCompile": true}

// compiler returns the messages of the packages that dnnc links.
func compiler(root string) ([]File, error) {
	g := &goReader{root: root, seen: map[string]bool{}}
	err := g.read(command)
	return g.files, err
}

// goReader reads a package, and those of this module that it imports.
type goReader struct {
	root  string
	seen  map[string]bool
	files []File
}

func (g *goReader) read(folder string) error {
	if g.seen[folder] {
		return nil
	}
	g.seen[folder] = true
	names, err := filepath.Glob(filepath.Join(g.root, folder, "*.go"))
	if err != nil {
		return err
	}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") || strings.HasSuffix(name, ".pb.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		if file, ok := newFile(path.Join(folder, filepath.Base(name)), goTexts(f, printsCode(folder, name))); ok {
			g.files = append(g.files, file)
		}
		for _, imported := range imports(f) {
			if err := g.read(imported); err != nil {
				return err
			}
		}
	}
	return nil
}

// imports returns the folders of this module that a file imports.
func imports(f *ast.File) []string {
	var out []string
	for _, spec := range f.Imports {
		name, _ := strconv.Unquote(spec.Path.Value)
		if folder, ok := strings.CutPrefix(name, module); ok {
			out = append(out, folder)
		}
	}
	return out
}

// printsCode reports whether a file's strings are code or dumps unless a helper takes them.
func printsCode(folder, name string) bool {
	return strings.HasPrefix(folder, "gen/emit") || strings.HasPrefix(filepath.Base(name), "text")
}

// goTexts returns the messages of a file: what helpers take, and sentences elsewhere unless the
// file prints code.
func goTexts(f *ast.File, code bool) []string {
	var out []string
	var calls []string // the functions whose calls surround the node; "" for other nodes
	ast.Inspect(f, func(n ast.Node) bool {
		if n == nil {
			calls = calls[:len(calls)-1]
			return false
		}
		if text, ok := goString(n); ok {
			call := innermost(calls)
			if helpers[call] || !code && !slices.ContainsFunc(calls, func(c string) bool { return silent[c] }) && sentence(text) {
				out = append(out, text)
			}
			return false
		}
		calls = append(calls, called(n))
		return true
	})
	return out
}

// innermost returns the last name that is not empty.
func innermost(calls []string) string {
	for i := len(calls) - 1; i >= 0; i-- {
		if calls[i] != "" {
			return calls[i]
		}
	}
	return ""
}

// called returns the name of the function that a node calls, with "errors." for New; "" if it calls
// none.
func called(n ast.Node) string {
	call, ok := n.(*ast.CallExpr)
	if !ok {
		return ""
	}
	switch f := call.Fun.(type) {
	case *ast.Ident:
		return f.Name
	case *ast.SelectorExpr:
		if x, ok := f.X.(*ast.Ident); ok && x.Name == "errors" {
			return "errors." + f.Sel.Name
		}
		return f.Sel.Name
	}
	return "?"
}

// goString returns a string literal, or a sum with a literal in it. Its other parts are holes.
func goString(n ast.Node) (string, bool) {
	switch e := n.(type) {
	case *ast.BasicLit:
		if e.Kind == token.STRING {
			text, err := strconv.Unquote(e.Value)
			return text, err == nil
		}
	case *ast.ParenExpr:
		return goString(e.X)
	case *ast.BinaryExpr:
		if e.Op == token.ADD {
			return join(goString, ast.Node(e.X), ast.Node(e.Y))
		}
	}
	return "", false
}

// join returns the sum of two operands. An operand that is not a string becomes a hole. It reports
// whether any operand is a string.
func join[N any](read func(N) (string, bool), x, y N) (string, bool) {
	a, left := read(x)
	b, right := read(y)
	if !left {
		a = hole
	}
	if !right {
		b = hole
	}
	return a + b, left || right
}

package target

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestNobodyAsksForNames: other packages ask a target for capabilities. What kind of chip it is, is known here alone.
func TestNobodyAsksForNames(t *testing.T) {
	if _, err := os.Stat("../../tools"); err != nil {
		t.Skip("no sources are here (Bazel): .ci/run has them")
	}
	files := 0
	for _, folder := range []string{"gen", "tools"} {
		require.NoError(t, filepath.WalkDir("../../"+folder, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || filepath.Dir(path) == "../../gen/target" {
				return err
			}
			files++
			fset := token.NewFileSet()
			f, err := parser.ParseFile(fset, path, nil, parser.SkipObjectResolution)
			if err == nil {
				assert.Empty(t, asked(fset, f), "ask a question that target.Target answers, as those of gen/target/capabilities.go, or add one")
			}
			return err
		}))
	}
	assert.Greater(t, files, 100)
}

// TestAsked: what the test above is to find.
func TestAsked(t *testing.T) {
	for text, want := range map[string]int{
		`if t.OpenCL == nil {}`:                      1,
		`if nil != env.Target.OpenCL {}`:             1,
		`n := t.OpenCL.Workers; _ = n`:               1,
		`if t.CPU == other {}`:                       1,
		`switch t.CPU { case x: }`:                   1,
		`switch { case t.CPU != "arm64": }`:          1,
		`switch name { case "x86_64_v3": }`:          1,
		`if t.Name == "opencl_images" {}`:            1,
		`_ = strings.HasPrefix(t.Name, "arm64")`:     1,
		`_ = map[string]int{"amd64": 1}[t.CPU]`:      1,
		`if t.Views() && t.CPUFeatures == nil {}`:    0,
		`x := "opencl"; y := t.CPU; _, _ = x, y`:     0,
		`if t.Images == nil || name == "header" { }`: 0,
	} {
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, "x.go", "package x\n\nfunc f() {\n"+text+"\n}\n", parser.SkipObjectResolution)
		require.NoError(t, err)
		assert.Len(t, asked(fset, f), want, text)
	}
}

// named reports whether a text is a family's name, or a chip's or device's, which begin with one.
func named(text string) bool {
	for name := range families {
		if text == name || strings.HasPrefix(text, name+"_") {
			return true
		}
	}
	return false
}

// asked are the places where a program asks what kind of chip it has: uses of the interface's facts, and comparisons, switches and look-ups of
// a cpu or of a chip's name.
func asked(fset *token.FileSet, f *ast.File) []string {
	var out []string
	found := func(n ast.Node) { out = append(out, fmt.Sprint(fset.Position(n.Pos()))) }
	isName := func(e ast.Expr) bool {
		if l, ok := e.(*ast.BasicLit); ok && l.Kind == token.STRING {
			text, err := strconv.Unquote(l.Value)
			return err == nil && named(text)
		}
		return field(e) == "CPU"
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch x := n.(type) {
		case *ast.SelectorExpr:
			if p, ok := x.X.(*ast.Ident); x.Sel.Name == "OpenCL" && !(ok && p.Name == "target") { // target.OpenCL is the type
				found(x)
			}
		case *ast.BinaryExpr:
			if (x.Op == token.EQL || x.Op == token.NEQ) && (isName(x.X) || isName(x.Y)) {
				found(x)
			}
		case *ast.SwitchStmt:
			if field(x.Tag) == "CPU" {
				found(x)
			}
		case *ast.CaseClause:
			if slices.ContainsFunc(x.List, isName) {
				found(x)
			}
		case *ast.IndexExpr:
			if field(x.Index) == "CPU" {
				found(x)
			}
		case *ast.CallExpr:
			if len(x.Args) == 2 && field(x.Args[0]) == "Name" && isName(x.Args[1]) {
				found(x)
			}
		}
		return true
	})
	return out
}

// field is the name of the field that an expression selects, or "".
func field(e ast.Expr) string {
	if s, ok := e.(*ast.SelectorExpr); ok {
		return s.Sel.Name
	}
	return ""
}

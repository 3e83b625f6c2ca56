package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"unicode"
)

// structs are the struct types of a package, with their comments.
type structs struct {
	dir   string
	types map[string]*ast.StructType
	docs  map[string]string
}

// readStructs parses the Go files of a folder, without tests.
func readStructs(root, dir string) (*structs, error) {
	s := &structs{dir: dir, types: map[string]*ast.StructType{}, docs: map[string]string{}}
	files, err := filepath.Glob(filepath.Join(root, dir, "*.go"))
	if err != nil {
		return nil, err
	}
	set := token.NewFileSet()
	for _, f := range files {
		if strings.HasSuffix(f, "_test.go") {
			continue
		}
		data, err := os.ReadFile(f)
		if err != nil {
			return nil, err
		}
		file, err := parser.ParseFile(set, f, data, parser.ParseComments)
		if err != nil {
			return nil, err
		}
		s.add(file)
	}
	return s, nil
}

func (s *structs) add(file *ast.File) {
	for _, d := range file.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok {
			continue
		}
		for _, spec := range g.Specs {
			t, ok := spec.(*ast.TypeSpec)
			if !ok {
				continue
			}
			if st, ok := t.Type.(*ast.StructType); ok {
				s.types[t.Name.Name] = st
				s.docs[t.Name.Name] = comment(g.Doc) + comment(t.Doc)
			}
		}
	}
}

// comment returns the text of comments in one line.
func comment(groups ...*ast.CommentGroup) string {
	var out []string
	for _, g := range groups {
		if g != nil {
			out = append(out, strings.Join(strings.Fields(g.Text()), " "))
		}
	}
	return strings.Join(out, " ")
}

// write appends a type, and after it those that its fields have, each once.
func (s *structs) write(p *page, name string, done map[string]bool) error {
	st, ok := s.types[name]
	if !ok {
		return fmt.Errorf("%s has no struct %s", s.dir, name)
	}
	done[name] = true
	p.heading(3, name)
	p.text(s.docs[name])
	var rows [][]string
	var next []string
	before := "" // the last comment, which may name the fields after it, too
	for _, f := range st.Fields.List {
		tag := ""
		if f.Tag != nil {
			tag, _, _ = strings.Cut(reflect.StructTag(strings.Trim(f.Tag.Value, "`")).Get("json"), ",")
		}
		if tag == "" || tag == "-" {
			continue
		}
		meaning := comment(f.Doc, f.Comment)
		if meaning != "" {
			before = meaning
		} else if len(f.Names) == 1 && slices.Contains(strings.FieldsFunc(before, notInName), f.Names[0].Name) {
			meaning = before
		}
		text, inner := jsonType(f.Type)
		optional := ""
		if strings.Contains(f.Tag.Value, ",omitempty") {
			optional = "may be absent"
		}
		rows = append(rows, []string{quoted(tag), text, optional, meaning})
		if s.types[inner] != nil {
			next = append(next, inner)
		}
	}
	p.table([]string{"field", "type", "", "meaning"}, rows)
	for _, n := range next {
		if !done[n] {
			if err := s.write(p, n, done); err != nil {
				return err
			}
		}
	}
	return nil
}

// notInName reports whether a rune ends a name.
func notInName(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }

// jsonType names a field's type in JSON's words, and the struct in it.
func jsonType(e ast.Expr) (text, inner string) {
	switch t := e.(type) {
	case *ast.StarExpr:
		return jsonType(t.X)
	case *ast.ArrayType:
		text, inner = jsonType(t.Elt)
		return "list of " + text, inner
	case *ast.MapType:
		text, inner = jsonType(t.Value)
		return "object with values: " + text, inner
	case *ast.SelectorExpr:
		return t.Sel.Name, ""
	case *ast.StructType, *ast.InterfaceType:
		return "object", ""
	case *ast.Ident:
		switch {
		case t.Name == "string", t.Name == "bool":
			return t.Name, ""
		case strings.HasPrefix(t.Name, "int"), strings.HasPrefix(t.Name, "uint"):
			return "integer", ""
		case strings.HasPrefix(t.Name, "float"):
			return "number", ""
		}
		return t.Name, t.Name
	}
	return "any", ""
}

// schemaPages writes the pages of the manifest and of reports.
func schemaPages(r *repository) (map[string]string, error) {
	out := map[string]string{}
	for _, f := range []struct {
		file, title, source, intro string
		types                      []struct{ heading, dir, name string }
	}{
		{"manifest.md", "Manifest", "`gen/manifest`",
			"`NAME.manifest.json` describes a compiled model for tools and people. Sizes are bytes; expressions are over the symbols.",
			[]struct{ heading, dir, name string }{{"NAME.manifest.json", "gen/manifest", "Manifest"}}},
		{"reports.md", "Reports", "the types that write them", "Rules and commands write these JSON files.",
			[]struct{ heading, dir, name string }{
				{"dnn_quantize: output group report", "gen/quant", "Report"},
				{"dnn_pruning: output group pruning", "gen/prune", "Report"},
				{"NAME.tune: the tuning record", "gen/tuning", "Record"},
				{"dnntrain: log.json", "gen/trainer/command", "pruneLog"},
			}},
	} {
		p := newPage(f.title, f.source)
		p.text(f.intro)
		for _, t := range f.types {
			s, err := readStructs(r.root, t.dir)
			if err != nil {
				return nil, err
			}
			p.heading(2, t.heading)
			if err := s.write(p, t.name, map[string]bool{}); err != nil {
				return nil, err
			}
		}
		out[f.file] = p.String()
	}
	return out, nil
}

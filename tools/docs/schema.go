package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"unicode"
)

// structs are the struct types of a package, with their comments.
type structs struct {
	root, dir string
	types     map[string]*ast.StructType
	docs      map[string]string
	imports   map[string]string // folders of this repository's packages, by the package's name
}

// readStructs parses the Go files of a folder, without tests.
func readStructs(root, dir string) (*structs, error) {
	s := &structs{root: root, dir: dir, types: map[string]*ast.StructType{}, docs: map[string]string{}, imports: map[string]string{}}
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
	for _, i := range file.Imports {
		if dir, ok := strings.CutPrefix(strings.Trim(i.Path.Value, `"`), "rules_dnn/"); ok {
			s.imports[path.Base(dir)] = dir
		}
	}
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

// write appends a type and then the types of its fields, also those of other packages. It writes
// each type once; done has the types that are already on the page.
func (s *structs) write(p *page, name string, done map[string]bool) error {
	if s.types[name] == nil {
		return fmt.Errorf("%s has no struct %s", s.dir, name)
	}
	done[s.dir+"."+name] = true
	p.heading(3, name)
	p.text(s.docs[name])
	rows, next := s.fields(name)
	p.table([]string{"field", "type", "", "meaning"}, rows)
	for _, n := range next {
		if err := s.writeOnce(p, n, done); err != nil {
			return err
		}
	}
	return nil
}

// writeOnce writes a type, NAME or PACKAGE.NAME, unless it is on the page or is not a struct of
// this repository.
func (s *structs) writeOnce(p *page, name string, done map[string]bool) error {
	if pkg, inner, ok := strings.Cut(name, "."); ok {
		other, err := readStructs(s.root, s.imports[pkg])
		if err != nil {
			return err
		}
		s, name = other, inner
	}
	if s.types[name] == nil || done[s.dir+"."+name] {
		return nil
	}
	return s.write(p, name, done)
}

// fields returns the rows of a type's fields, with those of embedded types, and the types of the
// fields.
func (s *structs) fields(name string) (rows [][]string, next []string) {
	before := "" // the last comment, which may describe the following fields, too
	for _, f := range s.types[name].Fields.List {
		if embedded, ok := f.Type.(*ast.Ident); ok && len(f.Names) == 0 && f.Tag == nil && s.types[embedded.Name] != nil {
			r, n := s.fields(embedded.Name)
			rows, next = append(rows, r...), append(next, n...)
			continue
		}
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
		rows = append(rows, []string{quoted(tag), text, optional, phrase(meaning)})
		if pkg, _, ok := strings.Cut(inner, "."); s.types[inner] != nil || ok && s.imports[pkg] != "" {
			next = append(next, inner)
		}
	}
	return rows, next
}

// phrase returns a comment as the text of a table's cell: without a capital and a period around it.
func phrase(s string) string {
	s = strings.TrimSuffix(s, ".")
	if r := []rune(s); len(r) > 1 && unicode.IsUpper(r[0]) && (unicode.IsLower(r[1]) || r[1] == ' ') {
		return string(unicode.ToLower(r[0])) + string(r[1:])
	}
	return s
}

// notInName reports whether a rune ends a name.
func notInName(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }

// jsonType returns a field's type in JSON's words, and the name of the struct in it.
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
		inner = t.Sel.Name
		if pkg, ok := t.X.(*ast.Ident); ok {
			inner = pkg.Name + "." + inner
		}
		return t.Sel.Name, inner
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

// schemaPages returns the pages of the manifest and of reports.
func schemaPages(r *repository) (map[string]string, error) {
	out := map[string]string{}
	for _, f := range []struct {
		file, title, source, intro string
		types                      []struct{ heading, dir, name string }
	}{
		{"manifest.md", "Manifest", "`gen/emit/manifest`",
			"`NAME.manifest.json` describes a compiled model for tools and people. Sizes are bytes; expressions are over the symbols.",
			[]struct{ heading, dir, name string }{{"NAME.manifest.json", "gen/emit/manifest", "Manifest"}}},
		{"reports.md", "Reports", "the types that write them", "Rules and commands write these JSON files.",
			[]struct{ heading, dir, name string }{
				{"dnn_quantize: output group report", "gen/compress/quant", "Report"},
				{"dnn_pruning: output group pruning", "gen/compress/prune", "Report"},
				{"NAME.tune: the tuning record", "gen/fusion/tuning", "Record"},
				{"dnntrain: log.json", "gen/cmd/command", "pruneLog"},
			}},
	} {
		p := newPage(f.title, f.source)
		p.text(f.intro)
		done := map[string]bool{}
		for _, t := range f.types {
			s, err := readStructs(r.root, t.dir)
			if err != nil {
				return nil, err
			}
			p.heading(2, t.heading)
			if err := s.write(p, t.name, done); err != nil {
				return nil, err
			}
		}
		out[f.file] = p.String()
	}
	return out, nil
}

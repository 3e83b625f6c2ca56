// Package readme_test holds README.md's tables against what they tell of.
package readme_test

import (
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/bazelbuild/buildtools/build"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/target"
)

var update = flag.Bool("update", false, "write README.md's tables of attributes anew")

const readme = "../../../README.md"

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(data)
}

func parse(t *testing.T, name string) *build.File {
	t.Helper()
	path := filepath.Join("../../private", name+".bzl")
	f, err := build.ParseBzl(path, []byte(read(t, path)))
	require.NoError(t, err)
	return f
}

// arguments are the rows of a macro's table: what its docstring says of its arguments.
func arguments(t *testing.T, macro string) []string {
	for _, s := range parse(t, macro).Stmt {
		def, ok := s.(*build.DefStmt)
		if !ok || def.Name != macro {
			continue
		}
		doc, ok := def.Body[0].(*build.StringExpr)
		require.True(t, ok, macro)
		_, list, ok := strings.Cut(doc.Value, "Args:\n")
		require.True(t, ok, macro)
		var rows []string
		for _, entry := range regexp.MustCompile(`(?m)^      (\*{0,2}\w+: .*(?:\n        .*)*)`).FindAllStringSubmatch(list, -1) {
			name, text, _ := strings.Cut(entry[1], ": ")
			rows = append(rows, row(name, text))
		}
		return rows
	}
	t.Fatalf("there is no macro %s", macro)
	return nil
}

// attributes are the rows of a rule's table: the doc of each of its attributes.
func attributes(t *testing.T, rule string) []string {
	rows := []string{row("name", "the target.")}
	build.Walk(parse(t, rule), func(e build.Expr, _ []build.Expr) {
		x, ok := e.(*build.KeyValueExpr)
		if !ok {
			return
		}
		call, ok := x.Value.(*build.CallExpr)
		if !ok {
			return
		}
		for _, arg := range call.List {
			if a, ok := arg.(*build.AssignExpr); ok && a.LHS.(*build.Ident).Name == "doc" {
				rows = append(rows, row(x.Key.(*build.StringExpr).Value, a.RHS.(*build.StringExpr).Value))
			}
		}
	})
	require.Greater(t, len(rows), 3, rule)
	return rows
}

// row is a line of a table, in which * and | would mean something.
func row(name, text string) string {
	return "| `" + name + "` | " + strings.ReplaceAll(strings.Join(strings.Fields(text), " "), "|", "\\|") + " |"
}

// TestAttributes: README tells of each attribute what the docstrings do.
func TestAttributes(t *testing.T) {
	text := read(t, readme)
	for rule, rows := range map[string][]string{
		"dnn_model":    arguments(t, "dnn_model"),
		"dnn_import":   attributes(t, "dnn_import"),
		"dnn_chip":     arguments(t, "dnn_chip"),
		"dnn_prune":    arguments(t, "dnn_prune"),
		"dnn_pruning":  arguments(t, "dnn_pruning"),
		"dnn_quantize": arguments(t, "dnn_quantize"),
	} {
		head := "| attribute of `" + rule + "` | |\n| --- | --- |\n"
		before, rest, ok := strings.Cut(text, head)
		require.True(t, ok, rule)
		table, after, ok := strings.Cut("\n"+rest, "\n\n")
		require.True(t, ok, rule)
		want := "\n" + strings.Join(rows, "\n")
		if *update {
			text = before + head + want[1:] + "\n\n" + after
			continue
		}
		assert.Equal(t, want, table, "go test ./rules/tests/readme -update writes the table of %s anew", rule)
	}
	if *update {
		require.NoError(t, os.WriteFile(readme, []byte(text), 0o644))
	}
}

// TestSignatures: the docstrings tell of each argument, in no other than the signature's spelling.
func TestSignatures(t *testing.T) {
	for _, macro := range []string{"dnn_model", "dnn_chip", "dnn_prune", "dnn_pruning", "dnn_quantize"} {
		var params []string
		for _, s := range parse(t, macro).Stmt {
			if def, ok := s.(*build.DefStmt); ok && def.Name == macro {
				for _, p := range def.Params {
					name, _ := build.GetParamName(p)
					params = append(params, name)
				}
			}
		}
		var told []string
		for _, r := range arguments(t, macro) {
			told = append(told, strings.Trim(strings.Split(r, "`")[1], "*"))
		}
		assert.ElementsMatch(t, params, told, macro)
	}
}

// exampleFacts are README's example of a chip's facts, as the compiler reads them: with a name and without commas that nothing follows.
func exampleFacts(t *testing.T, text string) []byte {
	_, rest, ok := strings.Cut(text, "    facts = {\n")
	require.True(t, ok)
	facts, _, ok := strings.Cut(rest, "\n    },\n)")
	require.True(t, ok)
	facts = regexp.MustCompile(`,\s*(]|$)`).ReplaceAllString(facts, "$1")
	return []byte(`{"name": "my_chip",` + facts + "}")
}

// TestChip: README tells of each field of a chip's facts, and its example is one.
func TestChip(t *testing.T) {
	text := read(t, readme)
	chip, err := target.Parse(exampleFacts(t, text))
	require.NoError(t, err)
	assert.NotNil(t, chip.Tile(ir.F32))
	_, table, ok := strings.Cut(text, "| field | what it is |\n")
	require.True(t, ok)
	table, _, _ = strings.Cut(table, "\n\n")
	var fields, told []string
	facts := reflect.TypeFor[target.Target]()
	for i := range facts.NumField() {
		if name, _, _ := strings.Cut(facts.Field(i).Tag.Get("json"), ","); name != "" {
			fields = append(fields, name)
		}
	}
	for _, line := range strings.Split(table, "\n")[1:] {
		for _, m := range regexp.MustCompile("`(\\w+)`").FindAllStringSubmatch(strings.Split(line, " | ")[0], -1) {
			told = append(told, m[1])
		}
	}
	assert.ElementsMatch(t, fields, told)
}

// Package wings tests which folders of the compiler import which.
package wings

import (
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const compiler = "../.." // gen/

// TestWings holds imports to the order of folders in gen/README.md. None points up, and each folder
// is in the table.
func TestWings(t *testing.T) {
	if _, err := os.Stat(compiler + "/ir"); err != nil {
		t.Skip("no sources are here (Bazel): .ci/run has them")
	}
	text, err := os.ReadFile(compiler + "/README.md")
	require.NoError(t, err)
	order := wings(string(text))
	found, err := os.ReadDir(compiler)
	require.NoError(t, err)
	for _, e := range found {
		if e.IsDir() {
			assert.Contains(t, order, e.Name(), "a folder that the first table of gen/README.md lacks")
		}
	}
	files := 0
	require.NoError(t, filepath.WalkDir(compiler, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		files++
		from, err := filepath.Rel(compiler, path)
		if err != nil {
			return err
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, i := range f.Imports {
			name, err := strconv.Unquote(i.Path.Value)
			if err != nil {
				return err
			}
			assert.NoError(t, up(order, filepath.ToSlash(from), name))
		}
		return nil
	}))
	assert.Greater(t, files, 100)
}

// wings returns the place of each folder, from the top, in the first table of a text.
func wings(text string) map[string]int {
	out := map[string]int{}
	first, _, _ := strings.Cut(text, "\n## ")
	for _, m := range regexp.MustCompile("(?m)^\\| `([a-z]+)` \\|").FindAllStringSubmatch(first, -1) {
		out[m[1]] = len(out)
	}
	return out
}

// up returns an error if a file of the compiler imports a package of a folder above its own.
func up(order map[string]int, file, imported string) error {
	path, ours := strings.CutPrefix(imported, "rules_dnn/gen/")
	if !ours {
		return nil
	}
	from, _, _ := strings.Cut(file, "/")
	to, _, _ := strings.Cut(path, "/")
	if order[to] < order[from] {
		return fmt.Errorf("gen/%s imports gen/%s, which is above it in gen/README.md: move what it needs to gen/%s or below", file, path, from)
	}
	return nil
}

// TestUp: what the test above finds.
func TestUp(t *testing.T) {
	order := wings("| folder | takes |\n| `cmd` | files |\n| `ir` | text |\n| `base` | bytes |\n\n## Packages\n\n| `x` | y |\n")
	require.Equal(t, map[string]int{"cmd": 0, "ir": 1, "base": 2}, order)
	assert.Error(t, up(order, "ir/te/te.go", "rules_dnn/gen/cmd/dnnc"))
	assert.Error(t, up(order, "base/files/files.go", "rules_dnn/gen/ir"))
	assert.NoError(t, up(order, "ir/te/te.go", "rules_dnn/gen/ir/sym"))
	assert.NoError(t, up(order, "cmd/dnnc/main.go", "rules_dnn/gen/base/files"))
	assert.NoError(t, up(order, "ir/te/te.go", "strings"))
}

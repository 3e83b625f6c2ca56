package main

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/ops"
)

var update = flag.Bool("update", false, "write the pages")

// checkout returns the folder of the repository.
func checkout(t *testing.T) string {
	file, err := filepath.EvalSymlinks("docs_test.go")
	require.NoError(t, err)
	file, err = filepath.Abs(file)
	require.NoError(t, err)
	return filepath.Dir(filepath.Dir(filepath.Dir(file)))
}

// open finds the checkout and the commands: Bazel's, or those that 'go build' makes.
func open(t *testing.T) *repository {
	r := &repository{root: checkout(t), tools: t.TempDir()}
	built := strings.Fields(os.Getenv("COMMANDS"))
	if len(built) == 0 {
		t.Chdir(r.root)
		require.NoError(t, buildTools(r.tools))
		return r
	}
	for _, path := range built {
		found, err := filepath.Abs(filepath.Join("../..", path))
		require.NoError(t, err)
		require.NoError(t, os.Symlink(found, filepath.Join(r.tools, filepath.Base(path))))
	}
	return r
}

// TestPages: the pages in docs/reference are what the code makes.
func TestPages(t *testing.T) {
	r := open(t)
	pages, err := generate(r)
	require.NoError(t, err)
	stale, err := compare(r.root, pages)
	require.NoError(t, err)
	if *update {
		require.NoError(t, write(r.root, pages, stale))
		return
	}
	assert.Empty(t, stale, "run 'go run ./tools/docs -update'")
	for name, text := range pages {
		assert.NotContains(t, text, r.root, name)
		assert.NotContains(t, text, r.tools, name)
	}
}

// TestOperators: the table has a row for each operator of gen/ops.
func TestOperators(t *testing.T) {
	pages, err := operatorsPage(nil)
	require.NoError(t, err)
	for _, row := range ops.Table() {
		name := strings.TrimPrefix(row.Name, ops.Microsoft)
		assert.Contains(t, pages["operators.md"], "\n| `"+name+"` | ", row.Name)
	}
}

// TestStale: a page that differs, is missing, or that nothing makes, is stale; an update mends all.
func TestStale(t *testing.T) {
	root := t.TempDir()
	pages := map[string]string{"a.md": "a", "b/c.json": "c", "d.md": "d"}
	require.NoError(t, write(root, map[string]string{"a.md": "a", "b/c.json": "old", "old.md": ""}, []string{"a.md", "b/c.json", "old.md"}))
	stale, err := compare(root, pages)
	require.NoError(t, err)
	require.Equal(t, []string{"b/c.json", "d.md", "old.md"}, stale)
	require.NoError(t, write(root, pages, stale))
	stale, err = compare(root, pages)
	require.NoError(t, err)
	require.Empty(t, stale)
}

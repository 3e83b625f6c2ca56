package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestWrap(t *testing.T) {
	long := strings.Repeat("word ", 30) + "`code with spaces that stays in one line`"
	for _, line := range strings.Split(wrap(long, "- ", "  "), "\n") {
		assert.LessOrEqual(t, len(line), 100)
		assert.Zero(t, strings.Count(line, "`")%2, line)
	}
}

func TestCell(t *testing.T) {
	require.Equal(t, `a \| b`, cell("a |\n  b"))
}

// TestDocstrings: parameters without a docstring, and docstrings of no parameter, are errors.
func TestDocstrings(t *testing.T) {
	for text, want := range map[string]string{
		"def m(name, src):\n    \"\"\"Does.\n\n    Args:\n      name: the target.\n    \"\"\"\n":                "has the parameters [name src]",
		"def m(name):\n    \"\"\"Does.\n\n    Args:\n      name: the target.\n      other: none.\n    \"\"\"\n": "describes [name other]",
		"def m(name):\n    pass\n":                                     "has no docstring",
		"m = rule(doc = \"Does.\", attrs = {\"src\": attr.label()})\n": "src has no doc",
		"m = provider(fields = {\"a\": \"b\"})\n":                      "m has no doc",
		"n = 1\n": "there is no m",
	} {
		path := filepath.Join(t.TempDir(), "m.bzl")
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
		f, err := parseBzl(path)
		require.NoError(t, err)
		_, err = findSymbol(f, "m")
		require.ErrorContains(t, err, want, text)
	}
}

// TestFields: fields of facts and their descriptions are the same.
func TestFields(t *testing.T) {
	fields := factFields()
	require.NoError(t, checkFields(fields))
	require.ErrorContains(t, checkFields(append(fields, field{name: "new"})), "the field new of facts is not described")
	require.ErrorContains(t, checkFields(fields[1:]), "which facts do not have")
}

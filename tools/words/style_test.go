package main

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestProse(t *testing.T) {
	for _, c := range []struct {
		file, text string
		want       []prose
	}{
		{"a.go", "// One\n// two.\nfunc f() {\n\tx := \"say it now\" // three\n}\n", []prose{
			{line: 1, text: "One\ntwo.", comment: true, follows: "func f() {"}, {line: 4, text: "say it now"}, {line: 4, text: "three", comment: true, follows: "}"}}},
		{"a.go", "x := `a\nb c d`\n// e\n", []prose{{line: 1, text: "a\nb c d"}, {line: 3, text: "e", comment: true}}},
		{"a.go", `x := "// no comment" + "a \" b c"` + "\n", []prose{{line: 1, text: "// no comment"}, {line: 1, text: `a \" b c`}}},
		{"a.h", "/* One\n * two. */\nint x;  // 'three'\n", []prose{{line: 1, text: " One\ntwo. ", comment: true}, {line: 3, text: "'three'", comment: true}}},
		{"a.bzl", "\"\"\"One\ntwo.\"\"\"\nx = \"name\"  # three\n", []prose{{line: 1, text: "One\ntwo."}, {line: 3, text: "three", comment: true}}},
		{"a.sh", "echo ${x#y} # it's\n", []prose{{line: 1, text: "it's", comment: true}}},
		{"a.txt", "# One\n", nil},
		{"a.md", "# Title of it\n\nOne `a b`\ntwo [three](x y).\n- four\n- five\n\n```sh\nsix\n```\n| a | b c |\n", []prose{
			{line: 3, text: "One CODE\ntwo three."}, {line: 5, text: "- four"}, {line: 6, text: "- five"}, {line: 11, text: "a"}, {line: 11, text: "b c"}}},
	} {
		assert.Equal(t, c.want, proseOf(c.file, c.text), "%s: %s", c.file, c.text)
	}
}

func TestStyle(t *testing.T) {
	rules, err := parseRules("", "\\bof which\\b\tif\n")
	require.NoError(t, err)
	words := strings.Repeat("word ", 31)
	for _, c := range []struct {
		name, file, text string
		want             []finding
	}{
		{"a pattern across lines", "a.go", "// a chip of\n// which x\nvar x int\n", []finding{{1, "of which", "if"}}},
		{"code is no prose", "a.go", "x := of(which)\n", nil},
		{"a long sentence", "a.md", words + ".\n", []finding{{1, "a sentence of 31 words", "sentences of at most 30 words"}, {1, "a long line", "at most 100 columns"}}},
		{"two short ones", "a.md", strings.Repeat("word ", 16) + "end.\n" + strings.Repeat("word ", 16) + "end.\n", nil},
		{"a comment that says what a function does", "a.go", "// f returns x.\nfunc f() {}\n", nil},
		{"a comment that does not", "a.go", "// f is x.\nfunc f() {}\n", []finding{{1, "a comment of f that begins otherwise", "the function's name and a verb: returns, reports, writes"}}},
		{"a method's", "a.go", "// The x.\nfunc (a *b) f() {}\n", []finding{{1, "a comment of f that begins otherwise", "the function's name and a verb: returns, reports, writes"}}},
		{"a test's", "a_test.go", "// TestX: x is y.\nfunc TestX(t *testing.T) {}\n", nil},
		{"a long line of code or of a table", "a.md", "| " + words + "|\n```\n" + words + words + words + "\n```\n", []finding{{1, "a sentence of 31 words", "sentences of at most 30 words"}}},
		{"a long comment", "a.h", "// " + strings.Repeat("a, b. ", 20) + "\n", []finding{{1, "a long line", "at most 100 columns"}}},
		{"an address", "a.h", "// " + strings.Repeat("a/", 60) + "\n", nil},
	} {
		t.Run(c.name, func(t *testing.T) { assert.Equal(t, c.want, styleOf(rules, c.file, c.text, false)) })
	}
	assert.Empty(t, styleOf(rules, "a.go", "// of which\n", true), "messages are no comments")
	assert.Len(t, styleOf(rules, "a.go", "x(\"that of which is\")\n", true), 1)
}

func TestBudget(t *testing.T) {
	rules, err := parseRules("", "\\bof which\\b\tif\n")
	require.NoError(t, err)
	t.Chdir(t.TempDir())
	require.NoError(t, os.WriteFile("a.md", []byte("of which\n\nof which\n"), 0o644))
	require.NoError(t, os.WriteFile("b.md", []byte("of which\n"), 0o644))
	files := []string{"a.md", "b.md"}
	for _, c := range []struct {
		allowed budget
		failed  int
		said    string
	}{
		{budget{"a.md": 2, "b.md": 1}, 0, ""},
		{budget{"a.md": 3, "b.md": 1}, 0, "-update"},
		{budget{"a.md": 1, "b.md": 1}, 1, "a.md: 2 findings of style"},
		{budget{"a.md": 2}, 1, "b.md:1: found \"of which\""},
	} {
		var out bytes.Buffer
		n, err := (&checker{style: rules, allowed: c.allowed}).budgets(files, &out, options{})
		require.NoError(t, err)
		assert.Equal(t, c.failed, n)
		assert.Contains(t, out.String(), c.said)
	}
	assert.Equal(t, budget{"a.md": 2}, budget{"a.md": 5, "gone.md": 1}.lowered(map[string]int{"a.md": 2, "b.md": 1}), "it never rises")
	text := budget{"b": 1, "a": 2, "c": 0}.String()
	assert.Equal(t, budgetHead+"2 a\n1 b\n", text)
	read, err := parseBudget(text)
	require.NoError(t, err)
	assert.Equal(t, budget{"a": 2, "b": 1}, read)
	for _, bad := range []string{"x a", "0 a", "-1 a", "1", "1 "} {
		_, err := parseBudget(bad)
		assert.ErrorContains(t, err, "line 1: want a positive number", bad)
	}
}

// Package docs_test checks links, lines and commands in the documentation. e2e runs the examples.
package docs_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/tools/docs/snippet"
)

// rulesRoot returns the checkout's directory. Bazel's runfiles are links to it.
func rulesRoot(t *testing.T) string {
	file, err := filepath.EvalSymlinks("docs_test.go")
	require.NoError(t, err)
	file, err = filepath.Abs(file)
	require.NoError(t, err)
	return filepath.Dir(filepath.Dir(file))
}

// walk calls f with the path of each hand-written file of the repository, relative to the root.
func walk(t *testing.T, f func(path string)) {
	root := rulesRoot(t)
	require.NoError(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		name, _ := filepath.Rel(root, path)
		name = filepath.ToSlash(name)
		switch {
		case err != nil:
			return err
		case d.IsDir() && (strings.HasPrefix(d.Name(), ".git") && name != ".github" || strings.HasPrefix(name, "bazel-") || d.Name() == "testdata" || name == "shared"):
			return filepath.SkipDir
		case d.Type().IsRegular():
			f(name)
		}
		return nil
	}))
}

// pages returns the paths of all Markdown files, relative to the root.
func pages(t *testing.T) []string {
	var out []string
	walk(t, func(path string) {
		if strings.HasSuffix(path, ".md") {
			out = append(out, path)
		}
	})
	require.NotEmpty(t, out)
	return out
}

// ours reports whether a page must follow the rules for documentation. Pages in directories with
// code are older and need not.
func ours(path string) bool {
	return !strings.Contains(path, "/") || strings.HasPrefix(path, "docs/") || strings.HasPrefix(path, "examples/") || strings.HasPrefix(path, ".github/")
}

func read(t *testing.T, path string) string {
	data, err := os.ReadFile(filepath.Join(rulesRoot(t), path))
	require.NoError(t, err)
	return string(data)
}

// prose returns the lines of a page. Lines in blocks of code are replaced by empty lines.
func prose(text string) []string {
	lines := strings.Split(text, "\n")
	code := false
	for i, line := range lines {
		fence := strings.HasPrefix(strings.TrimSpace(line), "```")
		if code || fence {
			lines[i] = ""
		}
		if fence {
			code = !code
		}
	}
	return lines
}

var inlineCode = regexp.MustCompile("`[^`]*`")

var link = regexp.MustCompile(`\]\(([^)\s]+)\)|(?:src|srcset)="([^"]+)"`)

// TestLinks checks that links to files and headings of the repository have targets.
func TestLinks(t *testing.T) {
	root := rulesRoot(t)
	for _, page := range pages(t) {
		for i, line := range prose(read(t, page)) {
			for _, m := range link.FindAllStringSubmatch(inlineCode.ReplaceAllString(line, ""), -1) {
				target := m[1] + m[2]
				if strings.Contains(target, "://") || strings.HasPrefix(target, "mailto:") {
					continue
				}
				file, anchor, _ := strings.Cut(target, "#")
				path := page
				if file != "" {
					path = filepath.ToSlash(filepath.Join(filepath.Dir(page), file))
				}
				_, err := os.Stat(filepath.Join(root, path))
				if !assert.NoError(t, err, "%s:%d: %s", page, i+1, target) || anchor == "" {
					continue
				}
				assert.Contains(t, anchors(read(t, path)), anchor, "%s:%d: %s has no such heading", page, i+1, path)
			}
		}
	}
}

// anchors returns the anchors of a page's headings.
func anchors(text string) []string {
	var out []string
	for _, line := range prose(text) {
		if title, ok := strings.CutPrefix(strings.TrimLeft(line, "#"), " "); ok && strings.HasPrefix(line, "#") {
			out = append(out, slug(title))
		}
	}
	return out
}

// slug returns the anchor of a heading, by GitHub's rules.
func slug(title string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.IsLetter(r), unicode.IsDigit(r), r == '-', r == '_':
			return unicode.ToLower(r)
		case r == ' ':
			return '-'
		}
		return -1
	}, title)
}

var mentioned = regexp.MustCompile(`\bdocs/[\w/]+\.md\b`)

// TestMentions checks that pages exist that code, messages and other pages name.
func TestMentions(t *testing.T) {
	root := rulesRoot(t)
	kinds := []string{".go", ".bzl", ".bazel", ".py", ".cc", ".h", ".md", ".txt", ".sh", ".star", ".json"}
	walk(t, func(path string) {
		if !slices.Contains(kinds, filepath.Ext(path)) || strings.HasSuffix(path, ".pb.go") || strings.HasPrefix(path, "third_party/") || path == "docs/docs_test.go" {
			return
		}
		for _, name := range mentioned.FindAllString(read(t, path), -1) {
			_, err := os.Stat(filepath.Join(root, name))
			assert.NoError(t, err, "%s names %s", path, name)
		}
	})
}

// maxLines returns the maximum number of lines of a page. Generated pages and the changelog have no
// limit.
func maxLines(page string) int {
	switch {
	case page == "README.md":
		return 150
	case page == "CONTRIBUTING.md":
		return 120
	case page == "CHANGELOG.md", strings.HasPrefix(page, "docs/reference/"):
		return 1 << 20
	}
	return 250
}

const columns = 100

// TestLengths checks the length of pages, and of lines outside tables and code.
func TestLengths(t *testing.T) {
	for _, page := range pages(t) {
		if !ours(page) {
			continue
		}
		text := read(t, page)
		assert.LessOrEqual(t, strings.Count(text, "\n"), maxLines(page), "lines of %s", page)
		if page == "CHANGELOG.md" {
			continue // TestChangelog
		}
		for i, line := range prose(text) {
			if !strings.HasPrefix(line, "|") && !strings.HasPrefix(line, "<!--") {
				assert.LessOrEqual(t, utf8.RuneCountInString(line), columns, "%s:%d", page, i+1)
			}
		}
	}
}

// TestBlocks checks that each block of code has a mark for tests, and that no code is indented
// instead of fenced.
func TestBlocks(t *testing.T) {
	root := rulesRoot(t)
	for _, page := range pages(t) {
		if !ours(page) || strings.HasPrefix(page, "docs/reference/") {
			continue
		}
		_, err := snippet.Read(filepath.Join(root, page))
		assert.NoError(t, err)
		previous := ""
		for i, line := range prose(read(t, page)) {
			assert.False(t, previous == "" && strings.HasPrefix(line, "    "), "%s:%d: put code between fences", page, i+1)
			previous = line
		}
	}
}

// TestFileNames checks that the text before a block names its file, because readers do not see the
// block's mark.
func TestFileNames(t *testing.T) {
	root := rulesRoot(t)
	for _, page := range pages(t) {
		if !ours(page) || strings.HasPrefix(page, "docs/reference/") {
			continue
		}
		blocks, err := snippet.Read(filepath.Join(root, page))
		require.NoError(t, err)
		lines := prose(read(t, page))
		for _, b := range blocks {
			if b.Mark == snippet.File {
				before := strings.Join(lines[:b.Line], "\n")
				assert.Contains(t, before, "`"+b.Name+"`", "%s:%d", page, b.Line)
			}
		}
	}
}

// TestChangelog checks that each version is a heading and each entry a line.
func TestChangelog(t *testing.T) {
	lines := strings.Split(strings.TrimSpace(read(t, "CHANGELOG.md")), "\n")
	require.Equal(t, "# Changelog", lines[0])
	headings := []string{"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}
	version := regexp.MustCompile(`^## \d+\.\d+\.\d+ - (Unreleased|\d{4}-\d\d-\d\d)$`)
	for i, line := range lines[1:] {
		switch {
		case strings.HasPrefix(line, "## "):
			assert.Regexp(t, version, line, "line %d", i+2)
		case strings.HasPrefix(line, "### "):
			assert.Contains(t, headings, line[4:], "line %d", i+2)
		case strings.HasPrefix(line, "- "):
			assert.LessOrEqual(t, utf8.RuneCountInString(line), 120, "line %d", i+2)
		case strings.HasPrefix(line, "  "):
			assert.Fail(t, "an entry is one line", "line %d", i+2)
		}
	}
}

// TestExamplesAreModules checks that Bazel ignores the modules of examples in this module.
func TestExamplesAreModules(t *testing.T) {
	ignored := strings.Split(read(t, ".bazelignore"), "\n")
	found := 0
	walk(t, func(path string) {
		if folder, ok := strings.CutSuffix(path, "/MODULE.bazel"); ok && strings.HasPrefix(folder, "examples/") {
			assert.Contains(t, ignored, folder, ".bazelignore")
			found++
		}
	})
	require.NotZero(t, found)
}

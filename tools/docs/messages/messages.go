// Package messages lists the texts that a user of rules_dnn can see: errors, warnings and help of
// the compiler, failures of the rules, and what the runtime prints. It reads them from the sources,
// so that one page shows them all.
package messages

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
)

// File holds the messages of one source file, in its order, each once.
type File struct {
	Path  string
	Texts []string
}

// List returns the files of a checkout that have messages, sorted by path within each group: the
// compiler, the rules, the runtime.
func List(root string) ([]File, error) {
	var out []File
	for _, read := range []func(string) ([]File, error){compiler, rules, runtime} {
		files, err := read(root)
		if err != nil {
			return nil, err
		}
		slices.SortFunc(files, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
		out = append(out, files...)
	}
	return out, nil
}

// Text returns the page: the path of each file, and below it a line for each message. Further lines
// of a message are indented.
func Text(files []File) string {
	var b strings.Builder
	for _, f := range files {
		fmt.Fprintf(&b, "\n== %s\n", f.Path)
		for _, t := range f.Texts {
			b.WriteString(line(t) + "\n")
		}
	}
	return b.String()
}

// line returns a message with its further lines indented.
func line(text string) string {
	lines := strings.Split(strings.ReplaceAll(text, "\t", "    "), "\n")
	for i, l := range lines {
		lines[i] = strings.TrimRight(l, " ")
		if i > 0 && lines[i] != "" {
			lines[i] = "    " + lines[i]
		}
	}
	return strings.Join(lines, "\n")
}

// newFile returns a file with its texts trimmed, each once, without those that have no words. It
// reports whether any text is left.
func newFile(name string, texts []string) (File, bool) {
	f := File{Path: name}
	for _, t := range texts {
		t = strings.TrimSpace(t)
		if hasWord(t) && !slices.Contains(f.Texts, t) {
			f.Texts = append(f.Texts, t)
		}
	}
	return f, len(f.Texts) > 0
}

// hole stands for a part of a text that is known only at run time.
const hole = "…"

// verb is a format verb, or a hole.
var verb = regexp.MustCompile(`%[-+# 0-9.*]*[a-zA-Z]|` + hole)

var (
	letters   = regexp.MustCompile(`[A-Za-z]{2}`)
	plainWord = regexp.MustCompile(`^[("']*(?:[A-Za-z][a-z]*(?:['-][a-z]+)*|[A-Z]+)[.,:;)"'?!]*$`)
)

// hasWord reports whether a text has a word besides its verbs.
func hasWord(text string) bool { return letters.MatchString(verb.ReplaceAllString(text, " ")) }

// sentence reports whether a text reads as prose: three words in a row. One of them may be a
// verb of a format.
func sentence(text string) bool {
	row, verbs := 0, 0
	for _, word := range strings.Fields(text) {
		switch {
		case plainWord.MatchString(word):
			row++
		case verb.MatchString(word) && verbs == 0:
			row, verbs = row+1, 1
		default:
			row, verbs = 0, 0
		}
		if row >= 3 {
			return true
		}
	}
	return false
}

// inTest reports whether a path is of a test, or of what tests share.
func inTest(name string) bool {
	base := path.Base(name)
	return strings.Contains(base, "_test.") || slices.ContainsFunc(strings.Split(path.Dir(name), "/"), func(dir string) bool {
		return dir == "tests" || dir == "testing" || dir == "testdata" || strings.HasSuffix(dir, "test")
	})
}

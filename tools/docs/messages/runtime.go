package messages

import (
	"regexp"
	"strconv"
	"strings"
)

// runtime returns the texts of the C++ that models link: the table of statuses, what explains them,
// and what programs print.
func runtime(root string) ([]File, error) {
	return walk(root, []string{"runtime"}, []string{".c", ".cc", ".h"}, func(_ string, data []byte) ([]string, error) {
		var out []string
		for _, text := range cTexts(string(data)) {
			if strings.Contains(strings.TrimSpace(text), " ") {
				out = append(out, text)
			}
		}
		return out, nil
	})
}

// literal is a string and its place in a source.
type literal struct {
	text       string
	start, end int
	page       bool // a raw string, which holds HTML
}

// added is code between strings of one message: calls of methods, additions and operators <<.
var added = regexp.MustCompile(`^(?:[\w\s.+<>()\[\]&*]|->|::)*$`)

// cTexts returns the texts of C or C++: neighbouring literals are one text, and values added
// between literals are holes.
func cTexts(source string) []string {
	var out []string
	last := -1
	for _, l := range cLiterals(source) {
		if l.page {
			out, last = append(out, paragraphs(l.text)...), -1
			continue
		}
		between := ""
		if last >= 0 {
			between = source[last:l.start]
		}
		switch {
		case last >= 0 && strings.TrimSpace(between) == "":
			out[len(out)-1] += l.text
		case last >= 0 && added.MatchString(between) && !strings.Contains(between, "return"):
			out[len(out)-1] += hole + l.text
		default:
			out = append(out, l.text)
		}
		last = l.end
	}
	return out
}

// cLiterals returns the string literals outside of comments, directives and assertions.
func cLiterals(source string) []literal {
	var out []literal
	for at := 0; at < len(source); {
		n := cToken(source[at:])
		token := source[at : at+n]
		switch {
		case strings.HasPrefix(token, `R"`):
			out = append(out, literal{token, at, at + n, true})
		case token[0] == '"':
			text, err := strconv.Unquote(token)
			if err != nil {
				text = strings.Trim(token, `"`)
			}
			out = append(out, literal{text, at, at + n, false})
		}
		at += n
	}
	return out
}

var rawString = regexp.MustCompile(`^R"(\w*)\(`)

// cToken returns the length of the first token: a comment, a directive, a literal, an assertion, or
// one character.
func cToken(text string) int {
	switch {
	case strings.HasPrefix(text, "//"), text[0] == '#':
		return until(text, "\n")
	case strings.HasPrefix(text, "/*"):
		return until(text, "*/")
	case strings.HasPrefix(text, "static_assert"), strings.HasPrefix(text, "_Static_assert"), strings.HasPrefix(text, "__asm__"):
		return until(text, ";")
	case rawString.MatchString(text):
		return until(text, ")"+rawString.FindStringSubmatch(text)[1]+`"`)
	case text[0] == '"', text[0] == '\'':
		return quoted(text)
	}
	return 1
}

// quoted returns the length of the literal that a text begins with.
func quoted(text string) int {
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case text[0]:
			return i + 1
		}
	}
	return len(text)
}

// until returns the length of a text up to the end of a mark, or the whole.
func until(text, mark string) int {
	if i := strings.Index(text, mark); i >= 0 {
		return i + len(mark)
	}
	return len(text)
}

var (
	paragraph = regexp.MustCompile(`(?s)<(?:h[1-6]|p)\b[^>]*>.*?</(?:h[1-6]|p)>`)
	tag       = regexp.MustCompile(`<[^>]*>`)
)

// paragraphs returns the headings and paragraphs of a page of HTML, each in one line without tags.
func paragraphs(page string) []string {
	var out []string
	for _, p := range paragraph.FindAllString(page, -1) {
		out = append(out, strings.Join(strings.Fields(tag.ReplaceAllString(p, " ")), " "))
	}
	return out
}

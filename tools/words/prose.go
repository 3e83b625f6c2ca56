package main

import (
	"path"
	"regexp"
	"strings"
)

// prose is a run of text that a person reads: a comment, a string or a paragraph.
type prose struct {
	line    int // of its first line, from 1
	text    string
	comment bool
	follows string // the source line after a comment; "" for other prose
}

// grammar describes where a language keeps its prose.
type grammar struct {
	line        string // begins a comment that ends with the line
	open, close string // around a comment of several lines
	quotes      string // characters around strings
	triple      bool   // strings in three quotes may have several lines
	function    *regexp.Regexp
}

var (
	likeC = grammar{line: "//", open: "/*", close: "*/", quotes: "\"'"}
	likeG = grammar{line: "//", open: "/*", close: "*/", quotes: "\"'`", function: regexp.MustCompile(`^func (?:\([^)]*\) )?(\w+)`)}
	hash  = grammar{line: "#", quotes: "\"'", triple: true}
	shell = grammar{line: "#", quotes: "\""}
)

// grammars are known by a file's extension, or its name.
var grammars = map[string]grammar{
	".go": likeG, ".c": likeC, ".cc": likeC, ".h": likeC, ".cl": likeC, ".js": likeC, ".kt": likeC, ".java": likeC,
	".py": hash, ".bzl": hash, ".bazel": hash, "BUILD": hash, "WORKSPACE": hash,
	".sh": shell, "bazelw": shell,
}

// proseOf returns what a person reads in a file; nil if the file's language is unknown.
func proseOf(name, text string) []prose {
	if path.Ext(name) == ".md" {
		return markdown(text)
	}
	g, known := grammarOf(name)
	if !known {
		return nil
	}
	return g.read(text)
}

// grammarOf returns the grammar of a file's language, if it is known.
func grammarOf(name string) (g grammar, known bool) {
	if g, known = grammars[path.Ext(name)]; !known {
		g, known = grammars[path.Base(name)]
	}
	return g, known
}

// inlineCode is code within a sentence, which counts as one word.
var inlineCode = regexp.MustCompile("`[^`]*`")

// link is a Markdown link; its first group is the text.
var link = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)

// markdown returns the paragraphs, list items and table cells of a page without code blocks,
// headings and HTML.
func markdown(text string) []prose {
	var out []prose
	var open *prose
	end := func() {
		if open != nil {
			out = append(out, *open)
		}
		open = nil
	}
	fence := ""
	for i, line := range strings.Split(text, "\n") {
		trimmed := strings.TrimSpace(line)
		if mark := trimmed[:min(3, len(trimmed))]; mark == "```" || mark == "~~~" {
			end()
			if fence == "" {
				fence = mark
			} else if fence == mark {
				fence = ""
			}
			continue
		}
		item := strings.HasPrefix(trimmed, "- ") || strings.HasPrefix(trimmed, "* ") || numbered.MatchString(trimmed)
		switch {
		case fence != "":
		case trimmed == "" || trimmed[0] == '#' || trimmed[0] == '<':
			end()
		case trimmed[0] == '|':
			end()
			for _, cell := range strings.Split(strings.Trim(plain(trimmed), "|"), "|") {
				out = append(out, prose{line: i + 1, text: strings.TrimSpace(cell)})
			}
		case open == nil || item:
			end()
			open = &prose{line: i + 1, text: trimmed}
		default:
			open.text += "\n" + trimmed
		}
	}
	end()
	for i := range out {
		out[i].text = plain(out[i].text)
	}
	return out
}

var numbered = regexp.MustCompile(`^\d+\. `)

// plain replaces inline code by a word, and links by their texts.
func plain(text string) string {
	return link.ReplaceAllString(inlineCode.ReplaceAllString(text, "CODE"), "$1")
}

// read returns the comments and strings of a source file. Comments on consecutive lines are one.
func (g grammar) read(text string) []prose {
	var out []prose
	line := 1
	lastComment := -1 // index in out of a comment that ended on the line before
	lastLine := 0
	for at := 0; at < len(text); {
		rest := text[at:]
		switch {
		case rest[0] == '\n':
			line++
			at++
		case strings.HasPrefix(rest, g.line) && (g.line != "#" || at == 0 || strings.ContainsRune(" \t\n", rune(text[at-1]))):
			n := strings.IndexByte(rest, '\n')
			if n < 0 {
				n = len(rest)
			}
			said := strings.TrimSpace(rest[len(g.line):n])
			alone := strings.TrimSpace(text[strings.LastIndexByte(text[:at], '\n')+1:at]) == ""
			if alone && lastComment >= 0 && lastLine == line-1 && said != "" {
				out[lastComment].text += "\n" + said
			} else {
				out = append(out, prose{line: line, text: said, comment: true})
				lastComment = len(out) - 1
			}
			lastLine = line
			at += n
			out[lastComment].follows = nextLine(text, at)
		case g.open != "" && strings.HasPrefix(rest, g.open):
			n := strings.Index(rest, g.close)
			if n < 0 {
				n = len(rest) - len(g.close)
			}
			out = append(out, prose{line: line, text: lineBreak.ReplaceAllString(rest[len(g.open):n], "\n"), comment: true})
			line += strings.Count(rest[:n], "\n")
			at += n + len(g.close)
		case g.triple && (strings.HasPrefix(rest, `"""`) || strings.HasPrefix(rest, "'''")):
			n := strings.Index(rest[3:], rest[:3])
			if n < 0 {
				n = len(rest) - 6
			}
			out = append(out, prose{line: line, text: rest[3 : 3+n]})
			line += strings.Count(rest[:3+n], "\n")
			at += n + 6
		case strings.IndexByte(g.quotes, rest[0]) >= 0:
			n := stringEnd(rest)
			if said := rest[1:max(1, n-1)]; strings.Count(said, " ") >= 2 { // shorter ones are names
				out = append(out, prose{line: line, text: said})
			}
			line += strings.Count(rest[:n], "\n")
			at += n
		default:
			at++
		}
	}
	return out
}

// nextLine returns the line after the one that holds a position.
func nextLine(text string, at int) string {
	if at >= len(text) {
		return ""
	}
	line, _, _ := strings.Cut(text[at+1:], "\n")
	return line
}

// stringEnd returns the length of the string that a text begins with. Only a raw string of Go has
// several lines.
func stringEnd(text string) int {
	for i := 1; i < len(text); i++ {
		switch {
		case text[i] == text[0]:
			return i + 1
		case text[i] == '\\' && text[0] != '`':
			i++
		case text[i] == '\n' && text[0] != '`':
			return i
		}
	}
	return len(text)
}

package main

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	maxWords   = 30  // of a sentence
	maxColumns = 100 // of a line of Markdown or of a comment
)

// sentenceEnd ends a sentence: a full stop, a colon or a semicolon before a space, or an empty
// line.
var sentenceEnd = regexp.MustCompile(`[.!?:;](?:\s+|$)|\n\s*\n|\n\s*[-*] `)

// styleOf returns what the style rules find in a file's prose: patterns of a list, long sentences,
// long lines, and comments of Go's functions that do not begin with the function's name and a verb.
// With messages, it reads strings and Markdown only.
func styleOf(rules []rule, name, text string, messages bool) []finding {
	var out []finding
	for _, p := range proseOf(name, text) {
		if messages && p.comment {
			continue
		}
		j := join(p.text)
		for _, r := range rules {
			for _, m := range r.pattern.FindAllStringIndex(j.text, -1) {
				out = append(out, finding{p.line + j.line(m[0]) - 1, j.text[m[0]:m[1]], r.write})
			}
		}
		if n := longest(p.text); n > maxWords {
			out = append(out, finding{p.line, fmt.Sprintf("a sentence of %d words", n), fmt.Sprintf("sentences of at most %d words", maxWords)})
		}
		if m := likeG.function.FindStringSubmatch(p.follows); m != nil && strings.HasSuffix(name, ".go") && !begins(p.text, m[1]) {
			out = append(out, finding{p.line, fmt.Sprintf("a comment of %s that begins otherwise", m[1]), "the function's name and a verb: returns, reports, writes"})
		}
	}
	for _, line := range longLines(name, text) {
		if messages {
			break
		}
		out = append(out, finding{line, "a long line", fmt.Sprintf("at most %d columns", maxColumns)})
	}
	slices.SortStableFunc(out, func(a, b finding) int { return a.line - b.line })
	return out
}

// longest returns the number of words of a text's longest sentence.
func longest(text string) int {
	most := 0
	for _, sentence := range sentenceEnd.Split(text, -1) {
		n := 0
		for _, word := range strings.Fields(sentence) {
			if strings.ContainsFunc(word, unicode.IsLetter) {
				n++
			}
		}
		most = max(most, n)
	}
	return most
}

// notVerbs are words after a function's name that begin no statement of what it does.
var notVerbs = regexp.MustCompile(`^(is|are|gives|says|tells|of|for|in|on|at|to|with|and|or|the|a|an|as)$`)

// begins reports whether a comment begins with a function's name and a verb in the present tense.
func begins(comment, name string) bool {
	words := strings.Fields(comment)
	if len(words) > 0 && (strings.HasPrefix(name, "Test") || strings.HasPrefix(name, "Fuzz") || strings.HasPrefix(name, "Benchmark")) {
		return strings.TrimSuffix(words[0], ":") == name
	}
	return len(words) > 1 && words[0] == name && strings.HasSuffix(words[1], "s") && !notVerbs.MatchString(words[1])
}

// longLines returns the numbers of lines of Markdown text, or of a comment alone on its line, that
// are too long. Tables and lines without spaces, as of addresses, cannot be broken.
func longLines(name, text string) []int {
	limit, mark, isMarkdown := maxColumns, "", path.Ext(name) == ".md"
	if name == "CHANGELOG.md" {
		limit = 120 // an entry is one line
	}
	if g, ok := grammarOf(name); ok {
		mark = g.line
	} else if !isMarkdown {
		return nil
	}
	var out []int
	fenced := false
	for i, line := range strings.Split(text, "\n") {
		trimmed := strings.TrimSpace(line)
		if isMarkdown && strings.HasPrefix(trimmed, "```") {
			fenced = !fenced
		}
		if utf8.RuneCountInString(line) <= limit || fenced || strings.HasPrefix(trimmed, "|") || strings.HasPrefix(trimmed, "<") {
			continue
		}
		if strings.HasPrefix(trimmed, mark) && strings.Contains(strings.TrimPrefix(trimmed, mark+" "), " ") {
			out = append(out, i+1)
		}
	}
	return out
}

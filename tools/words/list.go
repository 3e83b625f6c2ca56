package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// rule is a pattern, and what to write instead.
type rule struct {
	pattern *regexp.Regexp
	write   string
}

// finding is a pattern's match.
type finding struct {
	line         int
	found, write string
}

// parseRules reads lines of a regular expression, a tab and what to write instead. Lines that begin
// with # are comments. flags precede each expression.
func parseRules(flags, text string) ([]rule, error) {
	var rules []rule
	for i, line := range strings.Split(text, "\n") {
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		pattern, write, ok := strings.Cut(line, "\t")
		if !ok || pattern == "" || write == "" || strings.Contains(write, "\t") {
			return nil, fmt.Errorf("line %d: want a regular expression, a tab and what to write instead, found %q", i+1, line)
		}
		re, err := regexp.Compile(flags + pattern)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", i+1, err)
		}
		if re.MatchString("") {
			return nil, fmt.Errorf("line %d: %q matches the empty text", i+1, pattern)
		}
		rules = append(rules, rule{re, write})
	}
	if len(rules) == 0 {
		return nil, fmt.Errorf("there is no rule")
	}
	return rules, nil
}

// lineBreak is a line's end, with the indentation and the comment marks of the next line.
var lineBreak = regexp.MustCompile(`[ \t\r]*\n[ \t]*(//+|#+|\*)?[ \t]*`)

// joined is a text in one line, so that patterns match across the ends of lines.
type joined struct {
	text   string
	starts []int // where each of the original's lines begins in text
}

func join(text string) joined {
	j := joined{starts: []int{0}}
	var b strings.Builder
	at := 0
	for _, m := range lineBreak.FindAllStringIndex(text, -1) {
		b.WriteString(text[at:m[0]])
		b.WriteByte(' ')
		j.starts = append(j.starts, b.Len())
		at = m[1]
	}
	b.WriteString(text[at:])
	j.text = b.String()
	return j
}

// line is the number, from 1, of the line that holds a position.
func (j joined) line(at int) int {
	i, found := slices.BinarySearch(j.starts, at)
	if found {
		i++
	}
	return i
}

// check gives what the rules find in a text, by line.
func check(rules []rule, text string) []finding {
	var out []finding
	j := join(text)
	for _, r := range rules {
		for _, m := range r.pattern.FindAllStringIndex(j.text, -1) {
			out = append(out, finding{j.line(m[0]), j.text[m[0]:m[1]], r.write})
		}
	}
	slices.SortStableFunc(out, func(a, b finding) int { return a.line - b.line })
	return out
}

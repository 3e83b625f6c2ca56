package main

import (
	"fmt"
	"slices"
	"strings"
)

// context is how many lines that are the same a diff shows around a change.
const context = 3

// line is a line of a diff: of both texts (' '), of the old ('-') or of the new ('+').
type line struct {
	kind byte
	text string
}

// diff shows how a file changes, as `diff -u` does.
func diff(name, before, after string) string {
	lines := compareEnds(split(before), split(after))
	var b strings.Builder
	old := "a/" + name
	if before == "" {
		old = "/dev/null"
	}
	fmt.Fprintf(&b, "--- %s\n+++ b/%s\n", old, name)
	for start := 0; start < len(lines); {
		first := start
		for first < len(lines) && lines[first].kind == ' ' {
			first++
		}
		if first == len(lines) {
			break
		}
		start = hunk(&b, lines, max(first-context, start))
	}
	return b.String()
}

// hunk prints lines from a position up to the next long stretch without changes, and returns its
// end.
func hunk(b *strings.Builder, lines []line, from int) int {
	to, same := from, 0
	for i := from; i < len(lines) && same <= 2*context; i++ {
		if same++; lines[i].kind != ' ' {
			to, same = i+1, 0
		}
	}
	to = min(to+context, len(lines))
	count := func(part []line, other byte) (n int) {
		for _, l := range part {
			if l.kind != other {
				n++
			}
		}
		return n
	}
	place := func(other byte) string {
		n, at := count(lines[from:to], other), count(lines[:from], other)
		if n > 0 {
			at++
		}
		return fmt.Sprintf("%d,%d", at, n)
	}
	fmt.Fprintf(b, "@@ -%s +%s @@\n", place('+'), place('-'))
	for _, l := range lines[from:to] {
		fmt.Fprintf(b, "%c%s\n", l.kind, l.text)
	}
	return to
}

func split(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}

// compareEnds compares what lies between the lines at both ends that are the same: compare's work
// grows with the product of the lengths.
func compareEnds(a, b []string) []line {
	var head, tail []line
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		head = append(head, line{' ', a[0]})
		a, b = a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		tail = append(tail, line{' ', a[len(a)-1]})
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	slices.Reverse(tail)
	return slices.Concat(head, compare(a, b), tail)
}

// compare finds a longest common part of two lists of lines.
func compare(a, b []string) []line {
	longest := make([][]int, len(a)+1) // of a[i:] and b[k:]
	for i := range longest {
		longest[i] = make([]int, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for k := len(b) - 1; k >= 0; k-- {
			longest[i][k] = max(longest[i+1][k], longest[i][k+1])
			if a[i] == b[k] {
				longest[i][k] = longest[i+1][k+1] + 1
			}
		}
	}
	var out []line
	i, k := 0, 0
	for i < len(a) || k < len(b) {
		switch {
		case i < len(a) && k < len(b) && a[i] == b[k]:
			out = append(out, line{' ', a[i]})
			i, k = i+1, k+1
		case i < len(a) && (k == len(b) || longest[i+1][k] >= longest[i][k+1]):
			out = append(out, line{'-', a[i]})
			i++
		default:
			out = append(out, line{'+', b[k]})
			k++
		}
	}
	return out
}

package ckernel

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Writer collects indented lines.
type Writer struct {
	b      strings.Builder
	Indent int
}

// Line writes a line; an empty format is an empty line.
func (w *Writer) Line(format string, args ...any) {
	if format == "" {
		w.b.WriteByte('\n')
		return
	}
	w.b.WriteString(strings.Repeat("  ", w.Indent))
	fmt.Fprintf(&w.b, format, args...)
	w.b.WriteByte('\n')
}

// Block writes what the body writes, in braces after a head.
func (w *Writer) Block(head string, body func()) {
	w.Line("%s {", head)
	w.Indent++
	body()
	w.Indent--
	w.Line("}")
}

// Text writes whole lines as they are.
func (w *Writer) Text(s string) { w.b.WriteString(s) }

// String is all that was written.
func (w *Writer) String() string { return w.b.String() }

// Strip drops one pair of parentheses around the whole text.
func Strip(s string) string {
	if len(s) < 2 || s[0] != '(' || s[len(s)-1] != ')' {
		return s
	}
	depth := 0
	for i, c := range s {
		switch c {
		case '(':
			depth++
		case ')':
			depth--
		}
		if depth == 0 && i < len(s)-1 {
			return s
		}
	}
	return s[1 : len(s)-1]
}

// Float is the literal of a finite number: the shortest that reads back the same, as a double or a float.
func Float(v float64, double bool) string {
	suffix, bits := "f", 32
	if double {
		suffix, bits = "", 64
	}
	s := strconv.FormatFloat(v, 'g', -1, bits)
	if !strings.ContainsAny(s, ".e") {
		s += ".0"
	}
	if math.Signbit(v) { // -0 as well
		return "(" + s + suffix + ")"
	}
	return s + suffix
}

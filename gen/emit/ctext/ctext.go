// Package ctext makes C text out of names that a model's author chose: string
// literals, comments and identifiers. An ONNX file may name a tensor anything, "*/"
// and "int" included, so whatever prints C takes names through this package.
package ctext

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// String is s as a C string literal, quotes included. Bytes that are not printable ASCII
// become octal escapes of three digits, which, unlike hexadecimal ones, end by themselves.
func String(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c == '?': // two of them would begin a trigraph
			b.WriteString(`\?`)
		case c < 0x20 || c >= 0x7f:
			fmt.Fprintf(&b, `\%03o`, c)
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// Comment is s made safe inside both kinds of comment: one line, without what
// ends or begins a comment, and without a backslash that would continue a line.
// Printable Unicode stays readable; what could hide or reorder text is spelt out.
func Comment(s string) string {
	var b strings.Builder
	for i, w := 0, 0; i < len(s); i += w {
		var r rune
		r, w = utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && w == 1:
			fmt.Fprintf(&b, "<%02x>", s[i])
		case r == '\\' || r == '?' && strings.HasPrefix(s[i:], "??"):
			fmt.Fprintf(&b, "<%02x>", r)
		case !readable(r):
			fmt.Fprintf(&b, "<%02x>", r)
		case r == '/' && endsIn(&b, '*'), r == '*' && endsIn(&b, '/'):
			b.WriteByte(' ')
			b.WriteRune(r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// endsIn reports whether the last byte written is c, so that no comment mark forms.
func endsIn(b *strings.Builder, c byte) bool {
	s := b.String()
	return s != "" && s[len(s)-1] == c
}

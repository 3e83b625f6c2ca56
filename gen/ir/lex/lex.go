// Package lex reads the words, names, numbers and index expressions that the compiler's text forms are made of.
package lex

import (
	"fmt"
	"strconv"
	"strings"

	"rules_dnn/gen/ir/sym"
)

// Lexer reads a text. White space between what it reads, and comments after "#", mean nothing.
type Lexer struct {
	s   string
	Pos int // of what is unread
	eol int // the end of the line of the last expression
	bol int // what stands there is the first of its line
}

// New is a text of which nothing is read.
func New(text string) Lexer { return Lexer{s: text} }

// IsWord reports whether words have the byte.
func IsWord(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// Errorf is an error that tells the line.
func (l *Lexer) Errorf(format string, args ...any) error {
	line := 1 + strings.Count(l.s[:min(l.Pos, len(l.s))], "\n")
	return fmt.Errorf("line %d: %w", line, fmt.Errorf(format, args...))
}

// Rest is the unread text after white space and comments.
func (l *Lexer) Rest() string {
	line := false
	for l.Pos < len(l.s) {
		switch c := l.s[l.Pos]; {
		case c == ' ' || c == '\n' || c == '\t' || c == '\r':
			line = line || c == '\n'
			l.Pos++
		case c == '#':
			n := strings.IndexByte(l.s[l.Pos:], '\n')
			if n < 0 {
				n = len(l.s) - l.Pos
			}
			l.Pos += n
		default:
			if line {
				l.bol = l.Pos
			}
			return l.s[l.Pos:]
		}
	}
	return ""
}

// EndLine checks that nothing but a comment stands on the rest of the line.
func (l *Lexer) EndLine() error {
	if l.Rest() == "" || l.Pos == l.bol {
		return nil
	}
	return l.Errorf("want the end of the line, found %s", l.Found())
}

// Found is what comes next, for messages.
func (l *Lexer) Found() string {
	r := l.Rest()
	if r == "" {
		return "the end"
	}
	if i := strings.IndexByte(r, '\n'); i >= 0 {
		r = r[:i]
	}
	return strconv.QuoteToASCII(r[:min(len(r), 40)])
}

// Accept takes the punctuation or word if it comes next.
func (l *Lexer) Accept(tok string) bool {
	r := l.Rest()
	if !strings.HasPrefix(r, tok) {
		return false
	}
	if IsWord(tok[0]) && len(r) > len(tok) && IsWord(r[len(tok)]) {
		return false
	}
	l.Pos += len(tok)
	return true
}

// Expect takes what must come next.
func (l *Lexer) Expect(tok string) error {
	if l.Accept(tok) {
		return nil
	}
	return l.Errorf("want %q, found %s", tok, l.Found())
}

// Run takes the bytes that ok allows.
func (l *Lexer) Run(ok func(byte) bool) string {
	r := l.Rest()
	n := 0
	for n < len(r) && ok(r[n]) {
		n++
	}
	l.Pos += n
	return r[:n]
}

// Quoted reads a quoted string.
func (l *Lexer) Quoted() (string, error) {
	r := l.Rest()
	if !strings.HasPrefix(r, `"`) {
		return "", l.Errorf("want a quoted string, found %s", l.Found())
	}
	n := 1
	for n < len(r) && r[n] != '"' && r[n] != '\n' {
		if r[n] == '\\' {
			n++
		}
		n++
	}
	if n >= len(r) || r[n] != '"' {
		return "", l.Errorf("a quoted string does not end on its line")
	}
	s, err := strconv.Unquote(r[:n+1])
	if err != nil {
		return "", l.Errorf("the quoted string %s is malformed", l.Found())
	}
	l.Pos += n + 1
	return s, nil
}

// Name reads a quoted string, or a bare one of the bytes that ok allows.
func (l *Lexer) Name(ok func(byte) bool) (string, error) {
	if strings.HasPrefix(l.Rest(), `"`) {
		return l.Quoted()
	}
	if s := l.Run(ok); s != "" {
		return s, nil
	}
	return "", l.Errorf("want a name, found %s", l.Found())
}

// Number reads the text of a number.
func (l *Lexer) Number() string {
	return l.Run(func(c byte) bool { return IsWord(c) || c == '.' || c == '-' || c == '+' })
}

// Int reads an integer.
func (l *Lexer) Int() (int64, error) {
	l.Rest()
	at := l.Pos
	n := l.Run(func(c byte) bool { return c == '-' || c >= '0' && c <= '9' })
	i, err := strconv.ParseInt(n, 10, 64)
	if err != nil {
		l.Pos = at
		return 0, l.Errorf("want an integer, found %s", l.Found())
	}
	return i, nil
}

// Expr reads an index expression.
func (l *Lexer) Expr() (sym.Expr, error) {
	r := l.Rest()
	// An expression ends at the latest with its line; the parser looks no further. A line may have many.
	if l.Pos >= l.eol {
		if l.eol = len(l.s); strings.IndexByte(r, '\n') >= 0 {
			l.eol = l.Pos + strings.IndexByte(r, '\n')
		}
	}
	r = l.s[l.Pos:l.eol]
	e, left, err := sym.ParsePrefix(r)
	if err != nil {
		return sym.Expr{}, l.Errorf("want an expression: %w", err)
	}
	l.Pos += len(r) - len(left)
	return e, nil
}

// Items reads a list between two brackets, with commas.
func (l *Lexer) Items(open, end string, item func() error) error {
	if err := l.Expect(open); err != nil {
		return err
	}
	if l.Accept(end) {
		return nil
	}
	for {
		if err := item(); err != nil {
			return err
		}
		if l.Accept(end) {
			return nil
		}
		if !l.Accept(",") {
			return l.Errorf("want \",\" or %q, found %s", end, l.Found())
		}
	}
}

// ListOf reads what is between two brackets, with commas.
func ListOf[T any](l *Lexer, open, end string, item func() (T, error)) ([]T, error) {
	out := []T{}
	err := l.Items(open, end, func() error {
		x, err := item()
		out = append(out, x)
		return err
	})
	return out, err
}

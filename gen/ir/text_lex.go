package ir

import (
	"fmt"
	"strconv"
	"strings"

	"rules_dnn/gen/sym"
)

// lexer reads the text form's words, names and numbers.
type lexer struct {
	s   string
	pos int
	eol int // the end of the line of the last expression
}

// errorf is an error that tells the line.
func (l *lexer) errorf(format string, args ...any) error {
	line := 1 + strings.Count(l.s[:min(l.pos, len(l.s))], "\n")
	return fmt.Errorf("line %d: %w", line, fmt.Errorf(format, args...))
}

// rest is the unread text after white space and comments.
func (l *lexer) rest() string {
	for l.pos < len(l.s) {
		switch c := l.s[l.pos]; {
		case c == ' ' || c == '\n' || c == '\t' || c == '\r':
			l.pos++
		case c == '#':
			n := strings.IndexByte(l.s[l.pos:], '\n')
			if n < 0 {
				n = len(l.s) - l.pos
			}
			l.pos += n
		default:
			return l.s[l.pos:]
		}
	}
	return ""
}

// found is what comes next, for messages.
func (l *lexer) found() string {
	r := l.rest()
	if r == "" {
		return "the end"
	}
	if i := strings.IndexByte(r, '\n'); i >= 0 {
		r = r[:i]
	}
	return strconv.QuoteToASCII(r[:min(len(r), 40)])
}

// accept takes the punctuation or word if it comes next.
func (l *lexer) accept(tok string) bool {
	r := l.rest()
	if !strings.HasPrefix(r, tok) {
		return false
	}
	if isWord(tok[0]) && len(r) > len(tok) && isWord(r[len(tok)]) {
		return false
	}
	l.pos += len(tok)
	return true
}

func (l *lexer) expect(tok string) error {
	if l.accept(tok) {
		return nil
	}
	return l.errorf("want %q, found %s", tok, l.found())
}

// run takes the bytes that ok allows.
func (l *lexer) run(ok func(byte) bool) string {
	r := l.rest()
	n := 0
	for n < len(r) && ok(r[n]) {
		n++
	}
	l.pos += n
	return r[:n]
}

// quoted reads a quoted string.
func (l *lexer) quoted() (string, error) {
	r := l.rest()
	if !strings.HasPrefix(r, `"`) {
		return "", l.errorf("want a quoted string, found %s", l.found())
	}
	n := 1
	for n < len(r) && r[n] != '"' && r[n] != '\n' {
		if r[n] == '\\' {
			n++
		}
		n++
	}
	if n >= len(r) || r[n] != '"' {
		return "", l.errorf("a quoted string does not end on its line")
	}
	s, err := strconv.Unquote(r[:n+1])
	if err != nil {
		return "", l.errorf("the quoted string %s is malformed", l.found())
	}
	l.pos += n + 1
	return s, nil
}

// name reads a quoted string, or a bare one of the bytes that ok allows.
func (l *lexer) name(ok func(byte) bool) (string, error) {
	if strings.HasPrefix(l.rest(), `"`) {
		return l.quoted()
	}
	if s := l.run(ok); s != "" {
		return s, nil
	}
	return "", l.errorf("want a name, found %s", l.found())
}

// number reads the text of a number.
func (l *lexer) number() string {
	return l.run(func(c byte) bool { return isWord(c) || c == '.' || c == '-' || c == '+' })
}

func (l *lexer) int() (int64, error) {
	l.rest()
	at := l.pos
	n := l.run(func(c byte) bool { return c == '-' || c >= '0' && c <= '9' })
	i, err := strconv.ParseInt(n, 10, 64)
	if err != nil {
		l.pos = at
		return 0, l.errorf("want an integer, found %s", l.found())
	}
	return i, nil
}

func (l *lexer) expr() (sym.Expr, error) {
	r := l.rest()
	// An expression ends at the latest with its line; the parser looks no further. A line may have many.
	if l.pos >= l.eol {
		if l.eol = len(l.s); strings.IndexByte(r, '\n') >= 0 {
			l.eol = l.pos + strings.IndexByte(r, '\n')
		}
	}
	r = l.s[l.pos:l.eol]
	e, left, err := sym.ParsePrefix(r)
	if err != nil {
		return sym.Expr{}, l.errorf("want an expression: %w", err)
	}
	l.pos += len(r) - len(left)
	return e, nil
}

// items reads a list between two brackets, with commas.
func (l *lexer) items(open, end string, item func() error) error {
	if err := l.expect(open); err != nil {
		return err
	}
	if l.accept(end) {
		return nil
	}
	for {
		if err := item(); err != nil {
			return err
		}
		if l.accept(end) {
			return nil
		}
		if !l.accept(",") {
			return l.errorf("want \",\" or %q, found %s", end, l.found())
		}
	}
}

func listOf[T any](l *lexer, open, end string, item func() (T, error)) ([]T, error) {
	out := []T{}
	err := l.items(open, end, func() error {
		x, err := item()
		out = append(out, x)
		return err
	})
	return out, err
}

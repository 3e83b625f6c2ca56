package onnx

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"rules_dnn/gen/base/limit"
)

// refusal is an error about something that ONNX has and the compiler does not
// support, in contrast to a malformed model. All refusals are reported together.
type refusal struct{ error }

func refusef(format string, args ...any) error { return refusal{fmt.Errorf(format, args...)} }

func isRefusal(err error) bool { var r refusal; return errors.As(err, &r) }

// lineWidth is the most characters of a line of words in a message.
const lineWidth = 98

// show quotes a name of the model, which may be anything, for a message.
func show(name string) string {
	cut := ""
	if len(name) > limit.Shown {
		name, cut = name[:limit.Shown], "..."
	}
	return strconv.QuoteToASCII(name) + cut
}

// list joins the first entries of a list.
func list(entries []string) string {
	if len(entries) <= limit.Listed {
		return strings.Join(entries, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(entries[:limit.Listed], ", "), len(entries)-limit.Listed)
}

// problems are the refusals met so far.
type problems struct {
	lines []string
	seen  map[string]bool
	// operators are those that are supported, where a node has none of them.
	operators []string
}

func (p *problems) add(format string, args ...any) {
	line := fmt.Sprintf(format, args...)
	if !p.seen[line] {
		if p.seen == nil {
			p.seen = map[string]bool{}
		}
		p.seen[line] = true
		p.lines = append(p.lines, line)
	}
}

func (p *problems) err() error {
	if len(p.lines) == 0 {
		return nil
	}
	shown, more := p.lines, ""
	if len(shown) > limit.Listed {
		shown, more = shown[:limit.Listed], fmt.Sprintf("\n  and %d more", len(shown)-limit.Listed)
	}
	if len(p.operators) > 0 {
		more += "\nsupported operators are:\n  " + strings.Join(wrapped(p.operators), "\n  ")
	}
	return fmt.Errorf("the model uses unsupported features:\n  %s%s", strings.Join(shown, "\n  "), more)
}

// wrapped joins words by commas to lines.
func wrapped(words []string) []string {
	var lines []string
	line := ""
	for i, w := range words {
		if i < len(words)-1 {
			w += ","
		}
		switch {
		case line == "":
			line = w
		case len(line)+1+len(w) > lineWidth:
			lines, line = append(lines, line), w
		default:
			line += " " + w
		}
	}
	return append(lines, line)
}

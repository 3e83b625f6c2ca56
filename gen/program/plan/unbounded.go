package plan

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"rules_dnn/gen/base/limit"
)

// BoundError reports that nothing bounds the memory of values whose shapes the run computes.
type BoundError struct {
	// Names are the symbols that a user has to bound, in order; none where bounds of symbols do not
	// bound what is made of them.
	Names []string
	what  string
}

func (e *BoundError) Error() string { return e.what }

// unbounded are the sizes of a program that nothing bounds: one message names all symbols that a user has to
// bound, who would otherwise meet them one by one.
type unbounded struct {
	where []string // each size
	names []string // symbols to bound
	seen  map[string]bool
	other *BoundError // the first that bounds of symbols do not help
}

// note keeps an error about a size that nothing bounds; other errors it gives back. Where is what the size is of.
func (u *unbounded) note(err error, where string) error {
	var b *BoundError
	switch {
	case err == nil:
		return nil
	case !errors.As(err, &b):
		return fmt.Errorf("%s: %w", where, err)
	case b.Names == nil && u.other == nil:
		u.other = b
	}
	u.where = append(u.where, where)
	for _, name := range b.Names {
		if u.seen == nil {
			u.seen = map[string]bool{}
		}
		if !u.seen[name] {
			u.seen[name] = true
			u.names = append(u.names, name)
		}
	}
	return nil
}

func (u *unbounded) any() bool { return len(u.where) > 0 }

// err is the message about all of them, or nil.
func (u *unbounded) err(p *Program) error {
	if !u.any() {
		return nil
	}
	where := u.where[0]
	if more := len(u.where) - 1; more > 0 {
		where += fmt.Sprintf(" (and %d more)", more)
	}
	if u.names == nil {
		return fmt.Errorf("%s: %w", where, u.other)
	}
	return fmt.Errorf("%s: %w", where, p.openError(u.names))
}

// openError says that the symbols are to be bounded, and how.
func (p *Program) openError(open []string) *BoundError {
	shown := open[:min(len(open), limit.Listed)]
	var what, dims []string
	for _, name := range shown {
		what = append(what, fmt.Sprintf("%s, which %s computes", name, p.computes(name)))
		least := int64(0)
		if p.symbol(name).Lo < 0 {
			least = -1000
		}
		dims = append(dims, fmt.Sprintf("\"%s\": \"%d..1000\"", name, least))
	}
	it, more := "it", ""
	if len(open) > 1 {
		it = "them"
	}
	if len(open) > len(shown) {
		more = fmt.Sprintf(", nor %d more", len(open)-len(shown))
		dims = append(dims, "...")
	}
	return &BoundError{slices.Clone(open), fmt.Sprintf("nothing bounds %s%s; bound %s, for example with dims = {%s}", strings.Join(what, ", nor "), more, it, strings.Join(dims, ", "))}
}

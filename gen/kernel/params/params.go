// Package params is what proposers of schedules may choose, as data: the parameters of an algorithm for a block, the values that each may have,
// and which of them go together. What a proposer makes by itself is a point of its space, and of any other point it proposes a schedule, too: a
// search walks the space, and a tuning record names points of it.
package params

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Param is a parameter: its name and the values that it may have, ascending.
type Param struct {
	Name   string
	Values []int64
}

// Space is the parameters of an algorithm for a block.
type Space struct {
	Algorithm string
	Params    []Param
	// Fits reports whether values go together, one of each parameter in their order; nil: all do.
	Fits func(values []int64) bool
}

// Point is an algorithm, and a value of each of its parameters.
type Point struct {
	Algorithm string
	Values    []Value
}

// Value is that of a parameter.
type Value struct {
	Name string
	N    int64
}

// Error is of a point that is none of a space.
type Error struct{ text string }

func (e *Error) Error() string { return e.text }

// Of is a point of the space; values are in the order of its parameters.
func (s *Space) Of(values ...int64) *Point {
	p := &Point{Algorithm: s.Algorithm}
	for i, x := range s.Params {
		p.Values = append(p.Values, Value{x.Name, values[i]})
	}
	return p
}

// Check reports how a point is none of the space's: what a record names is no better known than any other input.
func (s *Space) Check(p *Point) error {
	if p.Algorithm != s.Algorithm || len(p.Values) != len(s.Params) {
		return &Error{fmt.Sprintf("%q does not have the parameters of %s; want %s", p, s.Algorithm, s.names())}
	}
	values := make([]int64, len(p.Values))
	for i, v := range p.Values {
		x := s.Params[i]
		if v.Name != x.Name {
			return &Error{fmt.Sprintf("%q does not have the parameters of %s; want %s", p, s.Algorithm, s.names())}
		}
		if _, found := slices.BinarySearch(x.Values, v.N); !found {
			return &Error{fmt.Sprintf("%s=%d in %q: want one of %s", v.Name, v.N, p, list(x.Values))}
		}
		values[i] = v.N
	}
	if s.Fits != nil && !s.Fits(values) {
		return &Error{fmt.Sprintf("the values of %q cannot be combined", p)}
	}
	return nil
}

func (s *Space) names() string {
	var out []string
	for _, x := range s.Params {
		out = append(out, x.Name)
	}
	return strings.Join(out, ", ")
}

// mostListed is how many values an error names.
const mostListed = 16

func list(values []int64) string {
	var out []string
	for i, n := range values {
		if i == mostListed {
			out = append(out, "...")
			break
		}
		out = append(out, strconv.FormatInt(n, 10))
	}
	return strings.Join(out, ", ")
}

// Get is the value of a parameter; false where nothing is given, or not this one.
func (p *Point) Get(name string) (int64, bool) {
	if p == nil {
		return 0, false
	}
	for _, v := range p.Values {
		if v.Name == name {
			return v.N, true
		}
	}
	return 0, false
}

// Or is the parameter of a name, or what is chosen where the point has none or is nil.
func (p *Point) Or(name string, chosen int64) int64 {
	if n, ok := p.Get(name); ok {
		return n
	}
	return chosen
}

// String is the text that Parse reads: the algorithm, then name=value of each parameter.
func (p *Point) String() string {
	var out strings.Builder
	out.WriteString(p.Algorithm)
	for _, v := range p.Values {
		fmt.Fprintf(&out, " %s=%d", v.Name, v.N)
	}
	return out.String()
}

// Most bytes of a point's text.
const maxText = 512

// Parse reads the text that String prints.
func Parse(text string) (*Point, error) {
	if len(text) > maxText {
		return nil, fmt.Errorf("parameters of %d bytes; want at most %d", len(text), maxText)
	}
	p := &Point{}
	for i, word := range strings.Fields(text) {
		name, number, ok := strings.Cut(word, "=")
		n, err := strconv.ParseInt(number, 10, 64)
		switch {
		case !ok && len(p.Values) == 0: // algorithms may have several words
			p.Algorithm = strings.TrimSpace(p.Algorithm + " " + word)
			continue
		case i == 0 || !ok || name == "" || err != nil:
			return nil, fmt.Errorf("parameters %q: %q is not NAME=NUMBER; want an algorithm and its parameters, as in \"contraction rows=6 vectors=4\"", text, word)
		}
		if _, twice := p.Get(name); twice {
			return nil, fmt.Errorf("parameters %q: %s is given twice", text, name)
		}
		p.Values = append(p.Values, Value{name, n})
	}
	if p.Algorithm == "" || p.String() != text {
		return nil, fmt.Errorf("parameters %q: want an algorithm and its parameters with one space between them, as in \"contraction rows=6 vectors=4\"", text)
	}
	return p, nil
}

// Ascending are values in order, each once.
func Ascending(values ...int64) []int64 {
	slices.Sort(values)
	return slices.Compact(values)
}

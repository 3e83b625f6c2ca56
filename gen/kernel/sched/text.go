package sched

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"strings"

	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/layout"
)

// String is the text that Parse reads.
func (s *Schedule) String() string {
	var b strings.Builder
	for i := range s.Stages {
		s.Stages[i].print(&b, i)
	}
	for _, v := range s.Values {
		v.print(&b)
	}
	return b.String()
}

// Digest is of the text.
func (s *Schedule) Digest() string {
	sum := sha256.Sum256([]byte(s.String()))
	return hex.EncodeToString(sum[:4])
}

func (s *Stage) print(b *strings.Builder, number int) {
	fmt.Fprintf(b, "stage %d", number)
	if s.At != Root {
		fmt.Fprintf(b, " at %d.%s", s.At.Stage, s.At.Loop)
	}
	b.WriteByte('\n')
	for _, r := range s.Regions {
		fmt.Fprintf(b, "  region %s = %d from %s", r.Axis, r.Extent, r.First)
		if r.Var != "" {
			fmt.Fprintf(b, "%s%s", asWord, r.Var)
		}
		b.WriteByte('\n')
	}
	for _, x := range s.Splits {
		fmt.Fprintf(b, "  split %s = %s %s*%d\n", x.Axis, x.Outer, x.Inner, x.Size)
	}
	for _, j := range s.Joins {
		fmt.Fprintf(b, "  join %s = %s\n", j.Name, strings.Join(j.Axes, " "))
	}
	if s.Sums != Arena {
		fmt.Fprintf(b, "  %s %s\n", sumsWord, s.Sums)
	}
	if s.Inside {
		fmt.Fprintf(b, "  %s\n", insideWord)
	}
	if s.Ahead {
		fmt.Fprintf(b, "  %s\n", aheadWord)
	}
	if s.Tile != nil {
		s.Tile.print(b)
	}
	for _, l := range s.Loops {
		fmt.Fprintf(b, "  %s %s = %s", l.Kind, l.Var, l.Axis)
		if l.Size > 0 {
			fmt.Fprintf(b, "*%d", l.Size)
		}
		if l.Edge != Exact {
			fmt.Fprintf(b, " %s", l.Edge)
		}
		if l.Stored {
			b.WriteString(storedWord)
		}
		b.WriteByte('\n')
	}
}

func (v Value) print(b *strings.Builder) {
	fmt.Fprintf(b, "value %s: %s in %s", source(v.Of), v.Parts, v.Space)
	if v.Encoding != "" {
		fmt.Fprintf(b, ", encoding %s", v.Encoding)
	}
	if v.Fold.Points > 0 {
		fmt.Fprintf(b, ", %d points of axis %d", v.Fold.Points, v.Fold.Axis)
	}
	if v.Claim > 0 {
		fmt.Fprintf(b, ", claimed %d ahead", v.Claim)
	}
	if v.Fetch > 0 {
		fmt.Fprintf(b, ", fetched %d ahead", v.Fetch)
	}
	if v.Margin != (Margin{}) {
		fmt.Fprintf(b, ", margin %d and %d", v.Margin.Before, v.Margin.After)
	}
	b.WriteByte('\n')
}

// storedWord ends a loop over what is stored, asWord precedes a region's variable, insideWord and aheadWord are lines of their own, and sumsWord begins one.
const storedWord, asWord, insideWord, aheadWord, sumsWord = " stored", " as ", "inside", "ahead", "sums"

func source(s te.Source) string {
	if !s.Stage {
		return fmt.Sprintf("operand %d", s.N)
	}
	return fmt.Sprintf("stage %d.%d", s.N, s.Part)
}

// Most lines of a schedule's text, and bytes of one.
const (
	maxLines = 4096
	maxLine  = 1024
	maxName  = 64
)

// Parse reads the text that String prints.
func Parse(text string) (*Schedule, error) {
	s := &Schedule{}
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if len(lines) > maxLines {
		return nil, fmt.Errorf("schedule of %d lines; want at most %d", len(lines), maxLines)
	}
	for i, l := range lines {
		if len(l) > maxLine {
			return nil, fmt.Errorf("line %d of the schedule has %d bytes; want at most %d", i+1, len(l), maxLine)
		}
		if err := s.parse(l); err != nil {
			return nil, fmt.Errorf("line %d of the schedule, %q: %w", i+1, l, err)
		}
	}
	return s, nil
}

// isName reports whether a text can name a loop or an axis.
func isName(s string) bool { return len(s) <= maxName && name.MatchString(s) }

var name = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_]*$`)

// parse reads a line.
func (s *Schedule) parse(line string) error {
	word, rest, _ := strings.Cut(strings.TrimPrefix(line, "  "), " ")
	switch inner := strings.HasPrefix(line, "  "); {
	case word == "stage" && !inner:
		return s.parseStage(rest)
	case word == "value" && !inner:
		return s.parseValue(rest)
	case !inner:
		return fmt.Errorf("want stage or value")
	case len(s.Stages) == 0 || len(s.Values) > 0:
		return fmt.Errorf("it does not belong to a stage")
	}
	t := &s.Stages[len(s.Stages)-1]
	switch {
	case word == "tile":
		return t.parseTile(rest)
	case word == insideWord && rest == "":
		t.Inside = true
		return nil
	case word == aheadWord && rest == "":
		t.Ahead = true
		return nil
	case word == sumsWord:
		var err error
		t.Sums, err = lookup[Space](spaces[:], rest, "space")
		return err
	}
	of, what, ok := strings.Cut(rest, " = ")
	if !ok || !isName(of) {
		return fmt.Errorf("want %s NAME and its definition", word)
	}
	switch word {
	case "region":
		return t.parseRegion(of, what)
	case "split":
		return t.parseSplit(of, what)
	case "join":
		t.Joins = append(t.Joins, Join{of, strings.Fields(what)})
		return nil
	}
	return t.parseLoop(word, of, what)
}

func (s *Schedule) parseStage(text string) error {
	var n int
	t := Stage{At: Root}
	number, at, placed := strings.Cut(text, " at ")
	if _, err := fmt.Sscanf(number, "%d", &n); err != nil || n != len(s.Stages) {
		return fmt.Errorf("want stage %d", len(s.Stages))
	}
	if placed {
		stage, loop, ok := strings.Cut(at, ".")
		if _, err := fmt.Sscanf(stage, "%d", &t.At.Stage); err != nil || !ok || !isName(loop) {
			return fmt.Errorf("want at STAGE.LOOP")
		}
		t.At.Loop = loop
	}
	s.Stages = append(s.Stages, t)
	return nil
}

func (t *Stage) parseRegion(axis, text string) error {
	extent, first, ok := strings.Cut(text, " from ")
	first, as, named := strings.Cut(first, asWord)
	r := Region{Axis: axis, Var: as}
	if _, err := fmt.Sscanf(extent, "%d", &r.Extent); err != nil || !ok || named && !isName(as) {
		return fmt.Errorf("want region AXIS = EXTENT from FIRST, or from FIRST as NAME")
	}
	var err error
	r.First, err = sym.Parse(first)
	t.Regions = append(t.Regions, r)
	return err
}

func (t *Stage) parseSplit(axis, text string) error {
	x := Split{Axis: axis}
	names, size, _ := strings.Cut(text, "*")
	outer, inner, ok := strings.Cut(names, " ")
	x.Outer, x.Inner = outer, inner
	if _, err := fmt.Sscanf(size, "%d", &x.Size); err != nil || !ok || x.Size < 1 || !isName(outer) || !isName(inner) {
		return fmt.Errorf("want split AXIS = OUTER INNER*SIZE with a size from 1")
	}
	t.Splits = append(t.Splits, x)
	return nil
}

func (t *Stage) parseLoop(kind, name, text string) error {
	l := Loop{Var: name}
	var err error
	if l.Kind, err = lookup[Kind](kinds[:], kind, "kind of loop"); err != nil {
		return err
	}
	text, l.Stored = strings.CutSuffix(text, storedWord)
	what, edge, _ := strings.Cut(text, " ")
	if l.Edge, err = lookup[Edge](edges[:], edge, "edge"); err != nil {
		return err
	}
	axis, size, sized := strings.Cut(what, "*")
	l.Axis = axis
	if sized {
		if _, err := fmt.Sscanf(size, "%d", &l.Size); err != nil || l.Size < 1 {
			return fmt.Errorf("want AXIS*SIZE with a size from 1")
		}
	}
	t.Loops = append(t.Loops, l)
	return nil
}

func lookup[T ~uint8](names []string, name, what string) (T, error) {
	for i, n := range names {
		if n == name {
			return T(i), nil
		}
	}
	return 0, fmt.Errorf("there is no %s %q; known: %s", what, name, strings.TrimSpace(strings.Join(names, " ")))
}

func (s *Schedule) parseValue(text string) error {
	of, where, ok := strings.Cut(text, ": ")
	v := Value{}
	if _, err := fmt.Sscanf(of, "operand %d", &v.Of.N); err != nil {
		if _, err := fmt.Sscanf(of, "stage %d.%d", &v.Of.N, &v.Of.Part); err != nil || !ok {
			return fmt.Errorf("want operand N or stage N.PART, and its parts")
		}
		v.Of.Stage = true
	}
	fields := strings.Split(where, ", ")
	parts, space, _ := strings.Cut(fields[0], " in ")
	var err error
	if v.Parts, err = layout.ParseParts(parts); err != nil {
		return err
	}
	if v.Space, err = lookup[Space](spaces[:], space, "space"); err != nil {
		return err
	}
	for _, f := range fields[1:] {
		if e, ok := strings.CutPrefix(f, "encoding "); ok {
			v.Encoding = e
		} else if n, err := fmt.Sscanf(f, "claimed %d ahead", &v.Claim); n == 1 && err == nil && v.Claim > 0 {
			continue
		} else if n, err := fmt.Sscanf(f, "fetched %d ahead", &v.Fetch); n == 1 && err == nil && v.Fetch > 0 {
			continue
		} else if n, err := fmt.Sscanf(f, "margin %d and %d", &v.Margin.Before, &v.Margin.After); n == 2 && err == nil && v.Margin != (Margin{}) {
			continue
		} else if _, err := fmt.Sscanf(f, "%d points of axis %d", &v.Fold.Points, &v.Fold.Axis); err != nil || v.Fold.Points < 1 {
			return fmt.Errorf("%q: want encoding NAME, N points of axis AXIS, claimed N ahead, fetched N ahead, or margin N and N", f)
		}
	}
	s.Values = append(s.Values, v)
	return nil
}

// Package fkw stores the weights of a convolution whose kernels are pruned to patterns: PatDNN's filter-kernel-weight format
// (section 2.5.3), after its reorder of filters and kernels (2.5.2). A kernel is the taps of one filter and one input
// channel. It is either dropped as a whole, or keeps the taps of one of a few patterns, all of as many. Neighbouring filters
// may share what they keep: such a group is stored as one filter, whose weights are vectors of one element for each.
package fkw

import (
	"fmt"
	"math/bits"
	"slices"
	"strconv"
	"strings"
)

// Pattern is the taps that a kernel keeps: bit t is tap t, row by row.
type Pattern uint64

// Bounds of what the format takes.
const (
	MaxTaps     = 64      // of a kernel
	maxPatterns = 256     // of a convolution
	maxIndex    = 1 << 16 // filters, and channels: indices have 16 bits
	maxKernels  = 1 << 30 // that are stored
)

// Taps are the numbers of the pattern's taps.
func (p Pattern) Taps() []int {
	var out []int
	for rest := uint64(p); rest != 0; rest &= rest - 1 {
		out = append(out, bits.TrailingZeros64(rest))
	}
	return out
}

// MaxShare is how many filters share what they keep at most.
const MaxShare = 64

// Encoding is what code needs to know of stored weights besides their arrays.
type Encoding struct {
	Kernels  int64 // how many are stored, of filters or groups of them
	Patterns []Pattern
	// Share neighbouring filters keep the same kernels and taps; 1: each has its own.
	Share int64
	// Block is how many channels' kernels lie together, by pattern within them, so that what they read stays in the nearest
	// cache; 0: those of all channels.
	Block int64
	// Planes is how many constants keep these kernels, whose weights lie one after the other; 0: one, of which stages do not tell the plane.
	Planes int64
	// Given: filters, and the kernels of each, are in the order in which the network has them, and code finds out of each kernel which pattern it has. It
	// is there to measure what the reorder (2.5.2) gains.
	Given bool
}

// Blocks are how often so many channels' kernels lie together.
func (e *Encoding) Blocks(channels int64) int64 {
	if e.Block == 0 {
		return 1
	}
	return (channels + e.Block - 1) / e.Block
}

// Runs is how many a block of channels has of a filter, or a group of them: of each pattern, or of all.
func (e *Encoding) Runs() int64 {
	if e.Given {
		return 1
	}
	return int64(len(e.Patterns))
}

// Ends is how many elements Stride has for a filter, or a group of them.
func (e *Encoding) Ends(channels int64) int64 { return e.Blocks(channels)*e.Runs() + 1 }

// Stored is how many filters are stored: groups, where filters share what they keep.
func (e *Encoding) Stored(filters int64) int64 { return (filters + e.Share - 1) / e.Share }

// name is that of encodings in schedules.
const name = "fkw"

// String is the text that Parse reads: "fkw of 120 kernels 1b 33 d8", the patterns in hexadecimal. Before these come
// "by 36 planes", "shared by 16", "in blocks of 64" and "as given" where they are so.
func (e *Encoding) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s of %d kernels", name, e.Kernels)
	if e.Planes > 0 {
		fmt.Fprintf(&b, " by %d planes", e.Planes)
	}
	if e.Share > 1 {
		fmt.Fprintf(&b, " shared by %d", e.Share)
	}
	if e.Block > 0 {
		fmt.Fprintf(&b, " in blocks of %d", e.Block)
	}
	if e.Given {
		b.WriteString(" as given")
	}
	for _, p := range e.Patterns {
		fmt.Fprintf(&b, " %x", uint64(p))
	}
	return b.String()
}

// Parse reads what String prints.
func Parse(text string) (*Encoding, error) {
	p := &parser{text: text, fields: strings.Fields(text)}
	e := &Encoding{Share: 1}
	if !p.words(name, "of") || !p.number(&e.Kernels) || !p.words("kernels") {
		return nil, fmt.Errorf("encoding %q: want %s of N kernels, and their patterns in hexadecimal", text, name)
	}
	if p.words("by") && (!p.number(&e.Planes) || !p.words("planes")) {
		return nil, fmt.Errorf("encoding %q: want a number of planes after \"by\"", text)
	}
	if p.words("shared", "by") && !p.number(&e.Share) || p.words("in", "blocks", "of") && !p.number(&e.Block) {
		return nil, fmt.Errorf("encoding %q: want a number of filters after \"shared by\", and of channels after \"in blocks of\"", text)
	}
	e.Given = p.words("as", "given")
	for _, s := range p.fields {
		x, err := strconv.ParseUint(s, 16, 64)
		if err != nil {
			return nil, fmt.Errorf("encoding %q: %q is not a pattern; want its taps as bits, in hexadecimal", text, s)
		}
		e.Patterns = append(e.Patterns, Pattern(x))
	}
	return e, e.Check()
}

// parser reads an encoding; fields are what is left of it.
type parser struct {
	text   string
	fields []string
}

// words reads some words, if they are next.
func (p *parser) words(want ...string) bool {
	if len(p.fields) < len(want) || !slices.Equal(p.fields[:len(want)], want) {
		return false
	}
	p.fields = p.fields[len(want):]
	return true
}

func (p *parser) number(to *int64) bool {
	if len(p.fields) == 0 {
		return false
	}
	n, err := strconv.ParseInt(p.fields[0], 10, 64)
	p.fields, *to = p.fields[1:], n
	return err == nil
}

// Check refuses what the format does not take.
func (e *Encoding) Check() error {
	switch {
	case e.Kernels < 0 || e.Kernels > maxKernels:
		return fmt.Errorf("%d kernels; want 0 to %d", e.Kernels, maxKernels)
	case e.Share < 1 || e.Share > MaxShare:
		return fmt.Errorf("%d filters share what they keep; want 1 to %d", e.Share, MaxShare)
	case e.Planes < 0 || e.Planes > MaxTaps:
		return fmt.Errorf("%d planes; want 1 to %d, or none", e.Planes, MaxTaps)
	case e.Planes > 0 && e.Given:
		return fmt.Errorf("planes of unpruned kernels")
	case e.Block < 0:
		return fmt.Errorf("blocks of %d channels", e.Block)
	case len(e.Patterns) == 0 || len(e.Patterns) > maxPatterns:
		return fmt.Errorf("%d patterns; want 1 to %d", len(e.Patterns), maxPatterns)
	}
	seen := map[Pattern]bool{}
	for _, p := range e.Patterns {
		switch {
		case p == 0:
			return fmt.Errorf("a pattern without taps")
		case len(p.Taps()) != e.Entries():
			return fmt.Errorf("pattern %x has %d taps, and %x has %d; want the same number in all patterns", uint64(p), len(p.Taps()), uint64(e.Patterns[0]), e.Entries())
		case seen[p]:
			return fmt.Errorf("pattern %x occurs twice", uint64(p))
		}
		seen[p] = true
	}
	return nil
}

// Elements is how many weights are stored, and those of a plane.
func (e *Encoding) Elements() (all, plane int64) {
	plane = e.Kernels * int64(e.Entries()) * e.Share
	return max(e.Planes, 1) * plane, plane
}

// Entries is how many taps a kernel keeps.
func (e *Encoding) Entries() int { return bits.OnesCount64(uint64(e.Patterns[0])) }

// Together is how many taps of a pattern lie in one column at most, of kernels so many columns wide.
func (e *Encoding) Together(width int64) int64 {
	most := int64(0)
	for _, p := range e.Patterns {
		in := map[int64]int64{}
		for _, tap := range p.Taps() {
			in[int64(tap)%width]++
			most = max(most, in[int64(tap)%width])
		}
	}
	return most
}

// Centre is the column, of kernels so many columns wide, that most patterns have taps in.
func (e *Encoding) Centre(width int64) int64 {
	in := make([]int, width)
	for _, p := range e.Patterns {
		seen := make([]bool, width)
		for _, tap := range p.Taps() {
			seen[int64(tap)%width] = true
		}
		for c, has := range seen {
			if has {
				in[c]++
			}
		}
	}
	return int64(slices.Index(in, slices.Max(in)))
}

// Fits reports why kernels of so many taps cannot have these patterns; nil: they can.
func (e *Encoding) Fits(taps int64) error {
	if taps > MaxTaps {
		return fmt.Errorf("kernels of %d taps; want at most %d", taps, MaxTaps)
	}
	for _, p := range e.Patterns {
		if int64(bits.Len64(uint64(p))) > taps {
			return fmt.Errorf("pattern %x has a tap beyond the %d taps of a kernel", uint64(p), taps)
		}
	}
	return nil
}

// Whole is the pattern of all taps, of which there are 64 at most.
func Whole(taps int) Pattern { return Pattern(uint64(1)<<uint(taps) - 1) }

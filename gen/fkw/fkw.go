// Package fkw stores the weights of a convolution whose kernels are pruned to patterns: PatDNN's filter-kernel-weight format
// (section 2.5.3), after its reorder of filters and kernels (2.5.2). A kernel is the taps of one filter and one input
// channel. It is either dropped as a whole, or keeps the taps of one of a few patterns, all of as many.
package fkw

import (
	"fmt"
	"math/bits"
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

// Encoding is what code needs to know of stored weights besides their arrays.
type Encoding struct {
	Kernels  int64 // how many are stored
	Patterns []Pattern
}

// name is that of encodings in schedules.
const name = "fkw"

// String is the text that Parse reads: "fkw of 120 kernels 1b 33 d8", the patterns in hexadecimal.
func (e *Encoding) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s of %d kernels", name, e.Kernels)
	for _, p := range e.Patterns {
		fmt.Fprintf(&b, " %x", uint64(p))
	}
	return b.String()
}

// Parse reads what String prints.
func Parse(text string) (*Encoding, error) {
	f := strings.Fields(text)
	if len(f) < 5 || f[0] != name || f[1] != "of" || f[3] != "kernels" {
		return nil, fmt.Errorf("encoding %q: want %s of N kernels, and their patterns in hexadecimal", text, name)
	}
	e := &Encoding{}
	var err error
	if e.Kernels, err = strconv.ParseInt(f[2], 10, 64); err != nil {
		return nil, fmt.Errorf("encoding %q: %q is no number of kernels", text, f[2])
	}
	for _, s := range f[4:] {
		p, err := strconv.ParseUint(s, 16, 64)
		if err != nil {
			return nil, fmt.Errorf("encoding %q: %q is no pattern: want its taps as bits, in hexadecimal", text, s)
		}
		e.Patterns = append(e.Patterns, Pattern(p))
	}
	return e, e.Check()
}

// Check refuses what the format does not take.
func (e *Encoding) Check() error {
	switch {
	case e.Kernels < 0 || e.Kernels > maxKernels:
		return fmt.Errorf("%d kernels; want 0 to %d", e.Kernels, maxKernels)
	case len(e.Patterns) == 0 || len(e.Patterns) > maxPatterns:
		return fmt.Errorf("%d patterns; want 1 to %d", len(e.Patterns), maxPatterns)
	}
	seen := map[Pattern]bool{}
	for _, p := range e.Patterns {
		switch {
		case p == 0:
			return fmt.Errorf("a pattern without taps")
		case len(p.Taps()) != e.Entries():
			return fmt.Errorf("pattern %x has %d taps, and %x has %d: kernels keep as many", uint64(p), len(p.Taps()), uint64(e.Patterns[0]), e.Entries())
		case seen[p]:
			return fmt.Errorf("pattern %x occurs twice", uint64(p))
		}
		seen[p] = true
	}
	return nil
}

// Entries is how many taps a kernel keeps.
func (e *Encoding) Entries() int { return bits.OnesCount64(uint64(e.Patterns[0])) }

// Fits reports why kernels of so many taps cannot have these patterns; nil: they can.
func (e *Encoding) Fits(taps int64) error {
	if taps > MaxTaps {
		return fmt.Errorf("kernels of %d taps; %d at most", taps, MaxTaps)
	}
	for _, p := range e.Patterns {
		if int64(bits.Len64(uint64(p))) > taps {
			return fmt.Errorf("pattern %x has a tap beyond the %d of a kernel", uint64(p), taps)
		}
	}
	return nil
}

// Whole is the pattern of all taps, of which there are 64 at most.
func Whole(taps int) Pattern { return Pattern(uint64(1)<<uint(taps) - 1) }

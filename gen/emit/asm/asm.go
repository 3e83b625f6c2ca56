// Package asm reads the assembly that C++ compilers write, to look at the loops of kernels.
package asm

import (
	"regexp"
	"slices"
	"strings"
)

// Function is a function of a compiler's assembly: instructions without comments, with labels among them.
type Function struct {
	Lines []string
	at    map[string]int // a label's line
}

var (
	labelLine  = regexp.MustCompile(`^([.\w$]+):`)
	branchTo   = regexp.MustCompile(`(\.L\w+)$`)
	stackFrame = regexp.MustCompile(`%rsp, %rbp|\bx29, sp\b`)
	stack      = regexp.MustCompile(`\(%[re]sp|\[sp\b|^(push|pop)`)
	framed     = regexp.MustCompile(`\(%rbp|\[x29\b`)
)

// Functions parses assembly for x86-64 (AT&T) and for arm64: what stands between a function's
// label and its .size. Immediates of x86 begin with $ and those of arm64 with #.
func Functions(asm string) map[string]*Function {
	out := map[string]*Function{}
	var name string
	var f *Function
	for _, line := range strings.Split(asm, "\n") {
		if m := labelLine.FindStringSubmatch(line); m != nil {
			if f == nil && !strings.HasPrefix(m[1], ".") {
				name, f = m[1], &Function{at: map[string]int{}}
			}
			if f != nil {
				f.at[m[1]] = len(f.Lines)
			}
			continue
		}
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, ".size") {
			if f != nil {
				out[name], f = f, nil
			}
			continue
		}
		if line = clean(line); f != nil && line != "" && line[0] != '.' {
			f.Lines = append(f.Lines, line)
		}
	}
	return out
}

// clean drops comments; clang's begin with # on x86-64, where arm64 has immediates.
func clean(line string) string {
	if i := strings.Index(line, "//"); i >= 0 {
		line = line[:i]
	}
	if i := strings.Index(line, "# "); i >= 0 {
		line = line[:i]
	}
	if strings.HasPrefix(line, "#") { // #APP: an asm statement
		line = ""
	}
	return strings.TrimSpace(line)
}

// Innermost are the bodies of the loops without loops inside: from a label to a jump back to
// it. A function without loops is one body.
func (f *Function) Innermost() [][]string {
	type loop struct{ from, to int }
	var loops []loop
	for i, line := range f.Lines {
		m := branchTo.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		if from, ok := f.at[m[1]]; ok && from <= i {
			loops = append(loops, loop{from, i + 1})
		}
	}
	// A jump from the midst of a loop to what stands before it, and goes on in the midst, is no loop.
	crossing := slices.Clone(loops)
	loops = slices.DeleteFunc(loops, func(l loop) bool {
		return slices.ContainsFunc(crossing, func(o loop) bool { return l.from < o.from && o.from < l.to && l.to < o.to })
	})
	var out [][]string
	for _, l := range loops {
		if !slices.ContainsFunc(loops, func(o loop) bool { return o != l && o.from >= l.from && o.to <= l.to }) {
			out = append(out, f.Lines[l.from:l.to])
		}
	}
	if len(loops) == 0 {
		out = append(out, f.Lines)
	}
	return out
}

// StackAccesses are the instructions of a body that read or write the function's stack frame.
func (f *Function) StackAccesses(body []string) []string {
	frame := slices.ContainsFunc(f.Lines, stackFrame.MatchString)
	var out []string
	for _, line := range body {
		if stack.MatchString(line) || frame && framed.MatchString(line) {
			out = append(out, line)
		}
	}
	return out
}

// Mnemonic is an instruction without its operands.
func Mnemonic(line string) string { return strings.Fields(line)[0] }

// Count is how many instructions have one of the mnemonics.
func Count(body []string, re *regexp.Regexp) int64 {
	n := int64(0)
	for _, line := range body {
		if re.MatchString(Mnemonic(line)) {
			n++
		}
	}
	return n
}

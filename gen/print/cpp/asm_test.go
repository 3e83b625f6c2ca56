package cpp_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// function is a function of a compiler's assembly: instructions, with labels among them.
type function struct {
	lines []string
	at    map[string]int // a label's line
}

var (
	labelLine  = regexp.MustCompile(`^([.\w$]+):`)
	branchTo   = regexp.MustCompile(`(\.L\w+)$`)
	stackFrame = regexp.MustCompile(`%rsp, %rbp|\bx29, sp\b`)
	stack      = regexp.MustCompile(`\(%[re]sp|\[sp\b|^(push|pop)`)
	framed     = regexp.MustCompile(`\(%rbp|\[x29\b`)
)

// functions parses assembly for x86-64 (AT&T) and for arm64: what stands between a function's
// label and its .size. Immediates of x86 begin with $ and those of arm64 with #.
func functions(asm string) map[string]*function {
	out := map[string]*function{}
	var name string
	var f *function
	for _, line := range strings.Split(asm, "\n") {
		if m := labelLine.FindStringSubmatch(line); m != nil {
			if f == nil && !strings.HasPrefix(m[1], ".") {
				name, f = m[1], &function{at: map[string]int{}}
			}
			if f != nil {
				f.at[m[1]] = len(f.lines)
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
			f.lines = append(f.lines, line)
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

// innermost are the bodies of the loops without loops inside: from a label to a jump back to
// it. A function without loops is one body.
func (f *function) innermost() [][]string {
	type loop struct{ from, to int }
	var loops []loop
	for i, line := range f.lines {
		m := branchTo.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		if from, ok := f.at[m[1]]; ok && from <= i {
			loops = append(loops, loop{from, i + 1})
		}
	}
	var out [][]string
	for _, l := range loops {
		if !slices.ContainsFunc(loops, func(o loop) bool { return o != l && o.from >= l.from && o.to <= l.to }) {
			out = append(out, f.lines[l.from:l.to])
		}
	}
	if len(loops) == 0 {
		out = append(out, f.lines)
	}
	return out
}

// stackAccesses are the instructions of a body that read or write the function's stack frame.
func (f *function) stackAccesses(body []string) []string {
	frame := slices.ContainsFunc(f.lines, stackFrame.MatchString)
	var out []string
	for _, line := range body {
		if stack.MatchString(line) || frame && framed.MatchString(line) {
			out = append(out, line)
		}
	}
	return out
}

// mnemonic is an instruction without its operands.
func mnemonic(line string) string { return strings.Fields(line)[0] }

// count is how many instructions have one of the mnemonics.
func count(body []string, re *regexp.Regexp) int64 {
	n := int64(0)
	for _, line := range body {
		if re.MatchString(mnemonic(line)) {
			n++
		}
	}
	return n
}

// TestAssemblyIsRead: a loop within a loop, comments, other functions, frames.
func TestAssemblyIsRead(t *testing.T) {
	asm := `	.text
_ZL1aPKf:                               # @_ZL1aPKf
	xorl	%eax, %eax
.LBB0_1:                                # =>This Loop Header: Depth=1
	vmovups	%ymm1, -32(%rsp)                # 32-byte Spill
.LBB0_2:                                #   Parent Loop BB0_1 Depth=1
	#APP
	#NO_APP
	vfmadd231ps	-64(%rsp), %ymm0, %ymm2 # 32-byte Folded Reload
	vfmadd213ps	(%rbp,%rax), %ymm0, %ymm3
	cmpq	$8, %rax
	jne	.LBB0_2
# %bb.3:
	je	.LBB0_4
	jmp	.LBB0_1
.LBB0_4:
	retq
.Lfunc_end0:
	.size	_ZL1aPKf, .Lfunc_end0-_ZL1aPKf
_ZL1bPKf:                               // @_ZL1bPKf
	add	x29, sp, #16
	fmla	v0.4s, v1.4s, v2.s[3]
	ldr	q1, [x29, #16]
	str	q1, [sp, #32]                   // 16-byte Folded Spill
	ret
	.size	_ZL1bPKf, 12
`
	fs := functions(asm)
	require.Len(t, fs, 2)
	a, b := fs["_ZL1aPKf"], fs["_ZL1bPKf"]
	require.Len(t, a.innermost(), 1)
	hot := a.innermost()[0]
	assert.Len(t, hot, 4)
	assert.Equal(t, int64(2), count(hot, machines["x86_64"].fused))
	assert.Equal(t, []string{"vfmadd231ps\t-64(%rsp), %ymm0, %ymm2"}, a.stackAccesses(hot), "without a frame, %rbp is a register like others")
	require.Len(t, b.innermost(), 1)
	assert.Equal(t, []string{"add\tx29, sp, #16", "ldr\tq1, [x29, #16]", "str\tq1, [sp, #32]"}, append([]string{b.lines[0]}, b.stackAccesses(b.innermost()[0])...))
	assert.Equal(t, int64(1), count(b.lines, machines["arm64"].fused))
}

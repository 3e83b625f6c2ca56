package asm

import (
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

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
	fs := Functions(asm)
	require.Len(t, fs, 2)
	a, b := fs["_ZL1aPKf"], fs["_ZL1bPKf"]
	require.Len(t, a.Innermost(), 1)
	hot := a.Innermost()[0]
	assert.Len(t, hot, 4)
	assert.Equal(t, int64(2), Count(hot, regexp.MustCompile(`^vfmadd`)))
	assert.Equal(t, []string{"vfmadd231ps\t-64(%rsp), %ymm0, %ymm2"}, a.StackAccesses(hot), "without a frame, %rbp is a register like others")
	require.Len(t, b.Innermost(), 1)
	assert.Equal(t, []string{"add\tx29, sp, #16", "ldr\tq1, [x29, #16]", "str\tq1, [sp, #32]"}, append([]string{b.Lines[0]}, b.StackAccesses(b.Innermost()[0])...))
	assert.Equal(t, int64(1), Count(b.Lines, regexp.MustCompile(`^fmla$`)))
}

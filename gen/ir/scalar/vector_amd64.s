#include "textflag.h"

// Eight elements at a time; n is a multiple of 8. Each element is what Go's own operation gives.

// OPERANDS are those of a function of two vectors.
#define OPERANDS \
	MOVQ dst+0(FP), DI \
	MOVQ a+8(FP), SI \
	MOVQ b+16(FP), DX \
	MOVQ n+24(FP), CX

#define BINARY(op) \
	OPERANDS \
	XORQ AX, AX \
loop: \
	VMOVUPS (SI)(AX*4), Y0 \
	VMOVUPS (DX)(AX*4), Y1 \
	op Y1, Y0, Y2 \
	VMOVUPS Y2, (DI)(AX*4) \
	ADDQ $8, AX \
	CMPQ AX, CX \
	JLT loop \
	VZEROUPPER \
	RET

#define PICK(predicate) \
	MOVQ dst+0(FP), DI \
	MOVQ a+8(FP), SI \
	MOVQ b+16(FP), DX \
	MOVQ c+24(FP), R8 \
	MOVQ d+32(FP), R9 \
	MOVQ n+40(FP), CX \
	XORQ AX, AX \
loop: \
	VMOVUPS   (SI)(AX*4), Y0 \
	VCMPPS    $predicate, (DX)(AX*4), Y0, Y1 \
	VMOVUPS   (R9)(AX*4), Y2 \
	VBLENDVPS Y1, (R8)(AX*4), Y2, Y2 \
	VMOVUPS   Y2, (DI)(AX*4) \
	ADDQ      $8, AX \
	CMPQ      AX, CX \
	JLT       loop \
	VZEROUPPER \
	RET

// func addAVX2(dst, a, b *float32, n int)
TEXT ·addAVX2(SB), NOSPLIT, $0-32
	BINARY(VADDPS)

// func subAVX2(dst, a, b *float32, n int)
TEXT ·subAVX2(SB), NOSPLIT, $0-32
	BINARY(VSUBPS)

// func mulAVX2(dst, a, b *float32, n int)
TEXT ·mulAVX2(SB), NOSPLIT, $0-32
	BINARY(VMULPS)

// func divAVX2(dst, a, b *float32, n int)
TEXT ·divAVX2(SB), NOSPLIT, $0-32
	BINARY(VDIVPS)

// VMAXPS gives b where a or b is no number; a is wanted where it is none.
// func maxAVX2(dst, a, b *float32, n int)
TEXT ·maxAVX2(SB), NOSPLIT, $0-32
	OPERANDS
	XORQ AX, AX

max:
	VMOVUPS   (SI)(AX*4), Y0
	VMOVUPS   (DX)(AX*4), Y1
	VMAXPS    Y1, Y0, Y2
	VCMPPS    $3, Y0, Y0, Y3
	VBLENDVPS Y3, Y0, Y2, Y2
	VMOVUPS   Y2, (DI)(AX*4)
	ADDQ      $8, AX
	CMPQ      AX, CX
	JLT       max
	VZEROUPPER
	RET

// func pickGreaterAVX2(dst, a, b, c, d *float32, n int)
TEXT ·pickGreaterAVX2(SB), NOSPLIT, $0-48
	PICK(0x1e)

// func pickEqualAVX2(dst, a, b, c, d *float32, n int)
TEXT ·pickEqualAVX2(SB), NOSPLIT, $0-48
	PICK(0)

// func cpuid(leaf, sub uint32) (a, b, c, d uint32)
TEXT ·cpuid(SB), NOSPLIT, $0-24
	MOVL leaf+0(FP), AX
	MOVL sub+4(FP), CX
	CPUID
	MOVL AX, a+8(FP)
	MOVL BX, b+12(FP)
	MOVL CX, c+16(FP)
	MOVL DX, d+20(FP)
	RET

// func xgetbv() (low, high uint32)
TEXT ·xgetbv(SB), NOSPLIT, $0-8
	XORL CX, CX
	XGETBV
	MOVL AX, low+0(FP)
	MOVL DX, high+4(FP)
	RET

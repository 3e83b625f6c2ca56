#include "textflag.h"

// Sums of row i are in Y(2i) and Y(2i+1). Products are rounded before they are added: no FMA.

#define ROW(at, s0, s1, p, q, r) \
	VBROADCASTSS at(BX), p \
	VMULPS Y8, p, q \
	VMULPS Y9, p, r \
	VADDPS q, s0, s0 \
	VADDPS r, s1, s1

// func tileAVX2(sum, x, y *float32, depth int64)
TEXT ·tileAVX2(SB), NOSPLIT, $0-32
	MOVQ sum+0(FP), AX
	MOVQ x+8(FP), BX
	MOVQ y+16(FP), CX
	MOVQ depth+24(FP), DX
	VMOVUPS 0(AX), Y0
	VMOVUPS 32(AX), Y1
	VMOVUPS 64(AX), Y2
	VMOVUPS 96(AX), Y3
	VMOVUPS 128(AX), Y4
	VMOVUPS 160(AX), Y5
	VMOVUPS 192(AX), Y6
	VMOVUPS 224(AX), Y7

loop:
	VMOVUPS 0(CX), Y8
	VMOVUPS 32(CX), Y9
	ROW(0, Y0, Y1, Y10, Y11, Y12)
	ROW(4, Y2, Y3, Y13, Y14, Y15)
	ROW(8, Y4, Y5, Y10, Y11, Y12)
	ROW(12, Y6, Y7, Y13, Y14, Y15)
	ADDQ $16, BX
	ADDQ $64, CX
	DECQ DX
	JNZ  loop

	VMOVUPS Y0, 0(AX)
	VMOVUPS Y1, 32(AX)
	VMOVUPS Y2, 64(AX)
	VMOVUPS Y3, 96(AX)
	VMOVUPS Y4, 128(AX)
	VMOVUPS Y5, 160(AX)
	VMOVUPS Y6, 192(AX)
	VMOVUPS Y7, 224(AX)
	VZEROUPPER
	RET

#define STRIPROW(from, s0, s1, p, q, r) \
	VBROADCASTSS (from)(R13*1), p \
	VMULPS Y8, p, q \
	VMULPS Y9, p, r \
	VADDPS q, s0, s0 \
	VADDPS r, s1, s1

// func stripAVX2(sum, x0, x1, x2, x3, y0, y1 *float32, steps *step, n int64)
TEXT ·stripAVX2(SB), NOSPLIT, $0-72
	MOVQ sum+0(FP), AX
	MOVQ x0+8(FP), BX
	MOVQ x1+16(FP), CX
	MOVQ x2+24(FP), SI
	MOVQ x3+32(FP), DI
	MOVQ y0+40(FP), R8
	MOVQ y1+48(FP), R9
	MOVQ steps+56(FP), R10
	MOVQ n+64(FP), DX
	VMOVUPS 0(AX), Y0
	VMOVUPS 32(AX), Y1
	VMOVUPS 64(AX), Y2
	VMOVUPS 96(AX), Y3
	VMOVUPS 128(AX), Y4
	VMOVUPS 160(AX), Y5
	VMOVUPS 192(AX), Y6
	VMOVUPS 224(AX), Y7

step:
	MOVQ 0(R10), R12
	MOVQ 8(R10), R13
	VMOVUPS (R8)(R12*1), Y8
	VMOVUPS (R9)(R12*1), Y9
	STRIPROW(BX, Y0, Y1, Y10, Y11, Y12)
	STRIPROW(CX, Y2, Y3, Y13, Y14, Y15)
	STRIPROW(SI, Y4, Y5, Y10, Y11, Y12)
	STRIPROW(DI, Y6, Y7, Y13, Y14, Y15)
	ADDQ $16, R10
	DECQ DX
	JNZ  step

	VMOVUPS Y0, 0(AX)
	VMOVUPS Y1, 32(AX)
	VMOVUPS Y2, 64(AX)
	VMOVUPS Y3, 96(AX)
	VMOVUPS Y4, 128(AX)
	VMOVUPS Y5, 160(AX)
	VMOVUPS Y6, 192(AX)
	VMOVUPS Y7, 224(AX)
	VZEROUPPER
	RET

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

#include "textflag.h"

// Sums of row i are in Y(2i) and Y(2i+1). Products are rounded before they are added: no FMA.

#define SUMS \
	VMOVUPS 0(AX), Y0 \
	VMOVUPS 32(AX), Y1 \
	VMOVUPS 64(AX), Y2 \
	VMOVUPS 96(AX), Y3 \
	VMOVUPS 128(AX), Y4 \
	VMOVUPS 160(AX), Y5 \
	VMOVUPS 192(AX), Y6 \
	VMOVUPS 224(AX), Y7

#define STORED \
	VMOVUPS Y0, 0(AX) \
	VMOVUPS Y1, 32(AX) \
	VMOVUPS Y2, 64(AX) \
	VMOVUPS Y3, 96(AX) \
	VMOVUPS Y4, 128(AX) \
	VMOVUPS Y5, 160(AX) \
	VMOVUPS Y6, 192(AX) \
	VMOVUPS Y7, 224(AX) \
	VZEROUPPER \
	RET

// ROW adds the products of an element and of a row of Y8 and Y9.
#define ROW(x, s0, s1, p, q, r) \
	VBROADCASTSS x, p \
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
	SUMS

loop:
	VMOVUPS 0(CX), Y8
	VMOVUPS 32(CX), Y9
	ROW(0(BX), Y0, Y1, Y10, Y11, Y12)
	ROW(4(BX), Y2, Y3, Y13, Y14, Y15)
	ROW(8(BX), Y4, Y5, Y10, Y11, Y12)
	ROW(12(BX), Y6, Y7, Y13, Y14, Y15)
	ADDQ $16, BX
	ADDQ $64, CX
	DECQ DX
	JNZ  loop

	STORED

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
	SUMS

step:
	MOVQ 0(R10), R12
	MOVQ 8(R10), R13
	VMOVUPS (R8)(R12*1), Y8
	VMOVUPS (R9)(R12*1), Y9
	ROW((BX)(R13*1), Y0, Y1, Y10, Y11, Y12)
	ROW((CX)(R13*1), Y2, Y3, Y13, Y14, Y15)
	ROW((SI)(R13*1), Y4, Y5, Y10, Y11, Y12)
	ROW((DI)(R13*1), Y6, Y7, Y13, Y14, Y15)
	ADDQ $16, R10
	DECQ DX
	JNZ  step

	STORED

// ADDED adds the products of Y8 and of a group's lanes.
#define ADDED(y, p, s) \
	VMULPS (y)(R13*1), Y8, p \
	VADDPS p, s, s

// func rowAVX2(sum *float32, y *[abreast]*float32, entries *entry, n int64)
TEXT ·rowAVX2(SB), NOSPLIT, $0-32
	MOVQ sum+0(FP), AX
	MOVQ y+8(FP), DX
	MOVQ entries+16(FP), R10
	MOVQ 0(DX), BX
	MOVQ 8(DX), CX
	MOVQ 16(DX), SI
	MOVQ 24(DX), DI
	MOVQ 32(DX), R8
	MOVQ 40(DX), R9
	MOVQ 48(DX), R11
	MOVQ 56(DX), R12
	MOVQ n+24(FP), DX
	SUMS

entry:
	MOVQ         0(R10), R13
	VBROADCASTSS 8(R10), Y8
	ADDED(BX, Y9, Y0)
	ADDED(CX, Y10, Y1)
	ADDED(SI, Y11, Y2)
	ADDED(DI, Y12, Y3)
	ADDED(R8, Y13, Y4)
	ADDED(R9, Y14, Y5)
	ADDED(R11, Y15, Y6)
	ADDED(R12, Y9, Y7)
	ADDQ         $16, R10
	DECQ         DX
	JNZ          entry

	STORED

// func transposeAVX2(dst, src *float32, dstStep, srcStep, blocks int64)
// Each block is eight rows of eight, which become columns; rows are steps of bytes apart, and blocks 32 bytes along the source's rows.
TEXT ·transposeAVX2(SB), NOSPLIT, $0-40
	MOVQ dst+0(FP), DI
	MOVQ src+8(FP), SI
	MOVQ dstStep+16(FP), R8
	MOVQ srcStep+24(FP), R9
	MOVQ blocks+32(FP), CX
	LEAQ (R9)(R9*2), R10
	LEAQ (R8)(R8*2), R12

block:
	LEAQ         (SI)(R9*4), BX
	VMOVUPS      (SI), Y0
	VMOVUPS      (SI)(R9*1), Y1
	VMOVUPS      (SI)(R9*2), Y2
	VMOVUPS      (SI)(R10*1), Y3
	VMOVUPS      (BX), Y4
	VMOVUPS      (BX)(R9*1), Y5
	VMOVUPS      (BX)(R9*2), Y6
	VMOVUPS      (BX)(R10*1), Y7
	VUNPCKLPS    Y1, Y0, Y8
	VUNPCKHPS    Y1, Y0, Y9
	VUNPCKLPS    Y3, Y2, Y10
	VUNPCKHPS    Y3, Y2, Y11
	VUNPCKLPS    Y5, Y4, Y12
	VUNPCKHPS    Y5, Y4, Y13
	VUNPCKLPS    Y7, Y6, Y14
	VUNPCKHPS    Y7, Y6, Y15
	VUNPCKLPD    Y10, Y8, Y0
	VUNPCKHPD    Y10, Y8, Y1
	VUNPCKLPD    Y11, Y9, Y2
	VUNPCKHPD    Y11, Y9, Y3
	VUNPCKLPD    Y14, Y12, Y4
	VUNPCKHPD    Y14, Y12, Y5
	VUNPCKLPD    Y15, Y13, Y6
	VUNPCKHPD    Y15, Y13, Y7
	VPERM2F128   $0x20, Y4, Y0, Y8
	VPERM2F128   $0x20, Y5, Y1, Y9
	VPERM2F128   $0x20, Y6, Y2, Y10
	VPERM2F128   $0x20, Y7, Y3, Y11
	VPERM2F128   $0x31, Y4, Y0, Y12
	VPERM2F128   $0x31, Y5, Y1, Y13
	VPERM2F128   $0x31, Y6, Y2, Y14
	VPERM2F128   $0x31, Y7, Y3, Y15
	LEAQ         (DI)(R8*4), BX
	VMOVUPS      Y8, (DI)
	VMOVUPS      Y9, (DI)(R8*1)
	VMOVUPS      Y10, (DI)(R8*2)
	VMOVUPS      Y11, (DI)(R12*1)
	VMOVUPS      Y12, (BX)
	VMOVUPS      Y13, (BX)(R8*1)
	VMOVUPS      Y14, (BX)(R8*2)
	VMOVUPS      Y15, (BX)(R12*1)
	ADDQ         $32, SI
	LEAQ         (BX)(R8*4), DI
	DECQ         CX
	JNZ          block
	VZEROUPPER
	RET

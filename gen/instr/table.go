package instr

import (
	"rules_dnn/gen/ir"
	"rules_dnn/gen/te"
)

// table is the tile instructions. Their C++ is one text: GNU vectors, which compilers turn
// into the instruction that the flags of the chip select.
var table = []Row{
	// SSE2 multiplies and adds; the product takes a register of its own.
	{Name: "muladd_f32x4", CPU: "x86_64", Acc: ir.F32, Lanes: 4, Group: 1, Broadcast: []Operand{Register},
		Ops: 2, Temps: 2, Latency: 4, Meaning: multiplyAdd, text: gnuVectors},
	// AVX2: vbroadcastss, then vfmadd231ps.
	{Name: "fma_f32x8", CPU: "x86_64", Feature: "fma", Acc: ir.F32, Lanes: 8, Group: 1, Broadcast: []Operand{Register},
		FoldsLoad: true, Ops: 1, Temps: 1, Latency: 4, Meaning: multiplyAdd, Fused: true, text: gnuVectors},
	// AVX-512: vfmadd231ps with {1to16}.
	{Name: "fma_f32x16", CPU: "x86_64", Feature: "avx512f", Acc: ir.F32, Lanes: 16, Group: 1, Broadcast: []Operand{Memory},
		FoldsLoad: true, Ops: 1, Latency: 4, Meaning: multiplyAdd, Fused: true, text: gnuVectors},
	// NEON: fmla by element.
	{Name: "fma_f32x4", CPU: "arm64", Acc: ir.F32, Lanes: 4, Group: 1, Broadcast: []Operand{Lane, Register},
		Ops: 1, Temps: 1, Latency: 4, Meaning: multiplyAdd, Fused: true, text: gnuVectors},
}

var (
	multiplyAdd = te.Fn(ir.F32, "fma", te.In{N: 0, Type: ir.F32}, te.In{N: 1, Type: ir.F32}, te.Acc{N: 0, Type: ir.F32})
	gnuVectors  = map[string]string{"cpp": "$a += $x * $w;"}
)

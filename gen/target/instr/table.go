package instr

import (
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/te"
)

// table is the tile instructions. Their C++ is one text: GNU vectors, which compilers turn
// into the instruction that the flags of the chip select.
var table = []Row{
	// SSE2 multiplies and adds; the product takes a register of its own.
	{Name: "muladd_f32x4", CPU: "x86_64", X: ir.F32, W: ir.F32, Acc: ir.F32, Lanes: 4, Group: 1, Broadcast: []Operand{Register},
		Ops: 2, Temps: 2, Latency: 4, Meaning: multiplyAdd, text: gnuVectors},
	// AVX2: vbroadcastss, then vfmadd231ps.
	{Name: "fma_f32x8", CPU: "x86_64", Feature: "fma", X: ir.F32, W: ir.F32, Acc: ir.F32, Lanes: 8, Group: 1, Broadcast: []Operand{Register},
		FoldsLoad: true, Ops: 1, Temps: 1, Latency: 4, Meaning: multiplyAdd, Fused: true, text: gnuVectors},
	// AVX-512: vfmadd231ps with {1to16}.
	{Name: "fma_f32x16", CPU: "x86_64", Feature: "avx512f", X: ir.F32, W: ir.F32, Acc: ir.F32, Lanes: 16, Group: 1, Broadcast: []Operand{Memory},
		FoldsLoad: true, Ops: 1, Latency: 4, Meaning: multiplyAdd, Fused: true, text: gnuVectors},
	// NEON: fmla by element. Of an X that is copied to all lanes, the next one is in a register, too.
	{Name: "fma_f32x4", CPU: "arm64", X: ir.F32, W: ir.F32, Acc: ir.F32, Lanes: 4, Group: 1, Broadcast: []Operand{Lane, Register},
		Ops: 1, Temps: 2, Latency: 4, Meaning: multiplyAdd, Fused: true, text: neonFMA},
	// The same for processors that start a load of 16 bytes beside nothing, but one of 8 beside a product.
	{Name: "fma_f32x4_halves", CPU: "arm64", X: ir.F32, W: ir.F32, Acc: ir.F32, Lanes: 4, Group: 1, Broadcast: []Operand{Lane, Register}, Halves: true,
		Ops: 1, Temps: 2, Latency: 4, Meaning: multiplyAdd, Fused: true, text: neonFMA},

	// FEAT_FP16: products and sums in f16. Proposers cut long sums into blocks (package follow).
	{Name: "fma_f16x8", CPU: "arm64", Feature: "asimdhp", X: ir.F16, W: ir.F16, Acc: ir.F16, Lanes: 8, Group: 1, Broadcast: []Operand{Lane, Register},
		Ops: 1, Temps: 2, Latency: 4, Meaning: multiplyAddHalves, Fused: true, text: neonFMA},
	// FEAT_FHM: products of f16, added in f32 and rounded once. The first instruction takes the lower
	// halves of operands, the second the upper ones. By LLVM's tables of Neoverse N2, V1 and V2, as
	// many start in a cycle as FMLA. The latency is assumed.
	{Name: "fmlal_f16x4", CPU: "arm64", Feature: "asimdfhm", X: ir.F16, W: ir.F16, Acc: ir.F32, Lanes: 4, Group: 1, Broadcast: []Operand{Lane, Register},
		Ops: 1, Temps: 2, Latency: 5, Meaning: multiplyAddF16, Fused: true,
		text: map[string]string{"cpp": "$a = dnn_fmlal($a, $w, $x);", Assembly: "fmlal $a, $w, $x", Assembly + Upper: "fmlal2 $a, $w, $x"}},

	// Integers, of which lanes take neighbours along the sum in at a time. Where an instruction has operands of one type only, packing makes them so:
	// minus the zero point in 16 bits, whose products are exact in pairs; or less 128, which is taken out of the sum.
	//
	// SSE2, AVX2 and AVX-512: products of 16 bits, added in pairs; another instruction adds them. What multiplies bytes (vpmaddubsw) saturates.
	{Name: "pmaddwd_i16x4", CPU: "x86_64", X: ir.I16, W: ir.I16, Acc: ir.I32, Lanes: 4, Group: 2, Broadcast: []Operand{Register},
		Ops: 2, Temps: 2, Latency: 1, Meaning: multiplyAddInt(ir.I16, ir.I16), text: cpp("$a = dnn_maddwd($a, $x, $w);")},
	{Name: "pmaddwd_i16x8", CPU: "x86_64", Feature: "avx2", X: ir.I16, W: ir.I16, Acc: ir.I32, Lanes: 8, Group: 2, Broadcast: []Operand{Register},
		Ops: 2, Temps: 1, Latency: 1, Meaning: multiplyAddInt(ir.I16, ir.I16), text: cpp("$a = dnn_maddwd($a, $x, $w);")},
	{Name: "pmaddwd_i16x16", CPU: "x86_64", Feature: "avx512bw", X: ir.I16, W: ir.I16, Acc: ir.I32, Lanes: 16, Group: 2, Broadcast: []Operand{Register},
		Ops: 2, Temps: 1, Latency: 1, Meaning: multiplyAddInt(ir.I16, ir.I16), text: cpp("$a = dnn_maddwd($a, $x, $w);")},
	// AVX-VNNI and AVX-512 VNNI: four neighbours, of which one operand has unsigned ones.
	{Name: "vpdpbusd_u8i8x8", CPU: "x86_64", Feature: "avxvnni", X: ir.U8, W: ir.I8, Acc: ir.I32, Lanes: 8, Group: 4, Broadcast: []Operand{Register},
		Ops: 1, Latency: 4, Meaning: multiplyAddInt(ir.U8, ir.I8), text: cpp("$a = dnn_dpbusd($a, $x, $w);")},
	{Name: "vpdpbusd_i8u8x8", CPU: "x86_64", Feature: "avxvnni", X: ir.I8, W: ir.U8, Acc: ir.I32, Lanes: 8, Group: 4, Broadcast: []Operand{Register},
		Ops: 1, Latency: 4, Meaning: multiplyAddInt(ir.I8, ir.U8), text: cpp("$a = dnn_dpbusd($a, $w, $x);")},
	{Name: "vpdpbusd_u8i8x16", CPU: "x86_64", Feature: "avx512vnni", X: ir.U8, W: ir.I8, Acc: ir.I32, Lanes: 16, Group: 4, Broadcast: []Operand{Register},
		Ops: 1, Latency: 4, Meaning: multiplyAddInt(ir.U8, ir.I8), text: cpp("$a = dnn_dpbusd($a, $x, $w);")},
	{Name: "vpdpbusd_i8u8x16", CPU: "x86_64", Feature: "avx512vnni", X: ir.I8, W: ir.U8, Acc: ir.I32, Lanes: 16, Group: 4, Broadcast: []Operand{Register},
		Ops: 1, Latency: 4, Meaning: multiplyAddInt(ir.I8, ir.U8), text: cpp("$a = dnn_dpbusd($a, $w, $x);")},
	// AMX: up to 16 rows of 64 bytes of X by 16 points of 16 lanes of W, of all types. Latency and throughput: Intel's optimisation manual, "Intel AMX".
	amx("tdpbusd_u8i8x16", ir.U8, ir.I8, "dnn_amx_tdpbusd<$a, $x, $w>(tiles);"),
	amx("tdpbsud_i8u8x16", ir.I8, ir.U8, "dnn_amx_tdpbsud<$a, $x, $w>(tiles);"),
	amx("tdpbssd_i8i8x16", ir.I8, ir.I8, "dnn_amx_tdpbssd<$a, $x, $w>(tiles);"),
	amx("tdpbuud_u8u8x16", ir.U8, ir.U8, "dnn_amx_tdpbuud<$a, $x, $w>(tiles);"),
	// AVX512-BF16 and AMX: pairs of floats of 16 bits, multiplied and added in f32 as Intel's manual of instructions says. Denormal numbers are zeros.
	{Name: "vdpbf16ps_x16", CPU: "x86_64", Feature: "avx512bf16", X: ir.BF16, W: ir.BF16, Acc: ir.F32, Lanes: 16, Group: 2, Broadcast: []Operand{Register},
		Ops: 1, Temps: 1, Latency: 6, Meaning: multiplyAddBF16, Fused: true, LastFirst: true, text: cpp("$a = dnn_dpbf16($a, $x, $w);")},
	{Name: "tdpbf16ps_x16", CPU: "x86_64", Feature: "amx_bf16", X: ir.BF16, W: ir.BF16, Acc: ir.F32, Lanes: 16, Group: 2, Broadcast: []Operand{Memory}, Matrix: 16,
		Ops: 1, Units: 16, Latency: 52, Meaning: multiplyAddBF16, Fused: true, Apart: true, text: cpp("dnn_amx_tdpbf16ps<$a, $x, $w>(tiles);")},
	// NEON without dot products: those of both halves in 16 bits, added in pairs twice. Packed operands are those of the dot products, so that a library for both has them once.
	{Name: "smull_i8x4", CPU: "arm64", X: ir.I8, W: ir.I8, Acc: ir.I32, Lanes: 4, Group: 4, Broadcast: []Operand{Register},
		Ops: 6, Temps: 3, Latency: 1, Meaning: multiplyAddInt(ir.I8, ir.I8), text: cpp("$a = dnn_smull($a, $w, $x);")},
	{Name: "umull_u8x4", CPU: "arm64", X: ir.U8, W: ir.U8, Acc: ir.I32, Lanes: 4, Group: 4, Broadcast: []Operand{Register},
		Ops: 6, Temps: 3, Latency: 1, Meaning: multiplyAddInt(ir.U8, ir.U8), text: cpp("$a = dnn_umull($a, $w, $x);")},
	// NEON's dot products: four neighbours of one type.
	{Name: "sdot_i8x4", CPU: "arm64", Feature: "asimddp", X: ir.I8, W: ir.I8, Acc: ir.I32, Lanes: 4, Group: 4, Broadcast: []Operand{Register},
		Ops: 1, Temps: 1, Latency: 3, Meaning: multiplyAddInt(ir.I8, ir.I8), text: cpp("$a = dnn_sdot($a, $w, $x);")},
	{Name: "udot_u8x4", CPU: "arm64", Feature: "asimddp", X: ir.U8, W: ir.U8, Acc: ir.I32, Lanes: 4, Group: 4, Broadcast: []Operand{Register},
		Ops: 1, Temps: 1, Latency: 3, Meaning: multiplyAddInt(ir.U8, ir.U8), text: cpp("$a = dnn_udot($a, $w, $x);")},
	// Products of pairs of bf16 (FEAT_BF16, without FEAT_EBF16's mode): both are added, then the
	// accumulator. Denormal numbers are zeros. The latency is assumed to be that of SDOT.
	{Name: "bfdot_x4", CPU: "arm64", Feature: "bf16", X: ir.BF16, W: ir.BF16, Acc: ir.F32, Lanes: 4, Group: 2, Broadcast: []Operand{Lane, Register},
		Ops: 1, Temps: 2, Latency: 3, Meaning: multiplyAddBF16, Fused: true, Apart: true, Odd: true,
		text: map[string]string{"cpp": "$a = dnn_bfdot($a, $w, $x);", Assembly: "bfdot $a, $w, $x"}},
	// Products of matrices of bf16, 2x4 by 4x2, which round like two BFDOTs: the first pair of a
	// group, then the second. By LLVM's tables of Neoverse N2, V1 and V2, Cortex-A510 and A710, as
	// many start in a cycle as BFDOTs. The latency is assumed to be that of SMMLA.
	{Name: "bfmmla_x4", CPU: "arm64", Feature: "bf16", X: ir.BF16, W: ir.BF16, Acc: ir.F32, Lanes: 4,
		Group: 4, Broadcast: []Operand{Register}, PerLoad: 2, Blocks: true, Ops: 1, Temps: 1, Latency: 3,
		Meaning: multiplyAddBF16, Fused: true, Apart: true, Parts: 2, Odd: true,
		text: map[string]string{"cpp": "$a = dnn_bfmmla($a, $x, $w);", Assembly: "bfmmla $a, $x, $w"}},
	// NEON's products of matrices of bytes: 2x8 by 8x2, of one type or of unsigned rows and signed lanes.
	{Name: "smmla_i8x4", CPU: "arm64", Feature: "i8mm", X: ir.I8, W: ir.I8, Acc: ir.I32, Lanes: 4, Group: 8, Broadcast: []Operand{Register}, PerLoad: 2, Blocks: true,
		Ops: 1, Temps: 1, Latency: 3, Meaning: multiplyAddInt(ir.I8, ir.I8), text: cpp("$a = dnn_smmla($a, $x, $w);")},
	{Name: "ummla_u8x4", CPU: "arm64", Feature: "i8mm", X: ir.U8, W: ir.U8, Acc: ir.I32, Lanes: 4, Group: 8, Broadcast: []Operand{Register}, PerLoad: 2, Blocks: true,
		Ops: 1, Temps: 1, Latency: 3, Meaning: multiplyAddInt(ir.U8, ir.U8), text: cpp("$a = dnn_ummla($a, $x, $w);")},
	{Name: "usmmla_u8i8x4", CPU: "arm64", Feature: "i8mm", X: ir.U8, W: ir.I8, Acc: ir.I32, Lanes: 4, Group: 8, Broadcast: []Operand{Register}, PerLoad: 2, Blocks: true,
		Ops: 1, Temps: 1, Latency: 3, Meaning: multiplyAddInt(ir.U8, ir.I8), text: cpp("$a = dnn_usmmla($a, $x, $w);")},

	// OpenCL: mad of four floats.
	{Name: "mad_f32x4", CPU: "opencl", X: ir.F32, W: ir.F32, Acc: ir.F32, Lanes: 4, Group: 1, Broadcast: []Operand{Register},
		FoldsLoad: true, Ops: 1, Temps: 1, Latency: 4, Meaning: multiplyAdd, Fused: true, text: map[string]string{"opencl": "$a = mad($x, $w, $a);"}},

	// PTX's product of matrices of halves by the 32 items of a warp, 16x16 by 16x8, whose sums are floats: an item has two rows and two columns of these. Of the
	// sum each of those across takes in eight points at a time, 32 together, by two instructions. Units: half of the rate that NVIDIA states for the H100, 16 times that of mad.
	{Name: "mma_f16x2", CPU: "opencl", X: ir.F16, W: ir.F16, Acc: ir.F32, Lanes: 2, Group: 8, Broadcast: []Operand{Register}, Down: 8, Across: 4,
		Ops: 1, Temps: 2, Units: 0.125, Latency: 32, Meaning: multiplyAddF16, Fused: true,
		text: map[string]string{"opencl": "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 $a, $x, $w, $a;"}},

	// HVX of 128 bytes. GCD2's vrmpy: four neighbours in a lane, four others in a scalar register.
	{Name: "vrmpy_i8u8", CPU: "hexagon", X: ir.I8, W: ir.U8, Acc: ir.I32, Lanes: 32, Group: 4, Broadcast: []Operand{Scalar},
		Aligned: true, Ops: 1, Latency: 1, Meaning: multiplyAddInt(ir.I8, ir.U8), text: hvx("$a = Q6_Vw_vrmpyacc_VwVubRb($a, $w, $x);")},
	// Of two vectors, it takes both multipliers.
	{Name: "vrmpy_u8i8", CPU: "hexagon", X: ir.U8, W: ir.I8, Acc: ir.I32, Lanes: 32, Group: 4, Broadcast: []Operand{Register},
		Aligned: true, Ops: 1, Temps: 1, Copies: 1, Units: 2, Latency: 1, Meaning: multiplyAddInt(ir.U8, ir.I8), text: hvx("$a = Q6_Vw_vrmpyacc_VwVubVb($a, $x, $w);")},
	{Name: "vrmpy_i8i8", CPU: "hexagon", X: ir.I8, W: ir.I8, Acc: ir.I32, Lanes: 32, Group: 4, Broadcast: []Operand{Register},
		Aligned: true, Ops: 1, Temps: 1, Copies: 1, Units: 2, Latency: 1, Meaning: multiplyAddInt(ir.I8, ir.I8), text: hvx("$a = Q6_Vw_vrmpyacc_VwVbVb($a, $x, $w);")},
	// GCD2's vmpa and vmpy (Figure 4.1): two and one neighbours in a lane. Products are added in lanes of 16 bits, of even and odd bytes apart, and these sums to
	// accumulators of 32 bits, again even and odd ones apart. vmpa takes two registers, of two columns each: bytes 0 and 1 of the scalar are for the
	// first columns of both, 2 and 3 for the second ones.
	{Name: "vmpa_i8u8", CPU: "hexagon", X: ir.I8, W: ir.U8, Acc: ir.I32, Lanes: 64, Group: 2, Broadcast: []Operand{Scalar},
		Aligned: true, Ops: 1, Temps: 2, Units: 2, Narrow: 2, Points: 2, Sums: 1, Widens: 2, Order: []int64{0, 1}, Latency: 1, Meaning: multiplyAddInt(ir.I8, ir.U8),
		text: map[string]string{"hvx": "$a = Q6_Wh_vmpaacc_WhWubRb($a, $w, $x);", "hvx" + First: "$a = Q6_Wh_vmpa_WubRb($w, $x);",
			"hvx" + Widen: "$a = Q6_Ww_vaddacc_WwVhVh($a, Q6_V_lo_W($x), Q6_V_hi_W($x));"}},
	{Name: "vmpy_i8u8", CPU: "hexagon", X: ir.I8, W: ir.U8, Acc: ir.I32, Lanes: 128, Group: 1, Broadcast: []Operand{Scalar},
		Aligned: true, Ops: 1, Temps: 4, Units: 2, Narrow: 1, Sums: 2, Widens: 2, Order: []int64{0, 2, 1, 3}, Latency: 1, Meaning: multiplyAddInt(ir.I8, ir.U8),
		text: map[string]string{"hvx": "$a = Q6_Wh_vmpyacc_WhVubRb($a, $w, $x);", "hvx" + First: "$a = Q6_Wh_vmpy_VubRb($w, $x);",
			"hvx" + Widen: "$a = Q6_Ww_vaddacc_WwVhVh($a, Q6_V_lo_W($x), Q6_V_lo_W($w)); $b = Q6_Ww_vaddacc_WwVhVh($b, Q6_V_hi_W($x), Q6_V_hi_W($w));"}},
}

var (
	multiplyAdd = te.Fn(ir.F32, "fma", te.In{N: 0, Type: ir.F32}, te.In{N: 1, Type: ir.F32}, te.Acc{N: 0, Type: ir.F32})
	// These widen floats of 16 bits first, which is exact.
	multiplyAddBF16   = te.Fn(ir.F32, "fma", te.Fn(ir.F32, "cast", te.In{N: 0, Type: ir.BF16}), te.Fn(ir.F32, "cast", te.In{N: 1, Type: ir.BF16}), te.Acc{N: 0, Type: ir.F32})
	multiplyAddF16    = te.Fn(ir.F32, "fma", te.Fn(ir.F32, "cast", te.In{N: 0, Type: ir.F16}), te.Fn(ir.F32, "cast", te.In{N: 1, Type: ir.F16}), te.Acc{N: 0, Type: ir.F32})
	multiplyAddHalves = te.Fn(ir.F16, "fma", te.In{N: 0, Type: ir.F16}, te.In{N: 1, Type: ir.F16}, te.Acc{N: 0, Type: ir.F16})
	gnuVectors        = map[string]string{"cpp": gnuVector}
	neonFMA           = map[string]string{"cpp": gnuVector, Assembly: "fmla $a, $w, $x", Assembly + First: "fmul $a, $w, $x"}
)

const gnuVector = "$a += $x * $w;"

// multiplyAddInt is a product of operands of 8 or 16 bits, added in 32.
func multiplyAddInt(x, w ir.DType) te.Expr {
	wide := func(n int, t ir.DType) te.Expr { return te.Fn(ir.I32, "cast", te.In{N: n, Type: t}) }
	return te.Fn(ir.I32, "add", te.Acc{N: 0, Type: ir.I32}, te.Fn(ir.I32, "mul", wide(0, x), wide(1, w)))
}

// amx is a product of matrices of bytes, which takes the unit 16 cycles.
func amx(name string, x, w ir.DType, text string) Row {
	return Row{Name: name, CPU: "x86_64", Feature: "amx_int8", X: x, W: w, Acc: ir.I32, Lanes: 16, Group: 4, Broadcast: []Operand{Memory}, Matrix: 16,
		Ops: 1, Units: 16, Latency: 52, Meaning: multiplyAddInt(x, w), text: cpp(text)}
}

func cpp(text string) map[string]string { return map[string]string{"cpp": text} }

func hvx(text string) map[string]string { return map[string]string{"hvx": text} }

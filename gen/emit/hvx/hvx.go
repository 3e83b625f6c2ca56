// Package hvx prints programs for Hexagon processors with vectors of 128 bytes (HVX).
//
// Kernels are C11 that needs no C library: loop nests as every dialect of C has them, and
// micro-kernels as packets of instructions, or with intrinsics. The host program is package cpp's.
package hvx

import (
	"rules_dnn/gen/emit/cpp"
	"rules_dnn/gen/emit/hvx/packed"
	"rules_dnn/gen/kernel/loop"
	"rules_dnn/gen/program/plan"
)

// Header declares what kernels use.
const Header = "runtime/dnn_hvx.h"

// Intrinsics is C with all micro-kernels in C, which the compiler schedules: what packets are compared with.
var Intrinsics = &cpp.Language{Dialect: dialect{}, Extension: ".c", Header: Header, Micro: func(t loop.Tile, _ int) string { return micro(t.Micro) },
	Functions: func(ks []*loop.Kernel, bodies string) string {
		return functions(ks, bodies) + called(linesCall, bodies, packed.ParseLines, linesInC) + called(rowsCall, bodies, packed.ParseRows, rowsInC)
	}}

// C is how kernels are written for all versions of Hexagon.
var C = For(oldest)

// Print prints the kernels in a fixed number of shards and the host program.
func Print(p *plan.Program, prefix string, shards int) ([]cpp.File, error) {
	return C.Print(p, prefix, shards)
}

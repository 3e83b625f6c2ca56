package scalar

import (
	"encoding/binary"
	"math"
	"runtime"
	"testing"

	"rules_dnn/gen/ir"
)

// ordersZeros reports whether C++ on this machine orders zeros where Go returns the last of them.
func ordersZeros(row *Row, lanes int) bool {
	return runtime.GOARCH == "arm64" && lanes == 4 && (row.Name == "max" || row.Name == "min")
}

// TestZerosOrderedOnArm: vectors of four f32 order -0 before +0 on 64-bit ARM, as math.Max and
// math.Min do, and return NaN if either operand is NaN.
func TestZerosOrderedOnArm(t *testing.T) {
	xs, ys := powPairs()
	n := len(xs) &^ 7
	xs, ys = xs[:n], ys[:n]
	var p program
	of := []func(x, y float64) float64{math.Max, math.Min}
	for _, name := range []string{"max", "min"} {
		p.add(Lookup(name), ir.F32, ir.F32, 4, xs, ys)
	}
	p.runArm(t, func(t *testing.T, res []byte) {
		for k, f := range of {
			for i, x := range xs {
				b := binary.LittleEndian.Uint32(res[4*(k*n+i):])
				got, want := math.Float32frombits(b), float32(f(float64(x), float64(ys[i])))
				// math.Max returns an infinity before NaN.
				if x != x || ys[i] != ys[i] {
					want = float32(math.NaN())
				}
				if (got == got || want == want) && b != math.Float32bits(want) {
					t.Fatalf("function %d of %x and %x: C++ returns %x, want %x", k, x, ys[i], got, want)
				}
			}
		}
	})
}

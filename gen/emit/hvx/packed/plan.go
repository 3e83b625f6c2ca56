// Package packed makes micro-kernels for Hexagon as packets of instructions: modulo schedules of their loops, and packed code before and after them.
package packed

import (
	"fmt"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/kernel/loop"
	"rules_dnn/gen/target/instr"
)

// form is how a tile instruction is made of the processor's: its product alone, and added to an accumulator.
type form struct {
	x            instr.Operand
	product, acc string
	// xFirst reports that X is the first operand.
	xFirst bool
}

var forms = map[string]form{
	"vrmpy_i8u8": {x: instr.Scalar, product: "V6_vrmpybus", acc: "V6_vrmpybus_acc"},
	"vrmpy_u8i8": {x: instr.Register, product: "V6_vrmpybusv", acc: "V6_vrmpybusv_acc", xFirst: true},
	"vrmpy_i8i8": {x: instr.Register, product: "V6_vrmpybv", acc: "V6_vrmpybv_acc", xFirst: true},
}

// Bounds of what a loop's body holds. Code beyond does not stay in the first-level cache beside other kernels'.
const (
	mostProducts = 420
	someProducts = 64
	// mostTimes is how often a loop runs at most: as often as an assembler's number says, and no more than there can be operands for.
	mostTimes = 1 << 20
)

// point is one of the reduction that a body has, in bytes from where the iteration's operands begin.
type point struct{ x, w int64 }

// body is a loop's: its points, how often it runs, and what each time adds to the operands' addresses.
type body struct {
	points       []point
	count        int64
	xStep, wStep int64
}

// supported says why a micro-kernel is not made of packets, or is nil.
func supported(m *loop.MicroKernel) error {
	f, ok := forms[m.Instr.Name]
	switch {
	case !ok:
		return fmt.Errorf("no packets of %s", m.Instr.Name)
	case m.X != f.x:
		return fmt.Errorf("no packets of %s with X as %s", m.Instr.Name, m.X)
	case m.Adds:
		return fmt.Errorf("no packets that add to existing sums")
	case m.Kept != nil || m.Stored != ir.Invalid || m.PrefetchW > 0 || m.PrefetchX || m.Fetch > 0 || m.FetchX > 0:
		return fmt.Errorf("no packets of stored kernels, converted weights or fetches")
	case m.Rows*m.Vectors > 31:
		return fmt.Errorf("%d accumulators leave no vectors for operands", m.Rows*m.Vectors)
	}
	return nil
}

// merged are the K loops, of which those that step through both operands as one are one.
func merged(all []loop.KLoop) []loop.KLoop {
	var out []loop.KLoop
	for _, k := range all {
		if k.Extent == 1 {
			continue
		}
		if n := len(out); n > 0 && out[n-1].XStep == k.Extent*k.XStep && out[n-1].WStep == k.Extent*k.WStep {
			out[n-1] = loop.KLoop{Extent: out[n-1].Extent * k.Extent, XStep: k.XStep, WStep: k.WStep}
			continue
		}
		out = append(out, k)
	}
	return out
}

// bodies are the ways to divide the points between a body and one loop around it.
func bodies(m *loop.MicroKernel) ([]body, error) {
	loops := merged(m.K)
	each := m.Rows * m.Vectors
	inner := []point{{}}
	for len(loops) > 1 {
		k := loops[len(loops)-1]
		loops = loops[:len(loops)-1]
		if n := int64(len(inner)) * each; k.Extent > mostProducts/n {
			return nil, fmt.Errorf("%d times %d products in the innermost loops are more than the maximum of a body", k.Extent, n)
		}
		inner = repeated(inner, k, k.Extent)
	}
	if len(loops) == 0 {
		return []body{{points: inner, count: 1}}, nil
	}
	if loops[0].Extent > mostTimes {
		return nil, fmt.Errorf("a loop runs %d times; packets allow at most %d", loops[0].Extent, mostTimes)
	}
	var out []body
	for k, u := loops[0], int64(1); u <= min(k.Extent, someProducts); u++ {
		if n := u * int64(len(inner)) * each; k.Extent%u != 0 || u > 1 && n > someProducts && (n > mostProducts || u > 2) {
			continue
		}
		out = append(out, body{points: repeated(inner, k, u), count: k.Extent / u, xStep: k.XStep * u, wStep: k.WStep * u})
	}
	return out, nil
}

func repeated(inner []point, k loop.KLoop, times int64) []point {
	var out []point
	for i := range times {
		for _, p := range inner {
			out = append(out, point{p.x + i*k.XStep, p.w + i*k.WStep})
		}
	}
	return out
}

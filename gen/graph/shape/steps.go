package shape

import (
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
)

// steps are what is known of how many numbers a range has: from start on, delta apart, before limit. Their number is
// exact where all three are, and floats hold them: to a width, in steps of 1, there are as many as the width.
func (in *inference) steps(n *ir.Node) []value {
	var v [3]value
	for i := range v {
		_, elems := in.operand(n, i)
		if len(elems) != 1 {
			return nil
		}
		v[i] = elems[0]
	}
	if count := in.exactSteps(v, n.Input(0).Type); count.state == exact {
		return []value{count}
	}
	room := evalLimits("sub", v[1], v[0], in.facts)
	if delta, ok := v[2].float64(); ok && delta < 0 {
		room, v[2] = evalLimits("sub", v[0], v[1], in.facts), float(-delta)
	}
	out := limiters["div"]([]limits{room, v[2].limits(in.facts)}, []value{{within: room}, v[2]}, in.facts)
	if out.hi == nil {
		return nil
	}
	zero := number(0).limits(in.facts).hi
	return []value{{within: limits{zero, with(out.hi, zero, greatest(in.facts))}}}
}

func evalLimits(fn string, a, b value, f sym.Facts) limits {
	return limiters[fn]([]limits{a.limits(f), b.limits(f)}, []value{a, b}, f)
}

// digits are those of a float type's numbers: integers up to there are exact.
var digits = map[ir.DType]int{ir.F32: 24, ir.F64: 53}

// exactSteps is ceil((limit - start) / delta), at least 0, or unknown.
func (in *inference) exactSteps(v [3]value, t ir.DType) value {
	for _, x := range v {
		if x.state != exact || t.IsFloat() && !in.holds(x, digits[t]) {
			return value{}
		}
	}
	delta, ok := v[2].float64()
	if !ok || delta == 0 {
		return value{} // a run refuses 0
	}
	count := div([]value{addSub([]value{v[1], v[0]}, -1, in.facts), v[2]}, in.facts)
	if count.state != exact {
		return value{}
	}
	count = floorOf(count, count.den-1, in.facts)
	if count.state != exact {
		return value{}
	}
	return small(sym.Max(count.num, sym.Const(0), in.facts))
}

// holds reports whether floats of so many digits hold a fraction exactly, whatever the symbols are.
func (in *inference) holds(v value, digits int) bool {
	most := int64(1) << digits
	return v.den&(v.den-1) == 0 && sym.AtLeast(v.num, -most, in.facts) && sym.AtMost(v.num, most, in.facts)
}

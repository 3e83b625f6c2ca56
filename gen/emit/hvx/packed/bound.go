package packed

import (
	"math/bits"

	"rules_dnn/gen/emit/hexagon/isa"
)

// bound is of the operations. Steps of addresses count for nothing, as other code may do without them.
func (k *maker) bound() int {
	insts := make([]isa.Inst, len(k.ops))
	for i, o := range k.ops {
		insts[i] = o.Inst
	}
	return bound(k.version, insts)
}

// bound is how many packets instructions take at least, by slots and units alone, whatever the order: of all instructions, of those that multiply, that
// use memory (stores by slot 0 alone), that permute and of vectors.
func bound(version int, insts []isa.Inst) int {
	all, multipliers, memory, first, loads, permutes, units := 0, 0, 0, 0, 0, 0, 0
	for _, i := range insts {
		all++
		t := i.Row.Timing(version)
		for _, takes := range t.Takes {
			switch {
			case takes[0]&isa.Slots != 0 && takes[len(takes)-1] <= 2:
				memory++
				if len(takes) == 1 && takes[0] == 1 {
					first++
				}
			case takes[0] == isa.Load:
				loads++
			case takes[0] == isa.Multiply0|isa.Multiply1:
				multipliers, units = multipliers+2, units+2
			case takes[0] == isa.Multiply0: // or the other one
				multipliers, units = multipliers+1, units+1
			case takes[0]&isa.Slots == 0 && len(takes) == 1 && takes[0]&isa.Permute != 0:
				permutes, units = permutes+1, units+bits.OnesCount32(uint32(takes[0]))
			case takes[0]&isa.Slots == 0:
				units++
			}
		}
	}
	half := func(n int) int { return (n + 1) / 2 }
	return max((all+3)/4, half(multipliers), half(memory), first, loads, permutes, (units+3)/4, 1)
}

// leastApart is how many products are added apart for the least bound, and that bound. Where multiplying and adding takes one multiplier, none are.
func (k *maker) leastApart() (apart, bound int) {
	total := len(k.body.points) * int(k.micro.Rows*k.micro.Vectors)
	for n := 0; n <= total; n++ {
		k.apart = n
		k.make()
		if b := k.bound(); n == 0 || b < bound {
			apart, bound = n, b
		}
		if !k.doubles() {
			break
		}
	}
	k.apart = apart
	return apart, bound
}

// doubles reports whether multiplying and adding takes both multipliers, and multiplying alone one.
func (k *maker) doubles() bool {
	takes := func(name string) isa.Units {
		t := isa.Lookup(name).Timing(k.version).Takes
		return t[len(t)-1][0]
	}
	return takes(k.form.acc) != takes(k.form.product)
}

package packed

import "rules_dnn/gen/hexagon/isa"

// Bound is how many packets an iteration takes at least, by slots and units alone, whatever the order: of all instructions, of those that multiply, that
// use memory and of vectors. Steps of addresses count for nothing, as other code may do without them.
func (k *maker) bound() int {
	all, multipliers, memory, loads, units := 0, 0, 0, 0, 0
	for _, o := range k.ops {
		all++
		t := o.Row.Timing(k.version)
		for _, takes := range t.Takes {
			switch {
			case takes[0]&isa.Slots != 0 && takes[len(takes)-1] <= 2:
				memory++
			case takes[0] == isa.Load:
				loads++
			case takes[0] == isa.Multiply0|isa.Multiply1:
				multipliers, units = multipliers+2, units+2
			case takes[0] == isa.Multiply0: // or the other one
				multipliers, units = multipliers+1, units+1
			case takes[0]&isa.Slots == 0:
				units++
			}
		}
	}
	half := func(n int) int { return (n + 1) / 2 }
	return max((all+3)/4, half(multipliers), half(memory), loads, (units+3)/4, 1)
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

package plan

import (
	"fmt"
	"slices"

	"rules_dnn/gen/fusion/tuning"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/kernel/loop"
)

// Lowering is what another variant of the library runs in the place of a call's kernel: on the same values, but for
// constants that it reads in another order.
type Lowering struct {
	Kernel   *loop.Kernel
	Args     []*ir.Value
	Cycles   float64
	Tuning   *tuning.Choice
	Function string
}

// Variants is how many chips the program has kernels for.
func (p *Program) Variants() int { return p.Others + 1 }

// Variant is the program as a chip runs it, the least capable being 0 and the program itself the last. Values lie at the same places in all.
func (p *Program) Variant(i int) *Program {
	if i == p.Others {
		return p
	}
	out := *p
	out.Others = 0
	out.Steps = replaced(p.Steps, func(c *Call) *Call {
		x, l := *c, c.Others[i]
		x.Kernel, x.Args, x.Cycles, x.Tuning, x.Function, x.Others = l.Kernel, l.Args, l.Cycles, l.Tuning, l.Function, nil
		return &x
	})
	return &out
}

// replaced are steps with other calls.
func replaced(steps []Step, with func(*Call) *Call) []Step {
	out := make([]Step, len(steps))
	for i, s := range steps {
		switch {
		case s.Call != nil:
			s.Call = with(s.Call)
		case s.Choose != nil:
			x := *s.Choose
			x.Versions = slices.Clone(x.Versions)
			for k, v := range x.Versions {
				x.Versions[k].Steps = replaced(v.Steps, with)
			}
			s.Choose = &x
		case s.If != nil:
			x := *s.If
			x.Then, x.Else = replaced(x.Then, with), replaced(x.Else, with)
			s.If = &x
		case s.Loop != nil:
			x := *s.Loop
			x.Body = replaced(x.Body, with)
			s.Loop = &x
		}
		out[i] = s
	}
	return out
}

// ConstantBytes are those of the constants that a variant reads, and of those that no other one does.
func (p *Program) ConstantBytes(variant int) (read, alone int64) {
	readers := map[int64]int{} // by places
	mine := map[int64]int64{}
	for i := range p.Variants() {
		for at, bytes := range p.Variant(i).constantsRead() {
			readers[at]++
			if i == variant {
				mine[at] = bytes
			}
		}
	}
	for at, bytes := range mine {
		if read += bytes; readers[at] == 1 {
			alone += bytes
		}
	}
	return read, alone
}

// constantsRead are the bytes of constants by their places.
func (p *Program) constantsRead() map[int64]int64 {
	out := map[int64]int64{}
	for _, v := range p.mentioned() {
		if at := p.Places[v]; v.Const != nil && at.Region == Weights {
			offset, _ := at.Offset.Const()
			out[offset] = v.Const.Len() * int64(v.Type.Size())
		}
	}
	return out
}

// varying are the values that are no constants: of these each variant has its own, as sums of weights where its instructions want them.
func varying(args []*ir.Value) []*ir.Value {
	return slices.DeleteFunc(slices.Clone(args), func(v *ir.Value) bool { return v.Const != nil })
}

// verifyVariants checks that all variants' kernels take the same values, but for constants, and that each variant can run.
func (p *Program) verifyVariants(proofs loop.Proofs) error {
	for _, c := range p.Calls() {
		if len(c.Others) != p.Others {
			return fmt.Errorf("block %s has kernels of %d more variants; the program has %d more", c.Block.Label(), len(c.Others), p.Others)
		}
		for _, l := range c.Others {
			if !slices.Equal(varying(c.Args), varying(l.Args)) {
				return fmt.Errorf("block %s: its kernels take different values in different variants", c.Block.Label())
			}
		}
	}
	for i := range p.Others {
		if err := p.Variant(i).Verify(proofs); err != nil {
			return fmt.Errorf("variant %d: %w", i, err)
		}
	}
	return nil
}

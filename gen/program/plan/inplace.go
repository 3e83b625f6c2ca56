package plan

import (
	"slices"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/kernel/loop"
)

// InPlace lets results lie where operands lie that no later step reads, if the kernels that compute them allow
// it (loop.Kernel.InPlace). It comes before Run.
func InPlace(p *Program) {
	in := &inPlace{p: p, last: map[*ir.Value]int{}, first: map[*ir.Value]mention{}, fixed: map[*ir.Value]bool{}, placed: map[placing]*loop.Kernel{}}
	for _, v := range slices.Concat(p.Inputs, p.Outputs) {
		in.fixed[v] = true
	}
	in.note(p.Steps)
	in.step = 0
	in.steps(p.Steps)
}

// mention is a step: its number in the program's text, and the list that it stands in.
type mention struct {
	step int
	list *Step // the list's first
}

type inPlace struct {
	p     *Program
	step  int
	first map[*ir.Value]mention // of each value that has memory of its own, or what lies in it
	last  map[*ir.Value]int
	fixed map[*ir.Value]bool // the caller's memory
	// placed are the kernels that were asked for, nil where they cannot be: steps share kernels, so they share these.
	placed map[placing]*loop.Kernel
}

// placing is the question whether one of a kernel's results may lie where an operand does.
type placing struct {
	kernel          *loop.Kernel
	operand, result int
}

func (in *inPlace) kernel(k *loop.Kernel, operand, result int) *loop.Kernel {
	q := placing{k, operand, result}
	out, known := in.placed[q]
	if !known {
		out, _ = k.InPlace(k.Buffers[operand], k.Buffers[result])
		in.placed[q] = out
	}
	return out
}

// kernels are those of all variants, the call's own first; nil where one of them cannot be so.
func (in *inPlace) kernels(c *Call, x, y *ir.Value) []*loop.Kernel {
	operand, result := slices.Index(c.Args, x), slices.Index(c.Args, y)
	if operand < 0 || result < 0 || c.Kernel.Buffers[operand].Write {
		return nil
	}
	out := []*loop.Kernel{in.kernel(c.Kernel, operand, result)}
	for _, l := range c.Others { // which may take other constants before
		operand, result := slices.Index(l.Args, x), slices.Index(l.Args, y)
		if operand < 0 || result < 0 {
			return nil
		}
		out = append(out, in.kernel(l.Kernel, operand, result))
	}
	if slices.Contains(out, nil) {
		return nil
	}
	return out
}

// note finds when memory is used first and last.
func (in *inPlace) note(steps []Step) {
	for _, s := range steps {
		in.step++
		for _, v := range s.values() {
			r, _ := in.p.home(v)
			if _, seen := in.first[r]; !seen {
				in.first[r] = mention{in.step, &steps[0]}
			}
			in.last[r] = in.step
		}
		for _, inner := range s.inner() {
			in.note(inner)
		}
		if s.Loop != nil && s.Loop.While != nil { // read after each iteration
			r, _ := in.p.home(s.Loop.While)
			in.last[r] = in.step
		}
	}
}

func (in *inPlace) steps(steps []Step) {
	for i := range steps {
		in.step++
		if c := steps[i].Call; c != nil {
			in.calls([]*Call{c}, in.step, &steps[0])
		}
		if c := steps[i].Choose; c != nil && c.calls() != nil {
			in.calls(c.calls(), in.step+1, &steps[0])
			in.step += len(c.Versions)
			continue
		}
		for _, inner := range steps[i].inner() {
			in.steps(inner)
		}
	}
}

// calls places the results of the steps from first on, of which one runs: all of them compute the same values.
func (in *inPlace) calls(cs []*Call, first int, list *Step) {
	c, last := cs[0], first+len(cs)-1
	var results []*ir.Value
	for i, b := range c.Kernel.Buffers {
		if b.Write && in.free(c.Args[i], first) {
			results = append(results, c.Args[i])
		}
	}
	for _, y := range results {
		uses := in.uses(cs)
		for i, x := range c.Args {
			if c.Kernel.Buffers[i].Write || !in.dies(uses, x, first, last, list) || !in.p.Layouts[x].Elements(x.Shape).Equal(in.p.Layouts[y].Elements(y.Shape)) {
				continue
			}
			var kernels [][]*loop.Kernel
			for _, c := range cs {
				if ks := in.kernels(c, x, y); ks != nil {
					kernels = append(kernels, ks)
				}
			}
			if len(kernels) == len(cs) {
				in.take(cs, kernels, x, y)
				break
			}
		}
	}
}

// free reports whether a result may lie anywhere: the step is the first that mentions its memory.
func (in *inPlace) free(y *ir.Value, step int) bool {
	_, home := in.p.Homes[y]
	return !home && !in.fixed[y] && in.first[y].step == step
}

// uses is how many arguments of each step lie at a place.
func (in *inPlace) uses(cs []*Call) []map[*ir.Value]int {
	out := make([]map[*ir.Value]int, len(cs))
	for i, c := range cs {
		out[i] = map[*ir.Value]int{}
		for _, vs := range [][]*ir.Value{c.Over, c.Args} {
			for _, v := range vs {
				of, _ := in.p.home(v)
				out[i][of]++
			}
		}
	}
	return out
}

// dies reports whether steps of such uses are the last that read what lies at an operand's place, all of which the operand takes, by
// one operand, and whether it is a step of the same list that wrote it: another run of the list writes it again.
func (in *inPlace) dies(uses []map[*ir.Value]int, x *ir.Value, step, last int, list *Step) bool {
	home := in.p.root(x)
	r, first := home.of, in.first[home.of]
	return home.whole && x.Const == nil && !in.fixed[r] && in.last[r] == last && first.step < step && first.list == list &&
		!slices.ContainsFunc(uses, func(n map[*ir.Value]int) bool { return n[r] != 1 })
}

// take lets a result lie where an operand does.
func (in *inPlace) take(cs []*Call, kernels [][]*loop.Kernel, x, y *ir.Value) {
	r, _ := in.p.home(x)
	in.p.Homes[y] = Home{Of: x, At: sym.Const(0), Whole: true}
	in.last[r] = max(in.last[r], in.last[y])
	for n, c := range cs {
		i, ks := slices.Index(c.Args, x), kernels[n]
		c.Kernel, c.Over = ks[0], append(c.Over, x)
		c.Args = slices.Delete(slices.Clone(c.Args), i, i+1)
		for k := range c.Others {
			l := &c.Others[k]
			i := slices.Index(l.Args, x)
			l.Kernel, l.Args = ks[k+1], slices.Delete(slices.Clone(l.Args), i, i+1)
		}
	}
}

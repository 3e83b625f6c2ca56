package follow

import (
	"slices"

	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/kernel/loop"
	"rules_dnn/gen/kernel/sched"
)

// sumsStored reports whether the stage's tile sums over what is stored of a constant.
func (c *stage) sumsStored() bool {
	return c.stored != nil && c.sched.Loops[c.stored.Kernels].Kind == sched.Sum
}

// channelName is the variable of a kernel's channel in what a tile reads of X.
func (c *stage) channelName() string { return c.sched.Loops[c.stored.Kernels].Var + "_channel" }

// openKernels puts variables in place of what a tile walks of stored kernels, for X, and their first one, for W.
func (f *follower) openKernels(c *stage) {
	z := c.stored
	channels, _ := z.Channel.Extent.Const()
	f.facts[c.channelName()] = sym.Range{Lo: 0, Hi: max(channels, 1) - 1}
	c.coords[z.Channel.Var] = sym.Var(c.channelName())
	for _, a := range z.Taps {
		n, _ := a.Extent.Const()
		f.facts[tapName(a.Var)] = sym.Range{Lo: 0, Hi: max(n, 1) - 1}
		c.coords[a.Var] = sym.Var(tapName(a.Var))
	}
	f.in[z.Operand].enc.at = f.weight(c, sym.Var(firstName(c.sched.Loops[z.Kernels])), 0)
}

// tapName is the variable of a tap's axis.
func tapName(axis string) string { return axis + "_tap" }

// firstKernel is X at the channel and tap 0.
func (c *stage) firstKernel(zero map[string]sym.Expr) {
	zero[c.channelName()] = sym.Const(0)
	for _, a := range c.stored.Taps {
		zero[tapName(a.Var)] = sym.Const(0)
	}
}

// kernelsOf tells a tile where its kernels' channels and the ends of their runs are.
func (f *follower) kernelsOf(c *stage, t *loop.Tile) {
	z, e := c.stored, f.in[c.stored.Operand].enc
	channels, _ := z.Channel.Extent.Const()
	t.Index, t.IndexAt = e.index, sym.Var(firstName(c.sched.Loops[z.Kernels]))
	t.Ends, t.EndsAt = e.stride, sym.Scale(c.storedNumber(), z.Ends(channels))
	if z.Part >= 0 {
		t.EndsAt = sym.Add(t.EndsAt, sym.Scale(sym.Var(c.sched.Loops[z.Part].Var), z.Runs()))
	}
}

// keep is the sum of a tile over stored kernels.
func (f *follower) keep(c *stage, x loop.Mem) (*loop.Kept, error) {
	z := c.stored
	channels, _ := z.Channel.Extent.Const()
	filters, _ := z.Filter.Extent.Const()
	k := &loop.Kept{Blocks: z.Blocks(channels), Channels: channels, Kernels: 10 * z.Encoding.Kernels / max(z.Stored(filters), 1), Given: z.Given}
	if z.Part >= 0 {
		k.Kernels, k.Blocks, k.Part = k.Kernels/k.Blocks, 1, z.Block
	}
	if !f.channels(c, x, k) {
		return nil, unsuited("channels of X at %s do not have a constant stride", x.Index)
	}
	steps, ok := f.tapSteps(c, x)
	if !ok {
		return nil, unsuited("taps of X at %s do not have a constant stride", x.Index)
	}
	for _, p := range z.Patterns {
		var taps []int64
		for _, tap := range p.Taps() {
			taps = append(taps, c.tapAt(tap, steps))
		}
		k.Taps = append(k.Taps, taps)
	}
	return k, nil
}

// tapSteps is how far neighbours along each axis of the taps lie from one another in X; false where that is not constant.
func (f *follower) tapSteps(c *stage, x loop.Mem) ([]int64, bool) {
	var out []int64
	for _, a := range c.stored.Taps {
		e, linear := sym.Coefficient(x.Index, tapName(a.Var), f.facts)
		step, isConst := e.Const()
		if !linear || !isConst {
			return nil, false
		}
		out = append(out, step)
	}
	return out, true
}

// tapAt is how far behind the first tap one lies in X.
func (c *stage) tapAt(tap int, steps []int64) int64 {
	sum := int64(0)
	for d, a := range slices.Backward(c.stored.Taps) {
		n, _ := a.Extent.Const()
		sum, tap = sum+int64(tap)%n*steps[d], tap/int(n)
	}
	return sum
}

// channels finds how channels lie in X: one after the other, or in groups.
func (f *follower) channels(c *stage, x loop.Mem, k *loop.Kept) bool {
	name := c.channelName()
	k.Group = f.divisor(x.Index, name)
	if k.Group == 0 {
		k.Group = k.Channels
	}
	group, within := name+"_group", name+"_within"
	facts := sym.Facts{group: {Lo: 0, Hi: (k.Channels - 1) / k.Group}, within: {Lo: 0, Hi: k.Group - 1}}
	for v, r := range f.facts {
		facts[v] = r
	}
	e := x.Index.Subst(map[string]sym.Expr{name: sym.Add(sym.Scale(sym.Var(group), k.Group), sym.Var(within))}, facts)
	outer, ok := sym.Coefficient(e, group, facts)
	inner, ok1 := sym.Coefficient(e, within, facts)
	var isConst, isConst1 bool
	k.GroupStep, isConst = outer.Const()
	k.Step, isConst1 = inner.Const()
	return ok && ok1 && isConst && isConst1
}

// divisor is what an index divides a variable by, or 0.
func (f *follower) divisor(e sym.Expr, name string) int64 {
	terms, _ := e.Terms()
	for _, t := range terms {
		for _, a := range t.Atoms {
			if n, isConst := a.B.Const(); a.Kind != sym.AtomVar && isConst && a.A.Uses(name) {
				return n
			}
		}
	}
	return 0
}

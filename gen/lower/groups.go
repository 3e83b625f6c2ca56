package lower

import (
	"rules_dnn/gen/sym"
	"rules_dnn/gen/te"
)

// convVar numbers the groups of a grouped convolution.
const convVar = "co"

// groupSize is how many neighbours of an axis share the operand's elements: the load reads the axis
// only as axis // size, as a convolution of several groups reads its input channels. 0: it does not.
func groupSize(l te.Load, a te.Axis) int64 {
	size := int64(0)
	for _, e := range l.Index {
		terms, _ := e.Terms()
		for _, t := range terms {
			for _, at := range t.Atoms {
				if !sym.FromAtom(at).Uses(a.Var) {
					continue
				}
				n, isConst := at.B.Const()
				if at.Kind != sym.AtomDiv || !isConst || !at.A.Equal(sym.Var(a.Var)) || size != 0 && size != n {
					return 0
				}
				size = n
			}
		}
	}
	if extent, ok := a.Extent.Const(); size == 0 || !ok || extent%size != 0 {
		return 0
	}
	return size
}

// split takes the channel axis as groups that read different channels of X: X no longer depends
// on the channel within its group, so that each group is a contraction of its own.
func (c *contraction) split(a te.Axis, size int64) {
	extent, _ := a.Extent.Const()
	c.groups, c.channels = extent/size, size
	first := map[string]sym.Expr{a.Var: sym.Scale(sym.Var(convVar), size)}
	c.x = te.SubstIndices(c.x, first, nil).(te.Load)
}

// groupAxis is the loop over the groups.
func (c *contraction) groupAxis() te.Axis { return te.Axis{Var: convVar, Extent: sym.Const(c.groups)} }

// firstChannel is the first result channel of the group at hand.
func (c *contraction) firstChannel() sym.Expr {
	if c.groups == 1 {
		return sym.Const(0)
	}
	return sym.Scale(sym.Var(convVar), c.channels)
}

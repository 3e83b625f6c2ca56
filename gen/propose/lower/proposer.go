package lower

import (
	"slices"

	"rules_dnn/gen/fusion/block"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/kernel/layout"
)

// Proposer is a way to compute blocks. Package propose has the table of them.
type Proposer struct {
	// Name is unique in the table.
	Name string
	// Kernels are what the names of its kernels begin with. If a kernel is wanted by its name or
	// its parameters, proposers of other kernels are not asked. Nil: it is always asked.
	Kernels []string
	// Switch reports whether the options let it propose kernels. Nil: they always do.
	Switch func(*Options) bool
	// Calls: it computes calls of opaque operators. Others compute stages.
	Calls bool
	// YieldsTo are names of proposers. It proposes nothing for a block that one of them claims,
	// unless a kernel is wanted by its name or its parameters.
	YieldsTo []string
	// Claims reports whether its kernels compute a block better than those of proposers that yield
	// to it, where estimates do not know. Nil: it claims nothing.
	Claims func(*block.Block, *Env) (bool, error)
	// Layouts calls want for layouts in which its kernels read or store values, besides row-major
	// and blocks of channels. Nil: none.
	Layouts func(b *block.Block, env *Env, want func(*ir.Value, layout.Layout)) error
	// AnyOrder reports whether its kernels of a block read and store values with their axes in any
	// order. Nil: they do not.
	AnyOrder func(*block.Block, *Env) bool
	// ConstantKey returns Elements if the elements of a constant decide about its kernels, or the
	// same text for constants with the same kernels. zero: the constant is a zero point. Nil: it
	// returns "".
	ConstantKey func(v *ir.Value, zero bool, env *Env) (string, error)
	// GroupCycles returns the estimated cycles of its best kernel of work-groups, or +Inf. Nil:
	// items of its kernels share nothing.
	GroupCycles func(*block.Block, *Env) float64
	// Split returns the ways to compute a block as several blocks. results has the results of each
	// transform along an axis. Nil: it returns none.
	Split func(b *block.Block, env *Env, results []int64) [][]*block.Block
	// Propose returns kernels that compute the block in its layouts.
	Propose func(*block.Block, *Env) ([]*Lowered, error)
}

// Elements is the key of constants whose elements decide about kernels.
const Elements = "elements"

// One adapts a function that returns one kernel, or nil.
func One(propose func(*block.Block, *Env) (*Lowered, error)) func(*block.Block, *Env) ([]*Lowered, error) {
	return func(b *block.Block, env *Env) ([]*Lowered, error) {
		l, err := propose(b, env)
		if l == nil || err != nil {
			return nil, err
		}
		return []*Lowered{l}, nil
	}
}

// On reports whether the options let the proposer propose kernels.
func (p *Proposer) On(o *Options) bool { return p.Switch == nil || p.Switch(o) }

// Wanted reports whether the proposer is asked for kernels of a block.
func (p *Proposer) Wanted(b *block.Block, env *Env) bool {
	return p.Calls == (b.Call != nil) && p.On(&env.Options) &&
		(p.Kernels == nil || slices.ContainsFunc(p.Kernels, env.Wants))
}

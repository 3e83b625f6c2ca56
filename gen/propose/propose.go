// Package propose has the table of proposers, which are the ways to compute blocks, and asks them.
package propose

import (
	"math"
	"slices"

	"rules_dnn/gen/fusion/block"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/kernel/layout"
	"rules_dnn/gen/propose/attend"
	"rules_dnn/gen/propose/contract/depthwise"
	"rules_dnn/gen/propose/contract/pooled"
	"rules_dnn/gen/propose/contract/pruned"
	"rules_dnn/gen/propose/contract/tiled"
	"rules_dnn/gen/propose/contract/winograd"
	"rules_dnn/gen/propose/lower"
	"rules_dnn/gen/propose/nest"
	"rules_dnn/gen/propose/product"
	"rules_dnn/gen/propose/workgroup"
)

// table has the proposers in the order in which equal estimates are preferred.
var table = []*lower.Proposer{
	{
		Name: "pruned filters", Kernels: []string{pruned.Anchor}, Switch: skipsZeros,
		ConstantKey: sparse, Propose: pruned.Filters,
	},
	{Name: "pruned pixels", Kernels: []string{pruned.PixelsAnchor}, Switch: skipsZeros, Propose: pruned.Pixels},
	{
		Name: "pruned pixels apart", Kernels: []string{pruned.PixelsAnchor}, Switch: skipsZeros,
		Layouts: pruned.PixelLayouts, Propose: pruned.Apart,
	},
	{Name: "pooled", Propose: pooled.Candidates}, // its kernels have names of those whose results it pools
	{
		Name: "tiled", Kernels: []string{tiled.Anchor, lower.WindowAnchor},
		YieldsTo: []string{"group tiles", "group sums"}, Propose: tiled.Candidates,
	},
	{Name: "depthwise", Kernels: []string{depthwise.Anchor}, Propose: lower.One(depthwise.Candidate)},
	{
		Name: "winograd pruned", Kernels: []string{winograd.Anchor},
		Switch: func(o *lower.Options) bool { return o.Winograd && skipsZeros(o) }, Propose: winograd.Kept,
	},
	{
		Name: "winograd", Kernels: []string{winograd.Anchor},
		Switch: func(o *lower.Options) bool { return o.Winograd },
		Split:  winograd.SplitFilters, Propose: winograd.Candidates,
	},
	{
		Name: "product", Kernels: []string{product.Anchor, lower.WindowAnchor}, Switch: contracts,
		Layouts: product.Layouts, AnyOrder: product.AnyOrder, ConstantKey: product.ConstantKey, Propose: product.Propose,
	},
	{Name: "long product", Kernels: []string{attend.LongAnchor}, Switch: contracts, Propose: attend.LongProduct},
	{
		Name: "group tiles", Kernels: []string{workgroup.TilesAnchor}, Switch: contracts,
		Claims: workgroup.ClaimsTiles, GroupCycles: workgroup.TileCycles, Propose: workgroup.Tiles,
	},
	{
		Name: "group sums", Kernels: []string{workgroup.SumsAnchor}, Switch: contracts,
		Claims: workgroup.ClaimsSums, GroupCycles: workgroup.SumCycles, Propose: workgroup.Sums,
	},
	{
		Name: "group rows", Kernels: []string{workgroup.RowsAnchor}, Switch: contracts,
		Claims: workgroup.ClaimsRows, Propose: lower.One(workgroup.Rows),
	},
	{
		Name: "attention", Kernels: []string{attend.Anchor}, Switch: contracts, AnyOrder: attend.AnyOrder,
		Claims: attend.Claims, GroupCycles: attend.GroupCycles, Propose: attend.Propose,
	},
	{Name: "choices", Kernels: []string{workgroup.ChoicesAnchor}, Propose: lower.One(workgroup.Choices)},
	{
		Name: "chain", Kernels: []string{nest.ChainAnchor},
		YieldsTo: []string{"group rows", "attention"}, Propose: lower.One(nest.Chain),
	},
	{Name: "update", Kernels: []string{nest.UpdateAnchor}, Propose: lower.One(nest.Update)},
	{
		Name: "generic", Kernels: []string{nest.GenericAnchor, lower.WindowAnchor},
		YieldsTo: []string{"group tiles", "group sums"}, Propose: lower.One(nest.Generic),
	},
	{Name: "opaque", Calls: true, Propose: lower.One(nest.Opaque)},
}

func contracts(o *lower.Options) bool  { return o.Contractions }
func skipsZeros(o *lower.Options) bool { return o.Pruned.On() }

// sparse returns lower.Elements for constants whose zeros kernels skip.
func sparse(v *ir.Value, _ bool, env *lower.Env) (string, error) {
	if many, err := env.Pruned.Sparse(v); !many || err != nil {
		return "", err
	}
	return lower.Elements, nil
}

// Kernels returns the kernels that compute a block in its layouts.
func Kernels(b *block.Block, env *lower.Env) ([]*lower.Lowered, error) {
	var out []*lower.Lowered
	for _, p := range table {
		if !p.Wanted(b, env) {
			continue
		}
		yields, err := yields(p, b, env)
		if err != nil {
			return nil, err
		}
		if yields {
			continue
		}
		all, err := p.Propose(b, env)
		if err != nil {
			return nil, err
		}
		out = append(out, all...)
	}
	return slices.DeleteFunc(out, func(l *lower.Lowered) bool { return !l.Named(env.Only) }), nil
}

// yields reports whether another proposer claims the block.
func yields(p *lower.Proposer, b *block.Block, env *lower.Env) (bool, error) {
	if env.Only != "" || env.Varies() {
		return false, nil
	}
	for _, q := range table {
		if !slices.Contains(p.YieldsTo, q.Name) || !q.On(&env.Options) {
			continue
		}
		if claimed, err := q.Claims(b, env); claimed || err != nil {
			return true, err
		}
	}
	return false, nil
}

// Layouts calls want for layouts in which kernels read or store values of a stage's block, besides
// row-major and blocks of channels.
func Layouts(b *block.Block, env *lower.Env, want func(*ir.Value, layout.Layout)) error {
	for _, p := range table {
		if p.Layouts == nil || !p.On(&env.Options) {
			continue
		}
		if err := p.Layouts(b, env, want); err != nil {
			return err
		}
	}
	return nil
}

// AnyOrder reports whether there are kernels of a stage's block that read and store values with
// their axes in any order.
func AnyOrder(b *block.Block, env *lower.Env) bool {
	return slices.ContainsFunc(table, func(p *lower.Proposer) bool {
		return p.AnyOrder != nil && p.On(&env.Options) && p.AnyOrder(b, env)
	})
}

// ConstantKey returns lower.Elements if the elements of a constant decide about kernels, or the
// same text for constants with the same kernels. zero: the constant is a zero point.
func ConstantKey(v *ir.Value, zero bool, env *lower.Env) (string, error) {
	out := ""
	for _, p := range table {
		if p.ConstantKey == nil || !p.On(&env.Options) {
			continue
		}
		key, err := p.ConstantKey(v, zero, env)
		if key == lower.Elements || err != nil {
			return key, err
		}
		out += key
	}
	return out, nil
}

// GroupCycles returns the estimated cycles of the best kernel whose work-items share what they read
// or sum, or +Inf.
func GroupCycles(b *block.Block, env *lower.Env) float64 {
	least := math.Inf(1)
	for _, p := range table {
		if p.GroupCycles != nil && p.On(&env.Options) {
			least = min(least, p.GroupCycles(b, env))
		}
	}
	return least
}

// Sharing returns the kernels whose workers share what they read. No proposer yields to another.
func Sharing(b *block.Block, env *lower.Env) ([]*lower.Lowered, error) {
	var out []*lower.Lowered
	for _, p := range table {
		if p.GroupCycles == nil || !p.Wanted(b, env) {
			continue
		}
		all, err := p.Propose(b, env)
		if err != nil {
			return nil, err
		}
		out = append(out, all...)
	}
	return out, nil
}

// Splits returns the ways to compute a block as several blocks. results has the results of each
// transform along an axis.
func Splits(b *block.Block, env *lower.Env, results []int64) [][]*block.Block {
	var out [][]*block.Block
	for _, p := range table {
		if p.Split != nil && p.On(&env.Options) {
			out = append(out, p.Split(b, env, results)...)
		}
	}
	return out
}

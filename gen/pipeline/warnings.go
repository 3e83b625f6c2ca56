package pipeline

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/cost"
	"rules_dnn/gen/kernel/loop"
	"rules_dnn/gen/ops"
	"rules_dnn/gen/program/plan"
	"rules_dnn/gen/propose/match"
	"rules_dnn/gen/propose/refusal"
	"rules_dnn/gen/selection/sel"
)

// Kinds of warnings.
const (
	// Untiled blocks are contractions without a register tile, and leastShare of the network or more.
	Untiled = "untiled"
	// Baseline is a chip with the least that its processors have.
	Baseline = "baseline"
	// Pruning is weights that were dropped without retraining.
	Pruning = "pruning"
	// Range is values that leave the range of f16, which is asked for, and stay f32.
	Range = "range"
)

// WarningKinds are all: these, and those of graphs.
var WarningKinds = []string{Baseline, ir.Declared, ir.Default, Pruning, Range, Untiled}

const (
	leastShare  = 0.01 // of the network's operations
	maxWarnings = 10   // of blocks; the last one counts the others
	maxNodes    = 3    // that a warning names
)

// warnings are what makes the program slow and may be mended, in an order that depends on nothing else.
func (s *State) warnings() []plan.Warning {
	var out []plan.Warning
	for _, w := range s.Graph.Warnings {
		out = append(out, plan.Warning(w))
	}
	if text := s.Target.Baseline(); text != "" {
		out = append(out, plan.Warning{Kind: Baseline, Text: text})
	}
	out = append(out, s.leaving()...)
	// Who switches tiles off knows that they are.
	if o := s.selectOptions(); o.Contractions && o.Windows {
		out = append(out, s.untiled()...)
	}
	return out
}

// leaving reports values that stay f32 though 16 bits are asked for, since their numbers are known to leave the range.
func (s *State) leaving() []plan.Warning {
	if s.Precision == nil {
		return nil
	}
	var out []plan.Warning
	for i, k := range s.Precision.Far {
		if i == maxWarnings-1 && len(s.Precision.Far) > maxWarnings {
			out = append(out, plan.Warning{Kind: Range, Text: fmt.Sprintf("%d more nodes stay f32 because their numbers leave the range; the manifest lists them (precision)", len(s.Precision.Far)-i)})
			break
		}
		out = append(out, plan.Warning{Kind: Range, Text: fmt.Sprintf("%s stays f32: %s", k.Node, k.Why)})
	}
	return out
}

// slow are untiled blocks of the same operators, refused for the same reason.
type slow struct {
	ops, refusal string
	label        string // of the first
	blocks       int
	share        float64
}

// untiled reports blocks without register tiles, those with most operations first.
func (s *State) untiled() []plan.Warning {
	facts, total := s.typical(), 0.0
	for _, l := range s.Program.Launches() {
		total += operations(l.Call, facts)
	}
	var groups []*slow
	for _, c := range s.Program.Calls() {
		n := operations(c, facts)
		total += n
		if c.Block.Stage == nil || tiled(c) {
			continue
		}
		refusal := refusal.Of(c.Block, s.Target)
		if refusal == "" {
			continue
		}
		key := strings.Join(c.Block.Ops, "+")
		i := slices.IndexFunc(groups, func(g *slow) bool { return g.ops == key && g.refusal == refusal })
		if i < 0 {
			i = len(groups)
			groups = append(groups, &slow{ops: key, refusal: refusal, label: label(c.Block.Origins)})
		}
		groups[i].blocks++
		groups[i].share += n
	}
	groups = slices.DeleteFunc(groups, func(g *slow) bool { return g.share == 0 || g.share < leastShare*total })
	slices.SortStableFunc(groups, func(a, b *slow) int { return cmp.Compare(b.share, a.share) })
	return tell(groups, total)
}

// tell makes a warning of each group, and one of those that are too many.
func tell(groups []*slow, total float64) []plan.Warning {
	var out []plan.Warning
	for i, g := range groups {
		if i == maxWarnings-1 && len(groups) > maxWarnings {
			out = append(out, plan.Warning{Kind: Untiled, Text: fmt.Sprintf("%d more kinds of blocks have no register tiles; the manifest has each block's tiles", len(groups)-i)})
			break
		}
		who := g.label
		if g.blocks > 1 {
			who = fmt.Sprintf("%d blocks, the first %s", g.blocks, g.label)
		}
		out = append(out, plan.Warning{Kind: Untiled, Text: fmt.Sprintf("%s: no register tile for %.0f %% of the network's operations: %s", who, 100*g.share/total, g.refusal)})
	}
	return out
}

// label names a block by its nodes, of which it may have very many.
func label(nodes []string) string {
	if len(nodes) <= maxNodes {
		return strings.Join(nodes, " + ")
	}
	return fmt.Sprintf("%s + %d more nodes", strings.Join(nodes[:maxNodes], " + "), len(nodes)-maxNodes)
}

func tiled(c *plan.Call) bool {
	found := false
	loop.Tiles(c.Kernel.Body, func(loop.Tile) { found = true })
	loop.Walk(c.Kernel.Body, func(s loop.Stmt) bool {
		found = found || loop.MultiplyAdds(s)
		return true
	})
	return found
}

// typical fixes the program's symbols at what estimates take them for.
func (s *State) typical() sym.Facts {
	out, usual := sym.Facts{}, sel.Usual(s.Blocks)
	for name, r := range s.Program.Facts {
		if u, ok := usual[name]; ok {
			r = u
		}
		n := cost.Typical(r)
		out[name] = sym.Range{Lo: n, Hi: n}
	}
	return out
}

// operations are the FLOPs of a call, and two for each product of integers.
func operations(c *plan.Call, facts sym.Facts) float64 {
	n := 0.0
	for _, st := range c.Block.Stages() {
		count := ops.StageFLOPs(st)
		if match.Contracts(st) && !st.Values[0].DType().IsFloat() {
			count = sym.Scale(sym.Mul(points(st.Axes), points(st.Reduce)), 2)
		}
		if count.Overflow() {
			continue
		}
		_, hi := count.Bounds(facts)
		n += float64(max(hi, 0))
	}
	return n
}

func points(axes []te.Axis) sym.Expr {
	n := sym.Const(1)
	for _, a := range axes {
		n = sym.Mul(n, a.Extent)
	}
	return n
}

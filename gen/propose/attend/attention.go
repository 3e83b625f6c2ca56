// Package attend proposes kernels of attention with an online softmax, by work-groups and by tasks.
package attend

import (
	"rules_dnn/gen/fusion/block"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/propose/lower"
	"rules_dnn/gen/propose/match"
	"rules_dnn/gen/propose/workgroup"
	"rules_dnn/gen/target"
)

// attention is a block of scores, a softmax of them and a product of that and values, with an online softmax: scores of some keys at a time are all that
// is there of them. A running maximum and a running sum of each query, and results in proportion to these, are carried from one chunk of keys to the
// next, and scaled where the maximum grows. Items of a work-group have some queries together.
type attention struct {
	env    *lower.Env
	b      *block.Block
	device *target.OpenCL // nil: tasks of a processor compute it
	outer  string         // the loop over groups, or tasks, in each iteration of which the other stages are computed
	// scores, most and total are stages of the block, and y its dominant one, which multiplies values.
	scores, most, total, y *te.Stage
	// query is the number of the axis of queries, among those that all stages have in common, and key and column the other ones of scores and results.
	query               int
	queries             sym.Expr
	key, column         te.Axis
	depth               []te.Axis // over which scores are summed
	q, k, v             *match.Term
	queryFirst, divides bool // the order of the factors of a score; and results are divided by the total, not multiplied with what is made of it
	numbers             bool // weights that are no numbers, which all of a row are or none, count as 0
	counts              bool // weights of a row in which no key counts are 0, and no numbers otherwise
	// score is what a score becomes before it is compared, of the axes of scores.
	score te.Expr
	// keeps is the number of the stage of running results; the dominant one is behind it.
	keeps int
	// granule is of which whole number there are queries, some of them behind the last one.
	granule int64
	// last is the same of running results, where it is less; 0 where it is not. All of a task's queries are copied, as vectors of them are.
	last int64
	attentionTile
}

// Anchor begins the names of these kernels.
const Anchor = "attention"

// Propose proposes schedules for attention whose work-items share what they read, and follows them; none where the block is none.
func Propose(b *block.Block, env *lower.Env) ([]*lower.Lowered, error) {
	if !env.Target.WorkItems() {
		return taskedAttention(b, env)
	}
	a := attentionOf(b, env)
	if a == nil {
		return nil, nil
	}
	var out []*lower.Lowered
	for _, t := range a.tiles() {
		if env.Only != "" && lower.Unhashed(env.Only) != t.name() {
			continue
		}
		l, err := a.follow(t)
		if err != nil {
			return nil, err
		}
		if l != nil {
			out = append(out, l)
		}
		if env.Only == "" && len(out) == max(1, env.Tiles) {
			break
		}
	}
	return out, nil
}

// follow is the kernel of a tile; nil where the device takes none.
func (a *attention) follow(t attentionTile) (*lower.Lowered, error) {
	at := *a
	at.attentionTile, at.granule = t, t.rows
	p := at.schedule()
	if !p.Shares(a.device) {
		return nil, nil
	}
	l, err := a.env.Suits(Anchor, p, a.b)
	if l == nil || err != nil {
		return nil, err
	}
	l.Name = t.name() + lower.DigestMark + p.Sched.Digest()
	return l, nil
}

// attentionOf recognises attention on a device whose items share memory, by what the block's stages read of each other; nil where it is none.
func attentionOf(b *block.Block, env *lower.Env) *attention {
	o, err := env.Target.WorkGroups()
	if err != nil || o.LocalBytes == 0 || !workgroup.LiesInRows(b, env.Layouts) {
		return nil
	}
	return recognised(&attention{env: env, b: b, device: o, outer: workgroup.AcrossGroups})
}

// Claims reports whether there is a kernel of a block if its values, which are copied then, are
// row-major.
func Claims(b *block.Block, env *lower.Env) (bool, error) {
	all, err := Propose(b, env.InRows())
	return len(all) > 0, err
}

// AnyOrder reports whether a block is attention by tasks, which take values with any order of axes.
func AnyOrder(b *block.Block, env *lower.Env) bool {
	return !env.Target.WorkItems() && recognised(&attention{env: env, b: b}) != nil
}

// recognised is attention whose parts are known; nil where a block is none.
func recognised(a *attention) *attention {
	b := a.b
	if len(b.Placed) < 3 || b.Depth == 0 || b.Stage.Update != nil || a.env.Target.Tile(ir.F32) == nil {
		return nil
	}
	a.scores, a.y, a.keeps = b.Placed[0], b.Stage, runningResults
	for i, x := range b.Stage.Axes[:b.Depth] {
		if !x.Extent.Is(1) {
			a.query = i
		}
	}
	a.queries = b.Stage.Axes[a.query].Extent
	if !a.products() || !a.softmax() || !a.weighted() {
		return nil
	}
	return a
}

// products finds what scores are sums of.
func (a *attention) products() bool {
	m, _ := match.Find(a.scores, a.b.Operands, nil)
	own := workgroup.Several(a.scores.Axes[a.b.Depth:])
	if m == nil || m.Empty() || m.Sum() != ir.F32 || len(own) != 1 || len(a.scores.Results) != 1 || !match.Floats(a.scores.Results[0].DType()) || !match.Static(m.Reduce) {
		return false
	}
	a.key, a.depth = own[0], m.Reduce
	row := a.scores.Axes[a.query].Var
	for i, t := range m.Factors {
		if !plainFactor(t) {
			return false
		}
		switch inRow, inKey := t.Uses(row), t.Uses(a.key.Var); {
		case inKey && !inRow && a.k == nil:
			a.k = t
		case !inKey && a.q == nil:
			a.q, a.queryFirst = t, i == 0
		default:
			return false
		}
	}
	return len(a.depth) > 0
}

// plainFactor reports whether a factor is floats as they are stored, and zero beyond what a guard allows.
func plainFactor(t *match.Term) bool {
	return t.Zero == nil && t.Computed == nil && match.Floats(t.Load.Type) && match.ZeroDefault(t.Load)
}

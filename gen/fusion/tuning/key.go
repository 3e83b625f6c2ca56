package tuning

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"

	"rules_dnn/gen/fusion/block"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/layout"
	"rules_dnn/gen/target"
)

// Key is what a block's kernels depend on, hashed: its stages, the types, shapes and layouts of its values, the
// ranges of symbols, and the chip's facts. No names of nodes, values and variables are in it, nor what constants hold: a kernel that is only
// for some weights is stale for others. How a kernel stores constants is in its schedule, of which its name has a digest.
// Blocks that call opaque operators have one kernel each, and no key.
func Key(b *block.Block, lay func(*ir.Value) layout.Layout, symbols sym.Facts, t *target.Target) string {
	sum := sha256.Sum256([]byte(keyText(b, lay, symbols) + t.Digest()))
	return hex.EncodeToString(sum[:8])
}

// What describes a block to people.
func What(b *block.Block, lay func(*ir.Value) layout.Layout) string {
	var out strings.Builder
	out.WriteString(strings.Join(b.Ops, "+"))
	for i, v := range append(append([]*ir.Value{}, b.Results...), b.Operands...) {
		if i == len(b.Results) {
			out.WriteString(" of")
		}
		fmt.Fprintf(&out, " %s%s", v.Type, v.Shape)
		if l := lay(v); l != layout.RowMajor {
			fmt.Fprintf(&out, " %s", l)
		}
	}
	return out.String()
}

func keyText(b *block.Block, lay func(*ir.Value) layout.Layout, symbols sym.Facts) string {
	w := te.NewWriter()
	for _, s := range b.Stages() {
		w.Stage(s)
	}
	first := map[*ir.Value]int{}
	for i, v := range append(append([]*ir.Value{}, b.Operands...), b.Results...) {
		if _, ok := first[v]; !ok {
			first[v] = i
		}
		kind := "value"
		if v.Const != nil {
			kind = "constant"
		}
		w.Line("%s %d %s %s %s", kind, first[v], v.Type, w.Exprs(v.Shape), lay(v))
	}
	w.Line("depth %d, %d operands", b.Depth, len(b.Operands))
	for _, s := range slices.Sorted(maps.Keys(w.Used)) {
		if r, ok := symbols[s]; ok {
			w.Line("symbol %s %d..%d", s, r.Lo, r.Hi)
		}
	}
	return w.String()
}

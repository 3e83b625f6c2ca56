package opencl

import (
	"fmt"
	"slices"
	"sort"
	"strings"

	"rules_dnn/gen/emit/ckernel"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/loop"
	planned "rules_dnn/gen/program/plan"
	"rules_dnn/gen/target"
)

// dims is how many dimensions the grid of work-items has.
const dims = planned.Dims

// kernel is a kernel as it is run: one work-item a task; where tasks need memory of their own, workers that take one task after the
// other; and where loops are over the items of a task, a group each.
type kernel struct {
	*loop.Kernel
	syms    []string
	workers int64 // 0: one work-item or group a task
	items   int64 // of a task's group; 0: a task is an item
	extents [dims]sym.Expr
	group   [dims]int64
	aligned map[*loop.Buffer]int64 // see quads
	// inSubGroups is the same whose items exchange what they have within sub-groups of so many; nil: they need not.
	inSubGroups *loop.Kernel
	subGroup    int64
}

func plan(k *loop.Kernel, t *target.OpenCL) (*kernel, error) {
	out := &kernel{Kernel: k, syms: symbols(k), extents: planned.Extents(k, t.Workers)}
	out.group = planned.Groups(k, out.extents, t.GroupItems)
	if k.Items() > 1 {
		return out, out.planItems(t)
	}
	if len(k.Scratch) > 0 {
		out.workers = t.Workers
	}
	return out, nil
}

// planItems makes the kernel what one item of a task's group does.
func (k *kernel) planItems(t *target.OpenCL) error {
	k.items = k.Kernel.Items()
	err := t.Takes(k.items, k.SharedBytes())
	if err != nil {
		return err
	}
	if t.Exchange {
		k.inSubGroups, k.subGroup = k.InSubGroups(t.SubGroup), t.SubGroup
	}
	if k.inSubGroups != nil {
		if err := loop.Verify(k.inSubGroups); err != nil {
			return err
		}
		if k.inSubGroups, err = k.inSubGroups.ByItems(); err != nil {
			return err
		}
	}
	k.Kernel, err = k.ByItems()
	return err
}

// symbols are those that the kernel reads, sorted: in its body, and in the extents of its grid and
// of its workers' memory.
func symbols(k *loop.Kernel) []string {
	used := map[string]bool{}
	for _, s := range k.Syms {
		used[s] = true
	}
	for _, a := range k.Grid {
		a.Extent.Vars(used)
	}
	for _, b := range k.Scratch {
		b.Size.Vars(used)
	}
	var out []string
	for s := range used {
		out = append(out, s)
	}
	sort.Strings(out)
	return out
}

// params are the declarations of the kernel's parameters: buffers, symbols, the workers' memory, where
// it reports indices that are out of bounds.
func (k *kernel) params() string {
	var ps []string
	for _, b := range k.Buffers {
		switch {
		case b.Image != nil && b.Write:
			ps = append(ps, "__write_only image2d_t "+b.Name)
		case b.Image != nil:
			ps = append(ps, "__read_only image2d_t "+b.Name)
		case b.Write:
			ps = append(ps, elements("", b)...)
		default:
			ps = append(ps, elements("const ", b)...)
		}
	}
	for _, s := range k.syms {
		ps = append(ps, "const dnn_index "+ckernel.Variable(s))
	}
	for _, b := range k.Scratch {
		ps = append(ps, elements("", b)...)
	}
	if loop.Refuses(k.Body) {
		ps = append(ps, "__global int* bad_index, const ulong bad_index_at")
	}
	return strings.Join(ps, ", ")
}

// elements are the parameters of a buffer: memory of which others may have a part, and the element at which the buffer begins. Values
// lie anywhere in a space's memory, views of others at any element, where no buffer object could begin.
func elements(constant string, b *loop.Buffer) []string {
	return []string{fmt.Sprintf("__global %s%s* restrict %s_all", constant, storage(b.Type), b.Name), fmt.Sprintf("const ulong %s_at", b.Name)}
}

// begin declares the buffers where they begin.
func (k *kernel) begin(w *ckernel.Kernel) {
	for _, b := range k.Buffers {
		if b.Image != nil {
			continue
		}
		constant := "const "
		if b.Write {
			constant = ""
		}
		w.Line("__global %s%s* restrict %s = %s_all + %s_at;", constant, storage(b.Type), b.Name, b.Name, b.Name)
	}
}

// body prints what stands between the braces of the kernel's definition.
func (k *kernel) body() (string, error) {
	facts := sym.Facts{}
	for v, r := range k.Facts {
		facts[v] = r
	}
	w := ckernel.New(k.dialect(), facts)
	w.Writer.Indent = 1
	k.begin(w)
	refuses := loop.Refuses(k.Body)
	if refuses {
		w.Line("int bad = 0;  // an index out of bounds, or a divisor that is 0")
	}
	switch {
	case k.workers > 0:
		k.workerLoop(w, facts)
	case k.items > 0:
		k.groupOfItems(w, facts)
	default:
		w.Statements(k.grid(w, facts))
	}
	if refuses {
		w.Line("if (bad) bad_index[bad_index_at] = 1;")
	}
	return w.String(), w.Err()
}

// dialect is that of a kernel, in which loops over sums stay loops where items multiply together.
func (k *kernel) dialect() dialect {
	d := dialect{k: k.Kernel, aligned: k.aligned}
	loop.Tiles(k.Body, func(t loop.Tile) {
		if t.Micro.Instr.Down > 0 {
			d.rolls = &rolls{}
		}
	})
	return d
}

// groupOfItems is what an item of a task's group does.
func (k *kernel) groupOfItems(w *ckernel.Kernel, facts sym.Facts) {
	for _, b := range k.Shared {
		w.Line("__local %s %s[%s]%s;", storage(b.Type), b.Name, ckernel.Strip(w.Index(b.Size)), k.alignment(b))
	}
	_, hi := k.Tasks().Bounds(facts)
	facts[loop.TaskVar] = sym.Range{Lo: 0, Hi: max(hi, 1) - 1}
	w.Line("const dnn_index %s = get_group_id(0);", loop.TaskVar)
	w.Line("const dnn_index %s = %s;", loop.ItemVar, k.itemNumber())
	w.Statements(k.Statements())
}

// workerLoop runs every task of a worker, which has its own part of the memory.
func (k *kernel) workerLoop(w *ckernel.Kernel, facts sym.Facts) {
	for _, b := range k.Scratch {
		t := storage(b.Type)
		w.Line("__global %s* restrict %s = %s_all + %s_at + get_global_id(0) * (size_t)%s;", t, b.Name, b.Name, b.Name, w.Index(b.Size))
	}
	_, hi := k.Tasks().Bounds(facts)
	facts[loop.TaskVar] = sym.Range{Lo: 0, Hi: max(hi, 1) - 1}
	head := fmt.Sprintf("for (dnn_index %s = get_global_id(0); %s < %s; %s += %d)", loop.TaskVar, loop.TaskVar, ckernel.Strip(w.Index(k.Tasks())), loop.TaskVar, k.workers)
	w.Block(head, func() { w.Statements(k.Statements()) })
}

// grid binds the variables of the grid's axes to the work-item's place and leaves the work-items
// beyond them; it gives the statements that remain.
func (k *kernel) grid(w *ckernel.Kernel, facts sym.Facts) []loop.Stmt {
	var beyond []string
	bind := func(v string, d int) {
		w.Line("const dnn_index %s = get_global_id(%d);", v, d)
		if n, ok := k.extents[d].Const(); !ok || n%k.group[d] != 0 {
			beyond = append(beyond, v+" >= "+w.Index(k.extents[d]))
		}
	}
	outer := max(0, len(k.Grid)-dims+1) // axes that share the last dimension, if they are several
	if outer < 2 {
		outer = 0
	}
	for i, a := range slices.Backward(k.Grid[outer:]) {
		bind(a.Var, len(k.Grid)-1-outer-i)
	}
	var rest []loop.Stmt
	if outer > 0 {
		_, hi := k.extents[dims-1].Bounds(facts)
		facts[outerVar] = sym.Range{Lo: 0, Hi: max(hi, 1) - 1}
		bind(outerVar, dims-1)
		rest = decompose(k.Grid[:outer])
	}
	if len(beyond) > 0 {
		w.Line("if (%s) return;", strings.Join(beyond, " || "))
	}
	return append(rest, k.Body...)
}

// outerVar is the place along the last dimension where several axes share it.
const outerVar = "g2"

func decompose(axes []te.Axis) []loop.Stmt {
	shared := &loop.Kernel{Grid: axes}
	m := map[string]sym.Expr{loop.TaskVar: sym.Var(outerVar)}
	var out []loop.Stmt
	for _, s := range shared.Statements() {
		x := s.(loop.Index)
		x.Value = x.Value.Subst(m, nil)
		out = append(out, x)
	}
	return out
}

package cpp

import (
	"fmt"
	"slices"
	"strings"

	"rules_dnn/gen/emit/ckernel"
	"rules_dnn/gen/emit/ctext"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/kernel/loop"
	"rules_dnn/gen/program/plan"
)

// Variant is a chip that a library has kernels for.
type Variant struct {
	// Ident tells it from the others in the names of files and functions.
	Ident string
	// VectorBits is how wide its vectors are. Loops that are written for single elements are vectors, too, once compilers have seen them: an
	// equal text is an equal kernel only where these are as wide.
	VectorBits int
}

// Idents are identifiers for the names of chips.
func Idents(chips []string) []string {
	namer := ctext.NewNamer()
	out := make([]string, len(chips))
	for i, name := range chips {
		out[i] = namer.Name(name, "variant")
	}
	return out
}

// VariantPrefix is what the names of a variant's files and functions begin with; the first one's begin with the model's prefix.
func VariantPrefix(prefix string, v Variant) string { return prefix + "_" + v.Ident }

// Library prints a program for several chips, the least capable first: a folder of files for each, to be compiled with that chip's options,
// of which the first has the host program. Kernels that are equal are printed once, for the first chip that has them. columns tells
// of each variant the number of the first that runs the same.
func (l *Language) Library(p *plan.Program, prefix string, shards int, variants []Variant) (folders [][]File, columns []int, err error) {
	if err := printed(p); err != nil {
		return nil, nil, fmt.Errorf("the program %s: %w", ir.Show(p.Name), err)
	}
	lib := &library{l: l, prefix: prefix}
	for i, v := range variants {
		if err := lib.add(p.Variant(i), v); err != nil {
			return nil, nil, err
		}
		for k, c := range p.Calls() {
			if i < len(c.Others) { // or it is the calls' own
				c.Others[i].Function = lib.names[i][k]
			}
		}
	}
	for i, v := range variants {
		name := prefix
		if i > 0 {
			name = VariantPrefix(prefix, v)
		}
		var files []File
		if i == 0 || len(lib.kernels[i]) > 0 {
			files = l.kernelFiles(lib.kernels[i], name, shards)
		}
		folders = append(folders, files)
	}
	lib.compare()
	all := lib.kernels[0]
	for _, ks := range lib.kernels[1:] {
		all = append(all[:len(all):len(all)], ks...)
	}
	folders[0][0].Text = l.declarations(all, prefix)
	folders[0] = append(folders[0], File{prefix + "_program.cc", lib.program(p)})
	return folders, lib.columns, nil
}

// library is the state of printing one.
type library struct {
	l        *Language
	prefix   string
	variants []Variant
	programs []*plan.Program
	calls    [][]*plan.Call           // of each variant's program
	names    [][]string               // of these
	kernels  [][]*kernelText          // that each variant has first
	byKey    []map[string]*kernelText // these
	columns  []int
}

func (b *library) add(p *plan.Program, v Variant) error {
	prefix := b.prefix
	if len(b.variants) > 0 {
		prefix = VariantPrefix(b.prefix, v)
	}
	kernels, names, err := b.l.distinct(p, prefix, func(key string, k *loop.Kernel) *kernelText { return b.find(key, k, v) })
	if err != nil {
		return err
	}
	b.variants, b.programs = append(b.variants, v), append(b.programs, p)
	b.calls, b.names = append(b.calls, p.Calls()), append(b.names, names)
	byKey := map[string]*kernelText{}
	for _, k := range kernels {
		byKey[k.key] = k
	}
	b.kernels, b.byKey = append(b.kernels, kernels), append(b.byKey, byKey)
	return nil
}

// find is the kernel of an earlier variant that serves this one. Functions of the runtime are the same for all: they sort and count.
func (b *library) find(key string, k *loop.Kernel, v Variant) *kernelText {
	for i, ks := range b.byKey {
		if b.variants[i].VectorBits != v.VectorBits && opaqueCall(k) == nil {
			continue
		}
		if x := ks[key]; x != nil {
			return x
		}
	}
	return nil
}

// compare finds which variants run the same.
func (b *library) compare() {
	for i := range b.variants {
		column := i
		for k := 0; k < i && column == i; k++ {
			if b.blocks(i) == b.blocks(k) {
				column = k
			}
		}
		b.columns = append(b.columns, column)
	}
}

// blocks is the text of a variant's blocks and of how many tasks they have.
func (b *library) blocks(i int) string {
	h := &host{p: b.programs[i], syms: symbolNames(b.programs[i])}
	for k, s := range b.calls[i] {
		h.line("%s", h.number(s.Kernel.Tasks()))
		h.call(s, b.names[i][k])
	}
	return h.String()
}

// differ reports whether not all variants run the same.
func (b *library) differ() bool {
	return slices.ContainsFunc(b.columns, func(c int) bool { return c != 0 })
}

// program prints the calls of kernels as blocks of tasks, for each variant, and the function that runs the steps in order.
func (b *library) program(p *plan.Program) string {
	h := &host{p: p, syms: symbolNames(p), devices: newDevices(p), observes: b.l.Observed}
	head(&h.writer, "The host program: the model's blocks in order, each with where its values lie.")
	h.line("#include \"%s_internal.h\"", b.prefix)
	h.line("#include \"%s_kernels.h\"", b.prefix)
	if asksFeatures(p) {
		h.line("#include \"runtime/dnn_cpu.h\"")
	}
	if p.Device != nil {
		h.line("#include \"runtime/dnn_device.h\"")
	}
	if h.observes {
		h.line("#include \"runtime/dnn_observe.h\"")
	}
	h.line("")
	h.line("namespace {")
	h.line("")
	tables := make([]string, len(b.calls[0]))
	for i := range tables {
		tables[i] = b.block(h, i)
		h.line("")
	}
	if b.differ() {
		b.tables(h, tables)
	}
	h.line("}  // namespace")
	h.line("")
	h.block(fmt.Sprintf("dnn_status %s_program(const dnn_ctx* c)", b.prefix), func() {
		h.steps(p.Steps)
		h.line("return dnn_status::kOk;")
	})
	return h.String()
}

// block prints a call as each variant runs it, and gives the names of the functions, a variant's each.
func (b *library) block(h *host, i int) string {
	texts, names := map[string]string{}, []string{}
	for _, d := range ckernel.Doc(h.p, b.calls[0][i]) {
		h.line("// %s", d)
	}
	for v := range b.variants {
		s := b.calls[v][i]
		x := &host{p: h.p, syms: h.syms}
		x.Indent = 1
		x.call(s, b.names[v][i])
		name, known := texts[x.String()]
		if !known {
			name = fmt.Sprintf("Block%d", i)
			if v > 0 {
				name += "_" + b.variants[v].Ident
			}
			texts[x.String()] = name
			h.line("void %s(const dnn_ctx* c, int64_t first, int64_t last, int worker) {", name)
			h.Text(x.String())
			h.line("}")
		}
		names = append(names, name)
	}
	return strings.Join(names, ", ")
}

// tables prints the functions of each block, by the variant's number.
func (b *library) tables(h *host, tables []string) {
	h.line("// For each block, the function of each variant.")
	h.line("constexpr rules_dnn::TaskFn kBlocks[][%d] = {", len(b.variants))
	for _, t := range tables {
		h.line("    {%s},", t)
	}
	h.line("};")
	h.line("")
	h.variants = b.calls
}

// parallel runs a block: the program's own, or that of the variant that was chosen when the model was created.
func (h *host) parallel(own *plan.Call) {
	tasks := h.number(own.Kernel.Tasks())
	if h.variants == nil {
		h.line("dnn_parallel(c, %d, Block%d, %s);", h.blocks, h.blocks, tasks)
		return
	}
	var all []string
	same := true
	for _, calls := range h.variants {
		n := h.number(calls[h.blocks].Kernel.Tasks())
		same = same && n == h.number(h.variants[0][h.blocks].Kernel.Tasks())
		all = append(all, n)
	}
	if same {
		h.line("dnn_parallel(c, %d, kBlocks[%d][c->variant], %s);", h.blocks, h.blocks, all[0])
		return
	}
	h.line("{")
	h.line("  const int64_t tasks[] = {%s};", strings.Join(all, ", "))
	h.line("  dnn_parallel(c, %d, kBlocks[%d][c->variant], tasks[c->variant]);", h.blocks, h.blocks)
	h.line("}")
}

// refuses reports whether a call may refuse a value, in any variant.
func (h *host) refuses(own *plan.Call) bool {
	if len(own.Kernel.Sets) > 0 || loop.Refuses(own.Kernel.Body) {
		return true
	}
	for _, l := range own.Others {
		if loop.Refuses(l.Kernel.Body) {
			return true
		}
	}
	return false
}

package cpp

import (
	"fmt"
	"strings"

	"rules_dnn/gen/emit/ckernel"
	"rules_dnn/gen/emit/neon"
	"rules_dnn/gen/kernel/loop"
)

// Signature is a kernel's declaration under the given name: buffers, symbols,
// the worker's scratch where it is used, where the symbols go that it computes, where it reports
// indices that are out of bounds, then the range of tasks.
func Signature(k *loop.Kernel, name string) string {
	var ps []string
	for _, b := range k.Buffers {
		c := "const "
		if b.Write {
			c = ""
		}
		ps = append(ps, fmt.Sprintf("%s%s* __restrict %s", c, Storage(b.Type), b.Name))
	}
	for _, s := range k.Syms {
		ps = append(ps, "int64_t "+ckernel.Variable(s))
	}
	for _, b := range k.Scratch {
		ps = append(ps, fmt.Sprintf("%s* __restrict %s", Storage(b.Type), b.Name))
	}
	for i := range k.Sets {
		ps = append(ps, "int64_t* __restrict "+k.SetName(i))
	}
	if loop.Refuses(k.Body) {
		ps = append(ps, "int32_t* bad_index")
	}
	ps = append(ps, "int64_t first_task", "int64_t last_task")
	return fmt.Sprintf("void %s(%s)", name, strings.Join(ps, ", "))
}

// statements returns a kernel's statements, in which tiles that are assembly have finishes.
func statements(k *loop.Kernel) []loop.Stmt {
	if !scheduled(k) {
		return k.Statements()
	}
	return neon.Join(k)
}

// rolled precedes a loop whose body compilers must not repeat. For clang, an asm statement of any
// length counts as one instruction.
const rolled = "DNN_ROLLED"

// finished reports whether statements have tiles with a finish, which may be inlined.
func finished(body []loop.Stmt) bool {
	found := false
	loop.Tiles(body, func(t loop.Tile) { found = found || t.Finish != nil })
	return found
}

// Loop keeps loops around inlined assembly as they are.
func (dialect) Loop(w *ckernel.Kernel, x loop.For) bool {
	if finished(x.Body) {
		w.Line(rolled)
		w.For(x)
		return true
	}
	return false
}

// scheduled reports whether tiles of a kernel are assembly.
func scheduled(k *loop.Kernel) bool {
	found := false
	loop.Tiles(k.Body, func(t loop.Tile) { found = found || t.Micro.Instr.Scheduled() })
	return found
}

// Tiles calls f for each tile of a kernel as it is printed.
func Tiles(k *loop.Kernel, f func(loop.Tile)) { loop.Tiles(statements(k), f) }

// Body prints what stands between the braces of a kernel's definition.
func (l *Language) Body(k *loop.Kernel) (string, error) {
	call := opaqueCall(k)
	if call != nil && l.IsC() {
		return CPP.Body(k)
	}
	w, body := ckernel.New(l.Dialect, k.Facts), statements(k)
	w.Writer.Indent = 1
	refuses := loop.Refuses(k.Body)
	if refuses {
		w.Line("int bad = 0;  // an index out of bounds, or a divisor that is 0")
	}
	if multipliesMatrices(k) {
		w.Line("dnn_amx %s;", tilesVar)
	}
	if finished(body) {
		w.Line(rolled)
	}
	w.Block(fmt.Sprintf("for (%s %s = first_task; %s < last_task; ++%s)", l.Dialect.IndexType(), loop.TaskVar, loop.TaskVar, loop.TaskVar), func() {
		if !ckernel.UsesTask(body) {
			w.Line("(void)%s;", loop.TaskVar)
		}
		if call != nil {
			printCall(w, k, call)
			return
		}
		w.Statements(body)
	})
	if refuses {
		w.Line("if (bad) __atomic_store_n(bad_index, 1, __ATOMIC_RELAXED);")
	}
	return w.String(), w.Err()
}

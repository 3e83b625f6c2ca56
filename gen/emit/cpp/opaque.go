package cpp

import (
	"fmt"
	"strconv"
	"strings"

	"rules_dnn/gen/emit/ckernel"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/kernel/loop"
	"rules_dnn/gen/ops/opaque"
)

// opaqueCall is the call that is the whole body of an opaque operator's kernel, or nil.
func opaqueCall(k *loop.Kernel) *loop.Call {
	if len(k.Body) == 1 {
		if c, ok := k.Body[0].(loop.Call); ok {
			return &c
		}
	}
	return nil
}

// printCall prints the call of a function of runtime/dnn_opaque.h.
func printCall(w *ckernel.Kernel, k *loop.Kernel, x *loop.Call) {
	var args []string
	for i, a := range x.Args {
		args = append(args, argument(w, k, x, i, a))
	}
	var types []string
	for _, t := range x.Types {
		types = append(types, elementType(t))
	}
	name := "dnn_opaque::" + x.Name
	if len(types) > 0 {
		name += "<" + strings.Join(types, ", ") + ">"
	}
	w.Line("%s(%s);", name, strings.Join(append(args, "&bad"), ", "))
}

// elementType names what the header knows of an element type: bool is a keyword.
func elementType(t ir.DType) string {
	if t == ir.Bool {
		return "dnn_opaque::boolean"
	}
	return "dnn_opaque::" + t.String()
}

// argument is argument i, which may be declared before the call.
func argument(w *ckernel.Kernel, k *loop.Kernel, x *loop.Call, i int, a opaque.Arg) string {
	switch a.Kind {
	case opaque.Operand:
		return bufferName(x.Operands, a.N)
	case opaque.Result:
		return bufferName(x.Results, a.N)
	case opaque.Scratch:
		return bufferName(x.Scratch, a.N)
	case opaque.Computed:
		return k.SetName(a.N)
	case opaque.Numbers:
		sets := []string{"nullptr"} // C++ has no empty array
		for n := range k.Sets {
			sets = append(sets[:n], k.SetName(n))
		}
		name := fmt.Sprintf("at%d", i)
		w.Line("int64_t* const %s[] = {%s};", name, strings.Join(sets, ", "))
		return name
	case opaque.Flag:
		return strconv.FormatBool(a.Flag)
	case opaque.Dims:
		dims := []string{"1"} // a scalar has none, but C++ no empty array
		for n, d := range a.Dims {
			dims = append(dims[:n], ckernel.Strip(w.Index(d)))
		}
		name := fmt.Sprintf("at%d", i)
		w.Line("const int64_t %s[] = {%s};", name, strings.Join(dims, ", "))
		return name
	}
	return ckernel.Strip(w.Index(a.Size))
}

func bufferName(buffers []*loop.Buffer, n int) string {
	if n >= len(buffers) || buffers[n] == nil {
		return "nullptr"
	}
	return buffers[n].Name
}

package nest

import (
	"fmt"

	"rules_dnn/gen/fusion/block"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/kernel/layout"
	"rules_dnn/gen/kernel/loop"
	"rules_dnn/gen/propose/lower"
)

// Opaque lowers the call of an opaque operator to one task that makes it; other blocks give nil.
func Opaque(b *block.Block, env *lower.Env) (*lower.Lowered, error) {
	if b.Call == nil {
		return nil, nil
	}
	for _, v := range append(append([]*ir.Value{}, b.Operands...), b.Results...) {
		if env.Layouts(v) != layout.RowMajor {
			return nil, nil
		}
	}
	k := &loop.Kernel{Anchor: "opaque", Facts: env.Symbols, Sets: b.Computes()}
	for i, v := range b.Operands {
		k.Buffers = append(k.Buffers, &loop.Buffer{Name: fmt.Sprintf("a%d", i), Type: v.Type, Size: layout.RowMajor.Elements(v.Shape)})
	}
	for i, v := range b.Results {
		k.Buffers = append(k.Buffers, &loop.Buffer{Name: fmt.Sprintf("y%d", i), Type: v.Type, Size: layout.RowMajor.Elements(v.Shape), Write: true})
	}
	call := loop.Call{Call: b.Call.Call, Operands: buffers(k.Buffers, b.Call.Operands), Results: buffers(k.Buffers[len(b.Operands):], b.Call.Results)}
	for i, m := range b.Call.Scratch {
		k.Scratch = append(k.Scratch, &loop.Buffer{Name: fmt.Sprintf("scratch_%d", i), Type: m.Type, Size: m.Size, Write: true})
	}
	call.Scratch = k.Scratch
	k.Body = []loop.Stmt{call}
	k.Syms = SymbolsOf(k, env.Symbols)
	return &lower.Lowered{Name: k.Anchor, Family: k.Anchor, Kernel: k, Args: lower.Values(b)}, nil
}

// buffers picks by number, nil for -1.
func buffers(from []*loop.Buffer, at []int) []*loop.Buffer {
	out := make([]*loop.Buffer, len(at))
	for i, k := range at {
		if k >= 0 {
			out[i] = from[k]
		}
	}
	return out
}

package lower

import (
	"rules_dnn/gen/block"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/loop"
	"rules_dnn/gen/sym"
	"rules_dnn/gen/target"
)

// Env is what lowering a block depends on besides the block.
type Env struct {
	Layouts Layouts
	Symbols sym.Facts // ranges of dimension symbols
	Target  *target.Target
	// Contractions are sums of products in register tiles. Windows are depthwise convolutions in
	// register tiles, and pools whose guards bound their loops. Winograd is convolutions by minimal
	// filtering. Vectors runs loops in vectors.
	Contractions, Windows, Winograd, Vectors bool
}

func (e *Env) lanes() int64 {
	n := int64(e.Target.Lanes(ir.F32))
	if !e.Vectors || n < 4 {
		return 1
	}
	return n
}

// Lowered is a kernel and the values of its buffers: operands, then results.
type Lowered struct {
	Kernel *loop.Kernel
	// Args packs constants for the kernel, which takes a while: only what is chosen is packed.
	Args func() ([]*ir.Value, error)
}

// done finishes a kernel: what is stored to images becomes texels, and loops become vectors.
func (e *Env) done(k *loop.Kernel, args func() ([]*ir.Value, error)) *Lowered {
	k.Body = loop.Texels(k.Body, k.Facts)
	if lanes := e.lanes(); lanes > 1 {
		k.Body = loop.Vectorise(k.Body, lanes, k.Facts)
	}
	return &Lowered{Kernel: k, Args: args}
}

// plain are the block's own values.
func plain(b *block.Block) func() ([]*ir.Value, error) {
	return func() ([]*ir.Value, error) { return append(append([]*ir.Value{}, b.Operands...), b.Results...), nil }
}

package opencl

import (
	"fmt"

	"rules_dnn/gen/emit/ckernel"
	"rules_dnn/gen/kernel/loop"
)

// mostUnrolled is the most iterations of a loop that are written out, by the device's compiler, and unrolled how many of a longer one: their loads
// wait for memory together.
const mostUnrolled, unrolled = 64, 8

// Loop asks for loops of an item to be written out: arrays of which it has a part are registers only where their indices are constants, and
// copies wait for memory together. Compilers of OpenCL C 1.2 that do not know the pragma ignore it.
func (d dialect) Loop(w *ckernel.Kernel, x loop.For) bool {
	n, known := x.Extent.Const()
	if d.k == nil || len(d.k.Shared) == 0 && !loop.Exchanges(d.k.Body) || !known || x.Lanes > 0 && n%x.Lanes > 0 || waits(x.Body) {
		return false
	}
	if d.quad(w, x) || d.pair(w, x) || d.rolled(w, x) {
		return true
	}
	if n > mostUnrolled {
		w.Line("#pragma unroll %d", unrolled)
	} else {
		w.Line("#pragma unroll")
	}
	w.For(x)
	return true
}

// waits reports whether items wait for each other within statements.
func waits(body []loop.Stmt) bool {
	return loop.Any(body, func(s loop.Stmt) bool {
		_, is := s.(loop.Barrier)
		return is
	})
}

// alignment is what is asked of an array that items share, of which tiles read whole registers.
func (k *kernel) alignment(b *loop.Buffer) string {
	most := alignedTo(k.Kernel, b)
	if most == 0 {
		return ""
	}
	return fmt.Sprintf(" __attribute__((aligned(%d)))", most)
}

// alignedTo is the multiple of bytes at which such an array lies; 0: none is asked for.
func alignedTo(k *loop.Kernel, b *loop.Buffer) int64 {
	most := int64(0)
	loop.Tiles(k.Body, func(t loop.Tile) {
		m := callOf(k, t)
		if m.x.whole && t.X == b || m.w.whole && t.W == b {
			most = max(most, m.read()*int64(b.Type.Size()))
		}
	})
	return most
}

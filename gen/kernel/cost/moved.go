package cost

import (
	"math"
	"slices"

	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/loop"
)

// moved is the cycles that reading and writing the buffers takes: once, and of what does not stay in the
// second-level cache again for every point of the grid's axes along which it is the same; of what few accesses
// touch, only so much. Constants come from memory once a run, however few a block has: all blocks' together are more
// than caches hold.
func (e *estimate) moved(k *loop.Kernel) float64 {
	walked, touched := walkedBy(k), map[*loop.Buffer]float64{}
	read := e.read(k, walked)
	e.touched(k.Body, "", e.trips(k.Tasks()), touched)
	c := 0.0
	for _, b := range k.Buffers {
		bytes := float64(e.trips(b.Size) * float64(b.Type.Size()))
		if part, ok := read[b]; ok {
			bytes = min(bytes, part)
		}
		switch all := min(float64(bytes*e.again(k, bytes, walked[b])), touched[b]); {
		case b.Image != nil:
			c += float64(bytes / e.t.Images.BytesPerCycle) // which a compiler may make a product
		case !b.Const && bytes <= float64(e.t.L2):
			c += float64(bytes / e.t.L2BytesPerCycle)
		case b.Const:
			c += e.constant(all, bytes)
		default:
			c += float64(all / e.t.Behind(bytes))
		}
	}
	return c
}

// read is how many bytes micro-kernels read of constants that nothing else reads: at each point of the loops along which they move, so many.
func (e *estimate) read(k *loop.Kernel, walked map[*loop.Buffer]map[string]bool) map[*loop.Buffer]float64 {
	trips, out := map[string]float64{}, map[*loop.Buffer]float64{}
	for _, a := range k.Grid {
		trips[a.Var] = e.trips(a.Extent)
	}
	var tiles []loop.Tile
	loop.Walk(k.Body, func(s loop.Stmt) bool {
		switch x := s.(type) {
		case loop.For:
			trips[x.Var] = max(trips[x.Var], e.trips(x.Extent))
		case loop.Tile:
			tiles = append(tiles, x)
		}
		loop.Values(s, func(v te.Expr) {
			te.Walk(v, func(v te.Expr) {
				if m, ok := v.(loop.Mem); ok {
					out[m.Buf] = math.Inf(1)
				}
			})
		})
		return true
	})
	for _, x := range tiles {
		if !x.W.Const || x.Micro.Kept != nil {
			continue
		}
		bytes := float64(x.Micro.Steps() * x.Micro.Vectors * x.Micro.Lanes() * int64(x.W.Type.Size()))
		for v := range walked[x.W] {
			bytes = float64(bytes * max(1, trips[v]))
		}
		out[x.W] = max(out[x.W], bytes)
	}
	return out
}

// constant is the cycles in which so many bytes come of a constant that has some: each once from memory, and again from what lies behind the
// second-level cache.
func (e *estimate) constant(all, bytes float64) float64 {
	once := min(all, bytes)
	return float64(once/e.t.BytesPerCycle) + float64((all-once)/e.t.Behind(bytes))
}

// spilled is the cycles in which tasks write and read their scratch memory where it does not fit in the second-level
// cache: what lies behind that is nearer than memory. They wait for it, since what they do next needs it.
func (e *estimate) spilled(k *loop.Kernel) float64 {
	bytes := 0.0
	for _, b := range k.Scratch {
		bytes += float64(e.trips(b.Size) * float64(b.Type.Size()))
	}
	beyond := max(0, bytes-float64(e.t.L2))
	return float64(2 * beyond * e.trips(k.Tasks()) / e.t.Spill())
}

// again is how often a buffer is read from one end to the other, whose place depends on some variables. From the
// outermost axis of the grid inwards, one that moves in it leaves less of it to the axes within.
func (e *estimate) again(k *loop.Kernel, bytes float64, moves map[string]bool) float64 {
	times := 1.0
	for _, a := range k.Grid {
		n := max(e.trips(a.Extent), 1)
		switch {
		case moves[a.Var]:
			bytes /= n
		case bytes > float64(e.t.L2):
			times *= n
		}
	}
	return times
}

// touched adds up the bytes that statements read and write of buffers which run so often, within the loop over v: where
// that walks elements that lie apart, lines of the cache. No bound is known of micro-kernels and opaque operators.
func (e *estimate) touched(body []loop.Stmt, v string, times float64, of map[*loop.Buffer]float64) {
	for _, s := range body {
		switch x := s.(type) {
		case loop.For:
			e.touched(x.Body, x.Var, float64(times*e.trips(x.Extent)), of)
		case loop.If:
			e.touched(x.Then, v, times, of)
			e.touched(x.Else, v, times, of)
		case loop.Tile:
			of[x.X], of[x.W], of[x.Acc] = math.Inf(1), math.Inf(1), math.Inf(1)
		case loop.Call:
			for _, b := range slices.Concat(x.Operands, x.Results) {
				of[b] = math.Inf(1)
			}
		default:
			loop.Accesses([]loop.Stmt{s}, func(b *loop.Buffer, at sym.Expr) { of[b] += float64(times * e.span(b, at, v)) })
		}
	}
}

// span is how many bytes one access takes along, of those that walk a buffer with a loop's variable.
func (e *estimate) span(b *loop.Buffer, at sym.Expr, v string) float64 {
	size, step := int64(b.Type.Size()), int64(farStride)
	if k, linear := sym.Coefficient(at, v, e.facts); linear {
		if c, ok := k.Const(); ok {
			step = min(max(c, -c, 1), farStride)
		}
	}
	return float64(size * step)
}

// walkedBy are the variables on which each buffer's places depend.
func walkedBy(k *loop.Kernel) map[*loop.Buffer]map[string]bool {
	of := map[string]map[string]bool{} // what bound variables depend on
	bound(k.Body, of)
	out := map[*loop.Buffer]map[string]bool{}
	loop.Accesses(k.Body, func(b *loop.Buffer, at sym.Expr) {
		if out[b] == nil {
			out[b] = map[string]bool{}
		}
		follow(at, of, out[b])
	})
	return out
}

// bound collects what the values of bound variables depend on, in the order in which they are bound.
func bound(body []loop.Stmt, of map[string]map[string]bool) {
	for _, s := range body {
		switch x := s.(type) {
		case loop.Index:
			deps := map[string]bool{}
			follow(x.Value, of, deps)
			of[x.Var] = deps
		case loop.Bind: // what is loaded varies with the place that it is loaded from
			deps := map[string]bool{}
			loop.ExprIndices(x.Value, func(at sym.Expr) { follow(at, of, deps) })
			of[x.Var] = deps
		case loop.For:
			bound(x.Body, of)
		case loop.If:
			bound(x.Then, of)
			bound(x.Else, of)
		}
	}
}

func follow(e sym.Expr, of map[string]map[string]bool, into map[string]bool) {
	direct := map[string]bool{}
	e.Vars(direct)
	for v := range direct {
		into[v] = true
		for d := range of[v] {
			into[d] = true
		}
	}
}

package sched_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/sched"
	"rules_dnn/gen/kernel/sched/schedtest"
	"rules_dnn/gen/target/chips/chipstest"
)

// TestVerify: each schedule is right but for one thing.
func TestVerify(t *testing.T) {
	matmul, attention, dots, devices := schedtest.MatMul(), schedtest.Attention(), schedtest.Dots(), schedtest.Device()
	pruned, parts, dealt := schedtest.Pruned(), schedtest.PrunedParts(), schedtest.PrunedDealt()
	groups, runs, tiles, sums := schedtest.Groups(), schedtest.Runs(), schedtest.Tiles(), schedtest.PrunedTile()
	planes, square := schedtest.Planes(), schedtest.Planes()
	square.Work.Operands[1].Shape = ir.Dims(24, 24, 20)
	square.Work.Stages[0] = square.Work.Stages[0].MapExprs(func(e te.Expr) te.Expr {
		if l, is := e.(te.Load); is && l.Source.N == 1 {
			l.Index = []sym.Expr{l.Index[1], l.Index[1], l.Index[2]}
			return l
		}
		return e
	})
	ahead, chained, points, depthwise := schedtest.Ahead(), schedtest.Ahead(), schedtest.Points(), schedtest.Depthwise().Schedule
	chained.Work.Stages[1] = chained.Work.Stages[1].MapExprs(func(e te.Expr) te.Expr {
		if l, is := e.(te.Load); is {
			l.Source = te.Source{Stage: true}
			return l
		}
		return e
	})
	for _, c := range []struct {
		name     string
		of       schedtest.Example
		old, new string
		want     string
	}{
		{"a stage is missing", matmul, matmul.Schedule[strings.Index(matmul.Schedule, "stage 1"):], "", "schedule of 1 stages; the block has 2"},
		{"placed at no loop", matmul, "at 1.g", "at 1.x", "loop x, which stage 1 does not have"},
		{"placed at an earlier stage", matmul, "at 1.g", "at 0.p", "it is placed at stage 0; want one from 1 to 1"},
		{"placed nowhere", matmul, "stage 0 at 1.g\n  region i1 = 16 from 16*g", "stage 0", "it has no place"},
		{"placed within a tile", matmul, "at 1.g", "at 1.r", "it is placed at loop r within a tile, which is one call"},
		{"two loops of one name", matmul, "serial q = i1", "serial p = i1", "loop p: stage 0 has a loop of this name"},
		{"a loop called as an axis", matmul, "serial q = i1", "serial i0 = i1", "the name is empty, or an axis or symbol has it"},
		{"no such axis", matmul, "serial q = i1", "serial q = i2", `loop q walks "i2", which is not an axis of the stage`},
		{"an axis without loops", matmul, "  serial q = i1\n", "", "no loop walks i1, which has 16 points"},
		{"two loops of the rest", matmul, "serial q = i1", "serial q = i1\n  serial q2 = i1", "loop q2 walks the rest of i1 within another loop of it"},
		{"too few points", matmul, "serial q = i1", "serial q = i1*8", "loops of i1 walk 8 points of 16"},
		{"a rest that is forgotten", matmul, "rows r = i0*4 peel", "rows r = i0*4", "loop r walks i0 by 4 of 10 points; want an edge for the rest"},
		{"a region from a loop within", matmul, "from 16*g", "from 16*t", "region of i1 begins at 16*t, but t is not a loop around the stage"},
		{"a region too small", matmul, "region i1 = 16", "region i1 = 15", "it reads stage 0 at"},
		{"a region that lies elsewhere", matmul, "from 16*g", "from 8*g", "it reads stage 0 at"},
		{"tasks in tasks", matmul, "serial p = i0", "task p = i0", "kind task in a stage that runs inside another stage's loop"},
		{"tasks within other loops", matmul, "  task g = i1\n  serial t = i0", "  serial t = i0\n  task g = i1", "loop g of kind task is within loop t of kind serial"},
		{"no such instruction", matmul, "fma_f32x8", "fma_f32x16", `tile of instruction "fma_f32x16"; the chip x86_64_v3 has [fma_f32x8 pmaddwd_i16x8]`},
		{"lanes of another instruction", matmul, "l = i1*8", "l = i1*6", "12 lanes; instruction fma_f32x8 has 8"},
		{"too many registers", matmul, "rows r = i0*4 peel", "rows r = i0*10", "registers; the chip x86_64_v3 has 16"},
		{"the next W of one that is no stream", groups, "w 64 ahead, x ahead, next 288", "x ahead, next 288", "288 elements of the next call's W are fetched, but none of its own W ahead"},
		{"more of the next W than a call reads", groups, "next 288", "next 289", "289 elements of the next call's W are fetched; a call reads 288"},
		{"the next W of groups", dots, "vrmpy_i8u8 scalar", "vrmpy_i8u8 scalar, w 64 ahead, next 64", "stage 0 (dots): 64 elements of the next call's W are fetched; only instructions that add 1 product at a time support this, and vrmpy_i8u8 adds 4"},
		{"the next W of what is stored", sums, "fma_f32x8 bcast", "fma_f32x8 bcast, w 64 ahead, next 64", "stage 0 (convolution): 64 elements of the next call's W are fetched in a sum over stored weights"},
		{"padding left out of what is read where it lies", sums, "fma_f32x8 bcast", "fma_f32x8 bcast, skips 5", "padding is skipped in 5 ways; want at most 16, for a factor that a stage copies with zeros around it"},
		{"padding left out in too many ways", groups, "x ahead, next 288", "x ahead, next 288, skips 17", "padding is skipped in 17 ways"},
		{"products that an instruction takes in otherwise", dots, "dot d = r0*4", "dot d = r0*2", "2 products at a time; instruction vrmpy_i8u8 adds 4"},
		{"sums in 16 bits of an instruction without", dots, "vrmpy_i8u8 scalar", "vrmpy_i8u8 scalar, narrow 2", "products of 2 points are added in 16 bits; instruction vrmpy_i8u8 wants"},
		{"lanes along the reduction", matmul, "lanes l = i1*8 roundup", "lanes l = r0*8 roundup", "kind lanes, and r0 is an axis of the reduction"},
		{"a sum along what is stored", matmul, "sum k = r0", "sum k = i0", "kind sum, and i0 is not an axis of the reduction"},
		{"a tile's loop without a tile", matmul, "  tile fma_f32x8 bcast\n", "", "loop r has kind rows, but the stage has no tile"},
		{"work-items of a processor", matmul, "serial q = i1", "item q = i1", "the chip x86_64_v3 has no work-items"},
		{"shared memory of tasks", matmul, "sum k = r0\n", "sum k = r0\nvalue stage 0.0: 0 1 in arena\n", "it is computed at a loop by parallel tasks, in space arena, which they share"},
		{"memory of a group without groups", matmul, "sum k = r0\n", "sum k = r0\nvalue stage 0.0: 0 1 in local\n", "no loop of groups is around stage 0"},
		{"fetched ahead of nothing", ahead, "stage 2\n", "stage 2\n  ahead\n", "it is fetched ahead; want one copy at a loop, without a sum, in space local"},
		{"fetched ahead to an item's memory", ahead, "0~4 in local", "0~4 in worker", "it is fetched ahead; want one copy at a loop, without a sum, in space local"},
		{"fetched ahead of what is computed", chained, "stage 0", "stage 0", "it is fetched ahead, but reads a stage, which would have values of another iteration; want only operands"},
		{"fetched ahead in vectors", ahead, "serial u = i0*8", "vector u = i0*8", "it is fetched ahead by loop u of kind vector"},
		{"two places", matmul, "sum k = r0\n", "sum k = r0\nvalue stage 0.0: 0 1 in worker\nvalue stage 0.0: 1 0 in worker\n", "value stage 0.0 has two places"},
		{"a layout of another rank", matmul, "sum k = r0\n", "sum k = r0\nvalue operand 0: 0 in arena\n", "value operand 0: axis 1 has only parts with a size"},
		{"a layout that repeats an axis", matmul, "sum k = r0\n", "sum k = r0\nvalue operand 0: 0 1 0 in arena\n", "value operand 0: axis 0 has two parts without a size"},
		{"a layout of a part without the rest", matmul, "sum k = r0\n", "sum k = r0\nvalue operand 0: 0 1*4 in arena\n", "value operand 0: axis 1 has only parts with a size; want one without, which is the rest"},
		{"parts of too many points", matmul, "sum k = r0\n", "sum k = r0\nvalue operand 0: 0 1 1*65536 1*65536 in arena\n", "value operand 0: the parts of axis 1 have"},
		{"a result that is padded", matmul, "sum k = r0\n", "sum k = r0\nvalue stage 1.0: 0~8 1 in arena\n", "value stage 1.0: storage extends to 18 points of axis i0, and readers expect zeros in the last 8; want a loop rounded up to them"},
		{"a result that ends within a register", matmul, "sum k = r0\n", "sum k = r0\nvalue stage 1.0: 0 1~9 in arena\n", "value stage 1.0: storage extends to 49 points of axis i1; want a multiple of 8 lanes, or no more than the elements rounded up to it"},
		{"a result that ends within the registers of a whole axis", schedtest.Depthwise(), depthwise, strings.NewReplacer("  task c = i0\n", "", "l = i0*8", "l = i0", "stage 0.0: 0 1 0*8", "stage 0.0: 0~8 1").Replace(depthwise),
			"value stage 0.0: storage extends to 24 points of axis i0; want a multiple of 16 lanes, or no more than the elements rounded up to it"},
		{"lanes beyond what is stored", dots, "0 1 0*32 1*4", "0 1 1*4", "it reads operand 1 at 32*g + l of axis 0; want less than its stored extent, 40"},
		{"lanes beyond what is stored of a part of an axis", groups, "0 1 2 3 1*16", "3 0 2 1", "it reads operand 1 at 4*c + l of axis 1; want less than its stored extent, 12"},
		{"an encoding of a non-constant operand", matmul, "sum k = r0\n", "sum k = r0\nvalue operand 0: 0 1 in arena, encoding fkw\n", "encoding fkw of a non-constant operand"},
		{"a maximum that is overwritten", attention, "value stage 1.0: 0 1 in register, 2 points", "value stage 1.0: 0 1 in register, 1 points", "it reads stage 1 at k - 1, but the last 1 points of axis i0 are kept at k; want 0 to 0 points back"},
		{"a sum that is not kept", attention, "value stage 4.0: 0 1 in register, 1 points of axis 0\n", "", "stage 4"},
		{"what is kept of another axis", attention, "value stage 4.0: 0 1 in register, 1 points of axis 0", "value stage 4.0: 0 1 in register, 1 points of axis 1", "it keeps 1 points of axis i1; want a loop whose iterations compute one point each"},
		{"chunks of keys at once", attention, "  serial k = i0\n", "  vector k = i0\n", "kind"},
		{"too many items", devices, "  item m = i0*4\n  item n = i1*8\n", "  item m = i0*8\n  item n = i1*16\n", "loops over 128 work-items; a group of opencl_buffers has fewer"},
		{"more memory than a group has", devices, "stage 0.0: 0 1 in local", "stage 0.0: 0 1~3000 in local", "the work-items of a group share"},
		{"items within other loops of them", devices, "  item m = i0*4\n  item n = i1*8\n  serial u = i0*2\n", "  item m = i0*4\n  serial u = i0*2\n  item n = i1*8\n", "loop n over work-items must be nested directly in loop m over work-items"},
		{"an item that copies what others add to", devices, "serial k = r0", "item k = r0", "its iterations add to one accumulator"},
		{"an encoded constant without its loops", pruned, "task f = i0 stored", "task f = i0", "operand 1 is encoded; want a stored loop of i0 by 1, and within it one over the joined channels and taps, of all channels or of a block"},
		{"kernels around filters", pruned, "  task f = i0 stored\n  serial y = i1\n  serial c = i2\n  serial s = k stored\n  serial p = i2*8", "  serial s = k stored\n  serial f = i0 stored\n  serial y = i1\n  serial p = i2", "want a stored loop of i0 by 1, and within it"},
		{"stored taps apart from their channels", pruned, "  join k = r0 r1 r2\n", "  join k = r0 r1\n  join k2 = r2\n", "no loop walks k2, which has 3 points"},
		{"a stored loop of what is dense", pruned, "serial y = i1", "serial y = i1 stored", "loop y (serial) over stored weights; want a task or serial loop over filters"},
		{"stored loops without a constant", schedtest.Depthwise(), "serial t = i1", "serial t = i1 stored", "it reads encoded constants 0 times; loops over stored weights support one"},
		{"a region in an order that only storage knows", matmul, "task g = i1", "task g = i1 stored", "region of i1 begins at 16*g, but loop g walks stored weights in their own order"},
		{"sums in memory of a tile of all points", parts, "  serial b = k stored\n  serial f = i0*3 stored\n  rows r = i1*3 peel\n  columns v = i2\n  lanes l = i3\n  sum s = k*72 stored\n", "  serial f = i0*3 stored\n  rows r = i1*3 peel\n  columns v = i2\n  lanes l = i3\n  sum s = k stored\n", "sums in space worker, but no loop of results is within a loop of the reduction"},
		{"sums that others see", parts, "sums worker", "sums image", "sums in space image; want registers or a worker's memory"},
		{"parts that are no blocks", parts, "k*72", "k*36", "want a stored loop of i0 by 1"},
		{"weights that no instruction reads where they lie", parts, "tile fma_f32x8 vec", "tile fma_f32x8 vec, held 3", "stage 0 (convolution): 3 weights of a kernel stay in registers"},
		{"lines of results that sums are added to elsewhere", parts, "tile fma_f32x8 vec", "tile fma_f32x8 vec, claims", "a tile claims lines of results, but does not store them in the arena"},
		{"weights of what is dense", matmul, "tile fma_f32x8 bcast", "tile fma_f32x8 bcast, held 3", "3 weights of a kernel stay in registers"},
		{"parts of channels that lie together", parts, " in blocks of 8", "", "want a stored loop of i0 by 1"},
		{"filters that others walk, dealt out", dealt, "task e = j1 stored", "task e = j1", "want a stored loop of i0 by 1"},
		{"filters that are dealt out, and not as many for all", dealt, "j0 j1*3", "j0 j1*4", "the last part of i0 has fewer points"},
		{"a copy that another task of the band finds in no memory", dealt, "value operand 1", "value stage 0.0: 0 1 2 3 in register\nvalue operand 1", "consecutive tasks share it in the worker's memory; want all of its points there"},
		{"a copy for tasks that depends on which one it is", dealt, "region i1 = 5 from 3*y", "region i1 = 5 from 3*y + e", "region of i1 begins at e + 3*y, but e is not a loop around the stage"},
		{"filters of sets that others walk", parts, "serial g = i0 stored", "serial g = i0", "want a stored loop of i0 by 1"},
		{"a tap beyond the kernel", pruned, "1b b2 1b0", "1b b2 21b0", "pattern 21b0 has 5 taps, and 1b has 4"},
		{"more kernels than there are", pruned, "20 kernels", "31 kernels", "31 kernels are stored; want at most 6 x 5"},
		{"fewer planes than an axis walks", planes, "3 planes", "2 planes", "axis i0 walks 3 planes; encoding fkw has 2, which are not filters"},
		{"planes that filters are", square, "3 planes", "24 planes", "axis i2 walks 24 planes; encoding fkw has 24, which are not filters"},
		{"planes that the encoding does not have", planes, " by 3 planes", "", "index 1 is i2; encoding fkw wants filters indexed by an axis of the result"},
		{"planes of a constant without", pruned, "of 20 kernels", "of 20 kernels by 6 planes", "index 1 is r0; encoding fkw wants filters indexed by an axis of the result"},
		{"planes in the order in which they are stored", planes, "p = i0", "p = i0 stored", "loop p (serial) over stored weights; want a task or serial loop over filters"},
		{"kernels of planes that there are not", planes, "31 kernels", "61 kernels", "61 kernels are stored; want at most 3 x 20"},
		{"a tap of planes without", planes, "shared by 8 1", "shared by 8 2", "pattern 2 has a tap beyond the 1 taps of a kernel"},
		{"planes beyond the last one", planes, "serial p = i0", "serial p = i0\n  serial o = i0*2 roundup", "operand 1 is encoded: loops of i0 exceed its 3 stored planes"},
		{"too many planes", planes, "3 planes", "65 planes", "65 planes; want 1 to 64, or none"},
		{"an encoding in other parts", pruned, "operand 1: 0 1 2 3", "operand 1: 0 1 3 2", "encoding fkw of 20 kernels 1b b2 1b0 of parts 0 1 3 2; the encoding determines the order itself"},
		{"no such encoding", pruned, "encoding fkw of 20 kernels 1b b2 1b0", "encoding csr", `encoding "csr": want fkw of N kernels`},
		{"a part of an axis called as another one", groups, "j0 j1*12", "j0 i1*12", "split of i0: the name i1 is in use"},
		{"parts that are no whole ones", groups, "j0 j1*12", "j0 j1*7", "the last part of i0 has fewer points; want one clipped loop of j1"},
		{"a copy of too few points", groups, "region i1 = 26", "region i1 = 25", "it reads stage 0 at"},
		{"a copy of another group", groups, "from 6*g", "from 5*g", "it reads stage 0 at"},
		{"a sum beyond what is stored", matmul, "sum k = r0", "sum k = r0\n  sum k2 = r0*4 roundup", "loop k2 of a tile's sum has the edge roundup, so points beyond the axis would be added"},
		{"a last part that has no code", runs, "q = i1*5 peel", "q = i1*5 clip", "can be clipped in the last iteration around it"},
		{"runs of parts of rows", runs, "  rows v = i1*2 peel\n  rows r = i2", "  serial u2 = i2\n  rows v = i1*2 peel\n  rows r = i2*2 peel", "two loops of kind rows"},
		{"two loops of lanes", matmul, "lanes l = i1*8 roundup", "lanes l = i1*8 roundup\n  lanes l2 = i1*8 roundup", "two loops of kind lanes"},
		{"a last part that goes on beyond the axis", tiles, "serial v = y clip", "serial v = y", "the last part of i0 has fewer points; want one clipped loop of y"},
		{"whole parts that are clipped", tiles, "  split i1 = tx x*4\n", "  split i1 = tx x*5\n", "it walks the rest of x; only inner loops have edges"},
		{"parts of axes that are no neighbours", tiles, "join tiles = ty tx", "join tiles = ty x", "join tiles: [ty x] are not consecutive axes computed as a whole"},
		{"parts of a region that do not divide it", points, "ei*16", "ei*12", "split of i1 into parts of 12; want an axis computed as a whole, or whole parts of it"},
		{"parts of a region that do not divide its axis", points, "ei*16", "ei*64", "split of i1 into parts of 64; want an axis computed as a whole, or whole parts of it"},
		{"a part of a region without loops", points, "  serial w = eo\n", "", "no loop walks eo, which has 2 points"},
		{"a part within another one as one axis", tiles, "join tiles = ty tx", "join tiles = tx ty", "join tiles: [tx ty] are not consecutive axes computed as a whole"},
		{"another square", tiles, "((s + 4*t) // (3)) as row", "((s + 4*t) // (4)) as row", "it reads stage 0 at"},
		{"a square of another task", tiles, "((s + 4*t) % (3)) as column", "((s + t) % (3)) as column", "it reads stage 0 at"},
		{"a variable of two points", tiles, "region t1 = 1 from", "region t1 = 2 from", "; want one point and an unused name"},
		{"a variable called as a loop", tiles, "as row", "as column", "; want one point and an unused name"},
		{"a variable called as an axis", tiles, "as row", "as i0", "; want one point and an unused name"},
		{"a variable called as a later loop", tiles, "as row", "as w", "stage 0 has a loop of this name"},
		{"written out around others", tiles, "  serial b = c0\n  unroll u = q0\n", "  unroll u = q0\n  serial b = c0\n", "it is unrolled; want the innermost loop"},
		{"a part of an axis written out", tiles, "unroll u = q0", "serial r = q0\n  unroll u = q0*3", "it is unrolled; want the innermost loop"},
		{"a sum written out", matmul, "  rows r = i0*4 peel", "  unroll r = i0*4 peel", "it is unrolled; want the innermost loop"},
		{"lines of registers", tiles, "in worker, claimed", "in register, claimed", "lines in space register are claimed 16 elements ahead"},
		{"lines of an operand", tiles, "value stage 1.0", "value operand 0: 0 1 2 in arena, claimed 8 ahead\nvalue stage 1.0", "lines of an operand are claimed 8 elements ahead, but operands are not stored"},
		{"lines of a worker that are fetched", tiles, "in worker, claimed", "in worker, fetched 16 ahead, claimed", "lines in space worker with encoding \"\" are fetched 16 elements ahead"},
		{"lines of what is encoded", pruned, "encoding fkw of 20 kernels 1b b2 1b0", "encoding fkw of 20 kernels 1b b2 1b0, fetched 16 ahead", "are fetched 16 elements ahead; want at most"},
		{"lines too far ahead", tiles, "value stage 1.0", "value operand 0: 0 1 2 in arena, fetched 1073741825 ahead\nvalue stage 1.0", "lines in space arena with encoding \"\" are fetched 1073741825 elements ahead"},
		{"an operand's margin", tiles, "value stage 1.0", "value operand 0: 0 1 2 in arena, margin 8 and 0\nvalue stage 1.0", "an operand has a margin of 8 and 0 elements; want none, because another block stores it"},
		{"a margin of parts", tiles, "in worker, claimed 16 ahead", "in worker, margin 15 and 2", "a margin of 15 and 2 elements in space worker with parts 1 2 3 0 4"},
		{"a margin of results", matmul, "sum k = r0\n", "sum k = r0\nvalue stage 1.0: 0 1 in arena, margin 1 and 0\n", "a margin of 1 and 0 elements in space arena with parts 0 1"},
		{"a transform without points", pruned, "encoding fkw of 20 kernels 1b b2 1b0", "encoding winograd F(3,3)", `encoding "winograd F(3,3)"`},
		{"a transform of a non-constant operand", matmul, "sum k = r0\n", "sum k = r0\nvalue operand 0: 0 1 in arena, encoding winograd F(4,3)\n", "encoding winograd F(4,3) of a non-constant operand"},
	} {
		t.Run(c.name, func(t *testing.T) {
			require.Contains(t, c.of.Schedule, c.old)
			s, err := sched.Parse(strings.Replace(c.of.Schedule, c.old, c.new, 1))
			require.NoError(t, err)
			assert.ErrorContains(t, s.Verify(c.of.Work, chipstest.Target(t, c.of.Chip)), c.want)
		})
	}
}

// TestSharedIndices: stages that are read at indices of the same memory are checked each.
func TestSharedIndices(t *testing.T) {
	axes, at := []te.Axis{{Var: "i0", Extent: sym.Const(16)}}, []sym.Expr{sym.Var("i0")}
	half := &te.Stage{Axes: axes, Results: []te.Expr{te.Operand(0, ir.F32, at...)}}
	sum := &te.Stage{Axes: axes, Results: []te.Expr{te.Fn(ir.F32, "add", te.FromStage(0, ir.F32, at...), te.FromStage(1, ir.F32, at...))}}
	w := &sched.Work{Operands: []*ir.Value{{Type: ir.F32, Shape: ir.Dims(16), HasShape: true}}, Stages: []*te.Stage{half, half, sum}}
	for extent, want := range map[string]string{"4": "", "3": "it reads stage 1 at"} {
		s, err := sched.Parse("stage 0 at 2.g\n  region i0 = 4 from 4*g\n  serial a = i0\nstage 1 at 2.g\n  region i0 = " + extent + " from 4*g\n  serial b = i0\nstage 2\n  task g = i0\n  serial c = i0*4\n")
		require.NoError(t, err)
		err = s.Verify(w, chipstest.Target(t, "x86_64_v3"))
		if want == "" {
			assert.NoError(t, err)
		} else {
			assert.ErrorContains(t, err, want)
		}
	}
}

// TestParse: errors name the line.
func TestParse(t *testing.T) {
	for text, want := range map[string]string{
		"stage 1":                                       `line 1 of the schedule, "stage 1": want stage 0`,
		"stage 0\n  row x = i0":                         `line 2 of the schedule, "  row x = i0": there is no kind of loop "row"; known: serial task unroll vector group item rows columns lanes sum dot`,
		"stage 0\n  serial x = i0*0":                    "want AXIS*SIZE with a size from 1",
		"stage 0\n  serial x = i0 clap":                 `there is no edge "clap"; known: clip peel roundup last`,
		"stage 0\n  serial x":                           "want serial NAME and its definition",
		"stage 0\n  region x = 1 from t as 2":           "want region AXIS = EXTENT from FIRST, or from FIRST as NAME",
		"stage 0\n  inside out":                         "want inside NAME and its definition",
		"value operand 0: 0 in arena, claimed 0 ahead":  "want encoding NAME, N points of axis AXIS, claimed N ahead, fetched N ahead, or margin N and N",
		"value operand 0: 0 in arena, margin 0 and 0":   `"margin 0 and 0": want`,
		"value operand 0: 0 in arena, fetched -1 ahead": "want encoding NAME",
		"stage 0 at 1":                                  "want at STAGE.LOOP",
		"  serial x = i0":                               "it does not belong to a stage",
		"scale":                                         "want stage or value",
		"value operand 0: 0 in cache":                   `there is no space "cache"; known: arena worker register local image`,
		"value operand 0: x in arena":                   `part "x" of a storage`,
		"value operand 0: 0 1*4~2 in arena":             `part "1*4~2" of a storage`,
		"stage 0\n  tile fma of":                        "want tile ROW and vec, mem, bcast, lane or scalar",
		"stage 0\n  tile fma_f32x8 lane, y ahead":       `"y ahead": want w N ahead, x ahead, next N, narrow N, block N, alone, early, held N, skips N or claims`,
		"stage 0\n  tile fma_f32x8 lane, next 0":        `"next 0": want w N ahead, x ahead, next N, narrow N, block N, alone, early, held N, skips N or claims`,
		"stage 0\n  split i0 = j0*4":                    "want split AXIS = OUTER INNER*SIZE",
		strings.Repeat("stage 0\n", 5000):               "schedule of 5000 lines; want at most 4096",
	} {
		_, err := sched.Parse(text)
		assert.ErrorContains(t, err, want)
	}
}

// FuzzParse: a text is refused, or is that of what it parses to; and Verify does not panic.
func FuzzParse(f *testing.F) {
	for _, x := range schedtest.Examples() {
		f.Add(x.Schedule)
	}
	examples := schedtest.Examples()
	f.Fuzz(func(t *testing.T, text string) {
		s, err := sched.Parse(text)
		if err != nil {
			return
		}
		again, err := sched.Parse(s.String())
		require.NoError(t, err)
		require.Equal(t, s.String(), again.String())
		for _, x := range examples {
			_ = s.Verify(x.Work, chipstest.Target(t, x.Chip))
		}
	})
}

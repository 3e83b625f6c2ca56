package loop_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/kernel/loop"
)

// kernelText is a kernel with lines before its grid of 4 tasks, and statements.
type kernelText struct{ name, head, body, want string }

func (c kernelText) text() string {
	lines := func(s string) string { return strings.ReplaceAll(s, "; ", "\n") + "\n" }
	return "kernel \"test\" {\n  symbol N\n  facts N 1..64\n  operand x f32[64]\n  operand n i64[8]\n  result y f32[64]\n" + lines(c.head) + "grid task < 4\n" + lines(c.body) + "}\n"
}

const (
	micro       = "micro m0 fma_f32x8 bcast 2 x 2 row 4 k 4 by 1, 16"
	dots        = "micro m0 fma_f32x4 lane 2 x 2 row 4 k %s"
	micro16     = "micro m0 fma_f32x8 bcast 2 x 2 from f16 row 4 k 4 by 1, 16"
	matrix      = "micro m0 tdpbuud_u8u8x16 mem 2 x 1 %s; operand b u8[128]"
	mma         = "operand h f16[512]; result z f32[128]; micro m0 mma_f16x2 bcast "
	halves      = "operand h f16[64]; result z bf16[64]"
	halfBuffers = "operand h f16[64]; result z f16[64]"
	// bytes, sums, and results of the kinds that are made of them
	integers = "operand b u8[64]; operand s i32[64]; result p i32[64]; result q u8[64]; result r bool[64]"
	image    = "result z f32[64] image [4, 4]"
)

// mmaTile is a tile of two rows and two columns.
const mmaTile = "2 x 1 row 16 k 4 by 4, 8"

// together is a kernel whose items, so many by 4, compute it together, of X and W and under a condition.
func together(down int, x, w, cond string) string {
	end := ""
	if cond != "" {
		cond, end = "if "+cond+" {; ", "; }"
	}
	return fmt.Sprintf("for g < %d items {; for t < 4 items {; array a f32[4]; %stile m0 a[0] = h[%s] * h[%s]%s; z[task*32 + t + 4*g] = a[0]; }; }; for i < 16 items {; y[task*16 + i] = x[i]; }", down, cond, x, w, end)
}

// exchange is a kernel whose items store what they have, and then a value.
func exchange(value string) string {
	return "array a f32[8]; for i < 8 items {; a[i] = x[i]; }; for i < 8 items {; y[task*8 + i] = " + value + "; }"
}

// right are kernels without a mistake: those around the wrong ones below.
var right = []kernelText{
	{"loops", "", "for i < 16 {; y[task*16 + i] = x[task*16 + i]; }", ""},
	{"vectors", "", "for i < 16 lanes 8 {; y[task*16 + i] = f32 add(x[task*16 + i], x[task]); }", ""},
	{"strided vectors", "", "for j < 4 {; for i < 4 lanes 4 stride 4 {; y[task*16 + j + 4*i] = x[task*16 + 4*j + i]; }; }", ""},
	{"vectors of halves", halves, "for i < 16 lanes 8 {; var v = f16 add(h[task*16 + i], h[task]); y[task*16 + i] = f32 mul(f32 cast(v), x[i]); z[task*16 + i] = bf16 cast(v); }", ""},
	{"vectors of wide floats", "operand d f64[64]; result z f64[64]", "for i < 16 lanes 4 {; z[task*16 + i] = f64 cast(i32 cast(f64 mul(d[i], f64 cast(x[i])))); y[task*16 + i] = x[i]; }", ""},
	{"vectors of integers", integers, "for i < 16 lanes 8 {; var v = i32 mul(i32 cast(b[task*16 + i]), s[i]); p[task*16 + i] = v; q[task*16 + i] = u8 quantize(f32 mul(f32 cast(v), x[0]), b[0]); r[task*16 + i] = bool lt(v, s[0]); y[task*16 + i] = f32 select(bool lt(v, s[0]), x[i], f32:0); }", ""},
	{"a tile whose loads convert", halves + "; " + micro16, "array a f32[32]; tile m0 a[0] = x[0] * h[0]; for i < 16 {; y[task*16 + i] = a[i]; z[task*16 + i] = bf16:0; }", ""},
	{"a tile", micro, "array a f32[32]; tile m0 a[0] = x[0] * x[0]; for i < 16 {; y[task*16 + i] = a[i]; }", ""},
	{"a tile that fetches later rows", micro + " fetch_x 8", "array a f32[32]; tile m0 a[0] = x[0] * x[0]; for i < 16 {; y[task*16 + i] = a[i]; }", ""},
	{"a tile of lanes", strings.Replace(dots, "%s", "4 by 1, 8", 1), "array a f32[16]; tile m0 a[0] = x[56] * x[32]; for i < 16 {; y[task*16 + i] = a[i]; }", ""},
	{"a tile of matrices", strings.Replace(matrix, "%s", "row 8 k 2 by 4, 64", 1), "array a i32[32]; tile m0 a[0] = b[0] * b[0]; for i < 16 {; y[task*16 + i] = f32 cast(a[i]); }", ""},
	{"the worker's memory", "scratch s f32[16]", "for i < 16 {; s[i] = x[i]; }; for i < 16 {; y[task*16 + i] = s[15 - i]; }", ""},
	{"a loaded index", "", "for i < 16 {; bind g = n[min(7, i)] in 0..63; y[task*16 + i] = x[g]; }", ""},
	{"accesses that are guarded", "", "for i < 16 {; y[task*16 + i] = (x[100 + i] if 3 <= i < 2 else x[i]); if 20 <= i < 30 {; y[i] = x[100]; }; }", ""},
	{"a loop that may not run", "facts M 0..64; symbol M", "for i < 16 {; y[task*16 + i] = x[i]; }; for j < M {; y[j + 100] = f32:0; }", ""},
	{"a value and a loop of one name", "", "index i = 0; y[task*16 + i] = x[i]; for i < 15 {; y[task*16 + i + 1] = x[i]; }", ""},
	{"an element by symbols", "operand v f32[8*N]", "for i < 16 {; y[task*16 + i] = v[8*N - 1]; }", ""},
	{"an image", image, "for i < 16 {; y[task*16 + i] = x[i]; }; for l < 4 lanes 4 {; z[l;task, 3] = x[l]; }", ""},
	{"work-items", "shared s f32[16]", "for i < 4 items {; for j < 4 items {; s[4*j + i] = x[4*i + j]; }; }; for i < 16 items {; y[task*16 + i] = s[i]; }", ""},
	{"items that exchange what they have", "", exchange("near(a[i], 4, 3)"), ""},
	{"a tile that items compute together", mma + mmaTile, together(8, "32*g", "16*t", ""), ""},
	{"vectors of f16", halfBuffers, "array a f16[16] packed; for i < 16 lanes 8 halves {; a[i] = f16 max(h[i], f16:0); }; for i < 16 {; y[task*16 + i] = x[i]; z[task*16 + i] = a[i]; }", ""},
	{"places that a condition chooses", "", "if 0 <= task < 1 {; for i < 64 {; y[i] = x[i]; }; }", ""},
}

// wrong are right kernels with one mistake.
var wrong = []kernelText{
	// Names.
	{"an index after its loop", "", "for i < 4 {; }; y[i] = x[0]", `the index i uses "i", which is not in scope`},
	{"another symbol", "", "y[task] = x[M]", `the index M uses "M", which is not in scope`},
	{"a scalar as an index", "", "var v = f32:1; y[v] = v", `the index v uses "v", which is not in scope`},
	{"twice in a block", "", "var v = f32:1; var v = f32:1", `"v" is declared twice in one block`},
	{"a loop in a loop over its variable", "", "for i < 4 {; for i < 4 {; y[i] = x[i]; }; }", `"i" is declared in a block where another "i" is in scope`},
	{"a loop over the tasks' variable", "", "for task < 4 {; y[task] = x[0]; }", `"task" is declared in a block where another "task" is in scope`},
	{"an array called as an operand", "", "if 0 <= task < 1 {; array x f32[4]; }", `"x" is declared in a block where another "x" is in scope`},
	{"a scalar of another type in a block", "", "var v = f32:1; if 0 <= task < 1 {; var v = f16:1; }", `"v" is declared in a block where another "v" is in scope`},
	{"a name of expressions", "", "index min = 0", `"min" is not a name`},
	{"a scalar after its block", "", "if 0 <= task < 1 {; var v = f32:1; }; y[task] = v", `"v" is read as f32, but is a <nil> of type invalid here`},
	// Types.
	{"a scalar of another type", "", "var v = f16:1; y[task] = v:f32", `"v" is read as f32, but is a loop.variable of type f16 here`},
	{"an assignment of another type", "", "var v = f32:1; v = f16:1", `f16 is assigned to "v", which is a loop.variable of type f32 here`},
	{"a store of another type", "", "y[task] = n[0]", `i64 is stored to "y" of f32`},
	{"a choice of two types", "", "y[task] = (x[0] if 0 <= task < 2 else n[0])", `a choice between f32 and i64; want one type`},
	{"no such function", "", "y[task] = f32 sinus(x[0])", `no scalar function "sinus"`},
	{"arguments of two types", "", "y[task] = f32 add(x[0], n[0])", `scalar function "add" wants arguments of one type`},
	{"a loaded index of floats", "", "bind g = x[0] in 0..7; y[task] = x[g]", `the index "g" is made of f32`},
	// Buffers.
	{"a store to an operand", "", "x[task] = f32:1", `"x" is written, which is an operand`},
	{"an array after its block", "", "if 0 <= task < 1 {; array a f32[4]; a[0] = x[0]; }; y[task] = a[0]", `no buffer "a" is in scope`},
	{"an array of a symbol's size", "", "array a f32[N]", `the local array "a" has N elements`},
	{"an array that tasks share", "", "array a f32[4] shared", `the local array "a" has 4 elements`},
	{"an array that cannot be written", "", "array a f32[4] readonly", `"a" is a local array; want a buffer that is written`},
	{"an array that packs floats", "", "array a f32[4] packed", `"a" packs elements of type f32; want f16`},
	{"a parameter that is packed", "operand z f16[4] packed", "", `"z" is a local array, and a parameter`},
	{"vectors of f16 that hold floats", "", "for i < 16 lanes 8 halves {; y[task*16 + i] = x[i]; }", `the loop over "i" has vectors of f16, but computes something else`},
	{"an array that nothing writes", "", "array a f32[4]; y[task] = a[0]", `"a" is read, but nothing writes it`},
	{"a result that nothing writes", "result z f32[4]", "for i < 16 {; y[task*16 + i] = x[i]; }", `nothing writes the result "z"`},
	{"worker's memory that nothing writes", "scratch s f32[4]", "for i < 16 {; y[task*16 + i] = s[0]; }", `"s" is read, but nothing writes it`},
	{"worker's memory of constants", "scratch s f32[4] const", "", `"s" is the worker's memory`},
	{"a parameter that is local", "operand z f32[4] local", "", `"z" is a local array, and a parameter`},
	{"a result of constants", "result z f32[4] const", "", `"z" is written, but contains constants`},
	{"an operand over another", "operand z f32[4] holds", "", `"z" contains an operand, but is not a result`},
	{"a buffer of less than no elements", "operand z f32[3 - 4*N]", "", `"z" has -4*N + 3 elements`},
	{"a symbol that nothing computes", "sets K", "for i < 16 {; y[task*16 + i] = x[i]; }", `nothing computes the symbol "K"`},
	// Work-items.
	{"shared memory without items", "shared s f32[4]", "s[0] = x[0]; y[task] = s[0]", `"s" is shared by work-items, but no loop is over work-items`},
	{"shared memory of a symbol's size", "shared s f32[N]", "for i < 4 items {; s[i] = x[i]; y[task*4 + i] = s[i]; }", `"s", shared by work-items, has N elements; want a constant number, and not an image`},
	{"a worker's memory in a group", "scratch s f32[4]", "for i < 4 items {; s[i] = x[i]; y[task*4 + i] = s[i]; }", `"s" is a worker's memory, which work-groups do not have`},
	{"a store that each item would do", "", "for i < 4 items {; y[task*4 + i] = x[i]; }; y[task] = x[0]", "a statement of type loop.Store outside the loops over work-items"},
	{"items within other items' loop", "", "for i < 4 items {; index a = i; for j < 4 items {; y[task*16 + 4*a + j] = x[j]; }; }", "loops over work-items must be nested directly in each other"},
	{"items of a symbol's number", "", "for i < N items {; y[i] = x[i]; }", `loop "i" over work-items has N iterations; want a constant number, and no vectors`},
	{"items in vectors", "", "for j < 4 lanes 4 {; for i < 4 items {; y[task*16 + 4*j + i] = x[i]; }; }", `the vectorized loop "j" contains loops over work-items`},
	{"too many items", "", "for i < 64 items {; for j < 65 items {; y[0] = x[0]; }; }", "loops over 4160 work-items; want at most 4096"},
	{"rows that items do not compute together", mma + "1 x 1 row 16 k 4 by 4, 8", together(8, "32*g", "16*t", ""), "items apply instruction mma_f16x2 together to pairs of rows and 4 groups of the sum"},
	{"a sum of too few groups", mma + "2 x 1 row 16 k 2 by 4, 8", together(8, "32*g", "16*t", ""), "items apply instruction mma_f16x2 together to pairs of rows and 4 groups of the sum"},
	{"items of which too few compute a tile together", mma + mmaTile, together(4, "32*g", "16*t", ""), "items apply instruction mma_f16x2 together; want loops over 8 by 4 items directly around it"},
	{"a tile that an item computes alone", mma + mmaTile, "array a f32[4]; tile m0 a[0] = h[0] * h[0]; for i < 16 {; y[task*16 + i] = a[0]; z[task*32 + i] = a[1]; }", "items apply instruction mma_f16x2 together; want loops over 8 by 4 items directly around it"},
	{"rows of items that share them", mma + mmaTile, together(8, "32*g + 16*t", "16*t", ""), `items apply instruction mma_f16x2 together: X at 32*g + 16*t must be the same for all items of "t"`},
	{"columns of items that share them", mma + mmaTile, together(8, "32*g", "16*t + 8*g", ""), `items apply instruction mma_f16x2 together: X at 32*g must be the same for all items of "t", and W at 8*g + 16*t for all items of "g"`},
	{"a tile that some items leave out", mma + mmaTile, together(8, "32*g", "16*t", "0 <= g < 7"), "items apply an instruction together within a statement of type loop.If that depends on the item"},
	{"an exchange without items", "", "array a f32[4]; a[0] = x[0]; y[task] = near(a[0], 4, 0)", "an exchange between work-items outside a loop over work-items"},
	{"an exchange beside loops over items", "", "array a f32[8]; bind g = i64 cast(near(a[0], 4, 0)) in 0..7; for i < 8 items {; y[task*8 + i] = x[i]; }", "an exchange between work-items outside a loop over work-items"},
	{"an exchange among none", "", exchange("near(a[i], 0, 0)"), `items exchange "a" with neighbour 0 (0 to 0) of 0 among 8 items; want a neighbour within the width, and a width that divides the items`},
	{"an exchange among too many", "", exchange("near(a[i], 3, 0)"), `items exchange "a" with neighbour 0 (0 to 0) of 3 among 8 items; want a neighbour within the width, and a width that divides the items`},
	{"an exchange with who is no neighbour", "", exchange("near(a[i], 4, 4)"), `items exchange "a" with neighbour 4 (4 to 4) of 4 among 8 items; want a neighbour within the width, and a width that divides the items`},
	{"an exchange at another item's place", "", exchange("near(a[7 - i], 4, 0)"), `items exchange "a" at -i + 7: want an array of 8, one for each item, at i`},
	{"an exchange of what items share", "shared s f32[8]", "for i < 8 items {; s[i] = x[i]; }; for i < 8 items {; y[task*8 + i] = near(s[i], 4, 0); }", `items exchange "s" at i: want an array of 8, one for each item, at i`},
	{"an exchange of what is stored meanwhile", "", "array a f32[8]; for i < 8 items {; a[i] = x[i]; y[task*8 + i] = near(a[i], 4, 0); }", `items exchange "a" in the loop that stores or declares it`},
	{"an exchange that some items leave out", "", exchange("x[i]; if 0 <= i < 4 {; y[task*8 + i] = near(a[i], 4, 0); }"), "items exchange \"a\" in a branch or loop that not all of them run"},
	{"an exchange in a choice", "", exchange("(near(a[i], 4, 0) if 0 <= i < 4 else x[i])"), `items exchange "a" in a branch or loop that not all of them run`},
	{"an exchange in a loop of a symbol's extent", "", exchange("x[i]; for k < N {; y[task*8 + i] = near(a[i], 4, 0); }"), `items exchange "a" in a branch or loop that not all of them run`},
	{"a barrier", "", "barrier; y[task] = x[0]", "a barrier; kernels wait only at the ends of loops over items"},
	// Images.
	{"an image of another size", "operand z f32[60] image [4, 4]", "", `"z" has 60 elements, and its image of 4 x 4 texels 64`},
	{"a texel of no image", "", "y[task;1, 2] = x[0]", `"y" has a texel, but is not an image`},
	{"a fifth lane", image, "for l < 5 {; z[l;task, 0] = x[l]; }", `lane 4 of "z"; want less than its size, 4`},
	{"a column too many", image, "for l < 4 lanes 4 {; z[l;task + 1, 0] = x[l]; }", `column 4 of "z"; want less than its size, 4`},
	{"a claim of a texel", image, "claim z[0]", `the elements of "z" are in an image`},
	// Ranges.
	{"one element too many", "", "for i < 17 {; y[task*16 + i] = x[task*16 + i]; }", `element 64 of "x"; want less than its size, 64`},
	{"one element before", "", "for i < 16 {; y[task*16 + i] = x[i - 1]; }", `element -1 of "x"; want at least 0`},
	{"beyond a size of symbols", "operand v f32[8*N]", "y[task] = v[8*N]", `element 8*N of "v"; want less than its size, 8*N`},
	{"beyond the last of N", "operand v f32[8*N]", "for i < N {; for j < 8 {; y[task*16 + j] = v[8*i + j + 1]; }; }", `element 8*N of "v"; want less than its size, 8*N`},
	{"beyond by a value", "", "index j = 16*task; for i < 16 {; index k = i + j; y[k + 1] = x[k]; }", `element 64 of "y"; want less than its size, 64`},
	{"a loop of less than no points", "", "for i < 3 - 4*N {; }", `"i" runs over -4*N + 3 points`},
	{"a loop beyond its facts", "facts i 0..14", "for i < 16 {; y[task*16 + i] = x[i]; }", `"i" can be 15; its maximum in the facts is 14`},
	{"a task below its facts", "facts task 1..3", "y[task] = x[0]", `"task" can be 0; its minimum in the facts is 1`},
	{"a value beyond its facts", "facts j 0..2", "index j = task", `"j" can be 3; its maximum in the facts is 2`},
	{"a loaded integer beyond its facts", "facts g 0..6", "bind g = n[0] in 0..7; y[task] = x[g]", `"g" can be 7; its maximum in the facts is 6`},
	// Tasks.
	{"one element by all tasks", "", "y[0] = x[task]", `all points of "task" store to element 0 of "y"`},
	{"all elements by all tasks", "", "for i < 64 {; y[i] = x[i]; }", `all points of "task" store to element i of "y"`},
	{"an axis that stores to the same places", "grid g < 2", "for i < 16 {; y[task*16 + i] = x[g]; }", `all points of "g" store to element i + 16*task of "y"`},
	{"the first element of the next task", "", "for i < 16 {; y[task*15 + i] = x[i]; }", `two points of "task" store to one element of "y": i + 15*task reaches an element of the next point if "i" = 15`},
	{"tasks that overlap by a value", "", "index j = 8*task; for i < 3 {; for k < 4 {; y[j + 4*i + k] = x[k]; }; }", `two points of "task" store to one element of "y": 4*i + k + 8*task reaches an element of the next point if "i" = 2`},
	{"axes that overlap", "grid g < 5", "for i < 2 {; y[8*task + 2*g + i] = x[i]; }", `two points of "task" store to one element of "y"`},
	{"a call in all tasks", "", "call NonZero<f32> {; operand x f32[64]; result y f32[64]; work 1; }", `opaque operator NonZero is called in several tasks`},
	// Vectors.
	{"a vector of what lies apart", "", "for i < 16 lanes 8 {; y[task*16 + i] = x[5*i]; }", `the loop over "i" cannot be vectorized`},
	{"a vector stored apart", "", "for i < 4 lanes 4 stride 2 {; y[task*16 + 4*i] = x[i]; }", `the loop over "i" cannot be vectorized`},
	{"a vector that assigns to what is around", "", "var v = f32:0; for i < 16 lanes 8 {; v = x[i]; }", `the loop over "i" cannot be vectorized`},
	{"a vector in a vector", "", "for i < 8 lanes 8 {; for j < 8 lanes 8 {; var v = x[j]; }; }", `the loop over "j" is vectorized, and a loop around it is, too`},
	{"a vector of quotients of integers", integers, "for i < 16 lanes 8 {; p[task*16 + i] = i32 div(s[i], s[0]); q[task*16 + i] = u8:0; r[task*16 + i] = bool:0; }", `the loop over "i" cannot be vectorized`},
	{"a vector of wide functions", "operand d f64[64]; result z f64[64]", "for i < 16 lanes 4 {; z[task*16 + i] = f64 exp(d[i]); }; for i < 16 {; y[task*16 + i] = x[i]; }", `the loop over "i" cannot be vectorized`},
	{"a zero point of another type", integers, "q[task] = u8 quantize(x[0], s[0])", `scalar function "quantize" wants an f32 and an integer of 8 or 16 bits, found (f32, i32)`},
	{"less than no lanes", "", "for i < 16 lanes -8 {; y[task*16 + i] = x[i]; }", `the loop over "i" has vectors of -8 lanes`},
	// Tiles.
	{"a tile of what loads do not convert", halves + "; " + micro, "array a f32[32]; tile m0 a[0] = x[0] * h[0]", `a tile reads or writes "h" of type f16; instruction fma_f32x8 wants f32`},
	{"a tile that converts what has 32 bits", micro16, "array a f32[32]; tile m0 a[0] = x[0] * x[0]", `a tile reads or writes "x" of type f32; instruction fma_f32x8 wants f16`},
	{"a tile of halves as an X", halves + "; " + micro, "array a f32[32]; tile m0 a[0] = h[0] * x[0]", `a tile reads or writes "h" of type f16; instruction fma_f32x8 wants f32`},
	{"a tile that converts integers", "operand b u8[64]; " + strings.Replace(micro16, "f16", "u8", 1), "array a f32[32]; tile m0 a[0] = x[0] * b[0]", `loads of W convert u8 for instruction fma_f32x8, which takes f32`},
	{"a tile of another type", micro, "array a f32[32]; tile m0 a[0] = n[0] * x[0]", `a tile reads or writes "n" of type i64; instruction fma_f32x8 wants f32`},
	{"a tile into an operand", micro, "tile m0 x[0] = x[0] * x[0]", `"x" is written, which is an operand`},
	{"a tile into a result", micro, "tile m0 y[0] = x[0] * x[0]", `a tile writes to "y"; want a local array or the worker's memory`},
	{"a tile into a smaller array", micro, "array a f32[31]; tile m0 a[0] = x[0] * x[0]", `element 31 of "a"; want less than its size, 31`},
	{"a tile beyond X", micro, "array a f32[32]; tile m0 a[0] = x[57] * x[0]", `element 64 of "x"; want less than its size, 64`},
	{"a tile beyond W", micro, "array a f32[32]; tile m0 a[0] = x[0] * x[1]", `element 64 of "x"; want less than its size, 64`},
	{"a tile beyond W by tasks", micro, "array a f32[32]; tile m0 a[0] = x[0] * x[16*task]", `element 111 of "x"; want less than its size, 64`},
	{"a tile of no registers", strings.Replace(micro, "2 x 2", "2 x 0", 1), "array a f32[32]; tile m0 a[0] = x[0] * x[0]", `instruction fma_f32x8 gets X of kind bcast in 2 rows of 0 registers`},
	{"a kind of X that the row has not", strings.Replace(micro, "bcast", "lane", 1), "array a f32[32]; tile m0 a[0] = x[0] * x[0]", `instruction fma_f32x8 gets X of kind lane`},
	{"lanes of half a register", strings.Replace(dots, "%s", "2 by 1, 8", 1), "array a f32[16]; tile m0 a[0] = x[0] * x[0]", `instruction fma_f32x4 takes lanes of X; want a contiguous innermost loop`},
	{"lanes that lie apart", strings.Replace(dots, "%s", "4 by 2, 8", 1), "array a f32[16]; tile m0 a[0] = x[0] * x[0]", `instruction fma_f32x4 takes lanes of X; want a contiguous innermost loop`},
	{"matrices whose points lie apart", strings.Replace(matrix, "%s", "row 8 k 2 by 8, 64", 1), "array a i32[32]; tile m0 a[0] = b[0] * b[0]", `instruction tdpbuud_u8u8x16 reads matrices; want rows of X with a constant stride, and a contiguous innermost loop`},
	{"matrices whose rows lie in runs", strings.Replace(matrix, "%s", "row 8 run 1 8 k 2 by 4, 64", 1), "array a i32[32]; tile m0 a[0] = b[0] * b[0]", `instruction tdpbuud_u8u8x16 reads matrices`},
	{"a vector by a matrix", strings.Replace(strings.Replace(matrix, "%s", "row 8 k 2 by 4, 64", 1), "mem", "vec", 1), "array a i32[32]; tile m0 a[0] = b[0] * b[0]", `instruction tdpbuud_u8u8x16 gets X of kind vec`},
	{"a loop of no points in a tile", strings.Replace(micro, "k 4", "k 0", 1), "array a f32[32]; tile m0 a[0] = x[0] * x[0]", `a loop of a micro-kernel has 0 points`},
	{"later rows that lie apart", strings.Replace(micro, "row 4", "row 5", 1) + " fetch_x 8", "array a f32[32]; tile m0 a[0] = x[0] * x[0]", `X is fetched 8 elements ahead as one row; want contiguous rows`},
	{"sums in 16 bits of another instruction", micro + " narrow 2", "array a f32[32]; tile m0 a[0] = x[0] * x[0]", `instruction fma_f32x8 adds products of 2 points in 16 bits`},
	{"no sums in 16 bits", "micro m0 vmpy_i8u8 scalar 1 x 1 k 4 by 1, 128; operand b u8[1024]; operand q i8[4]", "array a i32[128]; tile m0 a[0] = q[0] * b[0]", `instruction vmpy_i8u8 adds products of 0 points in 16 bits; want a multiple of 1 up to 4`},
	{"half an application in 16 bits", "micro m0 vmpa_i8u8 scalar 1 x 1 k 4 by 2, 128 narrow 3; operand b u8[1024]; operand q i8[8]", "array a i32[64]; tile m0 a[0] = q[0] * b[0]", `instruction vmpa_i8u8 adds products of 3 points in 16 bits; want a multiple of 2 up to 4`},
	{"sums in 16 bits of too many points", "micro m0 vmpy_i8u8 scalar 1 x 1 k 8 by 1, 128 narrow 5; operand b u8[1024]; operand q i8[8]", "array a i32[128]; tile m0 a[0] = q[0] * b[0]", `instruction vmpy_i8u8 adds products of 5 points in 16 bits`},
	{"matrices that are fetched ahead", strings.Replace(matrix, "%s", "row 8 k 2 by 4, 64 prefetch_w 64", 1), "array a i32[32]; tile m0 a[0] = b[0] * b[0]", `instruction tdpbuud_u8u8x16 multiplies matrices; its micro-kernels cannot fetch ahead`},
	{"a vector of groups", "micro m0 vrmpy_i8i8 vec 1 x 1; operand b i8[256]", "array a i32[32]; tile m0 a[0] = b[0] * b[0]", `instruction vrmpy_i8i8 gets X of kind vec`},
}

// TestVerifyTexts: kernels in their text form, right ones and such with a mistake.
func TestVerifyTexts(t *testing.T) {
	for _, c := range append(append([]kernelText{}, right...), wrong...) {
		k, err := loop.Parse(c.text())
		require.NoError(t, err, "%s\n%s", c.name, c.text())
		err = loop.Verify(k)
		if c.want == "" {
			assert.NoError(t, err, c.name)
			continue
		}
		assert.ErrorContains(t, err, "kernel test: "+c.want, c.name)
	}
}

package a64count

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestDecode: GNU as assembled the words for -march=armv8.6-a+fp16+fp16fml+bf16+i8mm+dotprod.
func TestDecode(t *testing.T) {
	for _, c := range []struct {
		word uint32
		text string
		want Counts
	}{
		{0x4e22cc20, "fmla v0.4s, v1.4s, v2.4s", Counts{1, 4, 0, 0, 1}},
		{0x0ea2cc20, "fmls v0.2s, v1.2s, v2.2s", Counts{1, 2, 0, 0, 1}},
		{0x4e62cc20, "fmla v0.2d, v1.2d, v2.2d", Counts{1, 2, 0, 0, 1}},
		{0x4fa21820, "fmla v0.4s, v1.4s, v2.s[3]", Counts{1, 4, 0, 0, 1}},
		{0x0fa25020, "fmls v0.2s, v1.2s, v2.s[1]", Counts{1, 2, 0, 0, 1}},
		{0x4fc21820, "fmla v0.2d, v1.2d, v2.d[1]", Counts{1, 2, 0, 0, 1}},
		{0x5fa21020, "fmla s0, s1, v2.s[1]", Counts{1, 1, 0, 0, 1}},
		{0x1f020c20, "fmadd s0, s1, s2, s3", Counts{1, 1, 0, 0, 1}},
		{0x1f428c20, "fmsub d0, d1, d2, d3", Counts{1, 1, 0, 0, 1}},
		{0x4e420c20, "fmla v0.8h, v1.8h, v2.8h", Counts{1, 8, 0, 0, 1}},
		{0x0ec20c20, "fmls v0.4h, v1.4h, v2.4h", Counts{1, 4, 0, 0, 1}},
		{0x4f321820, "fmla v0.8h, v1.8h, v2.h[7]", Counts{1, 8, 0, 0, 1}},
		{0x0f225020, "fmls v0.4h, v1.4h, v2.h[2]", Counts{1, 4, 0, 0, 1}},
		{0x4e22ec20, "fmlal v0.4s, v1.4h, v2.4h", Counts{1, 4, 0, 0, 1}},
		{0x6e22cc20, "fmlal2 v0.4s, v1.4h, v2.4h", Counts{1, 4, 0, 0, 1}},
		{0x0fb20020, "fmlal v0.2s, v1.2h, v2.h[3]", Counts{1, 2, 0, 0, 1}},
		{0x6fb28020, "fmlal2 v0.4s, v1.4h, v2.h[3]", Counts{1, 4, 0, 0, 1}},
		{0x4e829420, "sdot v0.4s, v1.16b, v2.16b", Counts{1, 16, 0, 0, 1}},
		{0x2e829420, "udot v0.2s, v1.8b, v2.8b", Counts{1, 8, 0, 0, 1}},
		{0x4e829c20, "usdot v0.4s, v1.16b, v2.16b", Counts{1, 16, 0, 0, 1}},
		{0x4fa2e820, "sdot v0.4s, v1.16b, v2.4b[3]", Counts{1, 16, 0, 0, 1}},
		{0x6fa2e020, "udot v0.4s, v1.16b, v2.4b[1]", Counts{1, 16, 0, 0, 1}},
		{0x4fa2f020, "usdot v0.4s, v1.16b, v2.4b[1]", Counts{1, 16, 0, 0, 1}},
		{0x4f22f020, "sudot v0.4s, v1.16b, v2.4b[1]", Counts{1, 16, 0, 0, 1}},
		{0x6e42fc20, "bfdot v0.4s, v1.8h, v2.8h", Counts{1, 8, 0, 0, 1}},
		{0x4f62f020, "bfdot v0.4s, v1.8h, v2.2h[1]", Counts{1, 8, 0, 0, 1}},
		{0x4e82a420, "smmla v0.4s, v1.16b, v2.16b", Counts{1, 32, 0, 0, 1}},
		{0x6e82a420, "ummla v0.4s, v1.16b, v2.16b", Counts{1, 32, 0, 0, 1}},
		{0x4e82ac20, "usmmla v0.4s, v1.16b, v2.16b", Counts{1, 32, 0, 0, 1}},
		{0x6e42ec20, "bfmmla v0.4s, v1.8h, v2.8h", Counts{1, 16, 0, 0, 1}},
		{0x4ea29420, "mla v0.4s, v1.4s, v2.4s", Counts{1, 4, 0, 0, 1}},
		{0x4e229420, "mla v0.16b, v1.16b, v2.16b", Counts{1, 16, 0, 0, 1}},
		{0x6f620020, "mla v0.8h, v1.8h, v2.h[2]", Counts{1, 8, 0, 0, 1}},
		{0x0e628020, "smlal v0.4s, v1.4h, v2.4h", Counts{1, 4, 0, 0, 1}},
		{0x6e228020, "umlal2 v0.8h, v1.16b, v2.16b", Counts{1, 8, 0, 0, 1}},
		{0x0f522020, "smlal v0.4s, v1.4h, v2.h[1]", Counts{1, 4, 0, 0, 1}},
		{0x6e22dc20, "fmul v0.4s, v1.4s, v2.4s", Counts{1, 0, 0, 0, 1}},
		{0x4e22d420, "fadd v0.4s, v1.4s, v2.4s", Counts{1, 0, 0, 0, 1}},
		{0x0e22cc20, "fmla v0.2s, v1.2s, v2.2s", Counts{1, 2, 0, 0, 1}},
		{0x3dc00020, "ldr q0, [x1]", Counts{1, 0, 1, 0, 1}},
		{0x3cc10420, "ldr q0, [x1], #16", Counts{1, 0, 1, 0, 1}},
		{0x3ce26820, "ldr q0, [x1, x2]", Counts{1, 0, 1, 0, 1}},
		{0x3cdf0020, "ldur q0, [x1, #-16]", Counts{1, 0, 1, 0, 1}},
		{0xad400420, "ldp q0, q1, [x1]", Counts{1, 0, 2, 0, 2}},
		{0xacc10420, "ldp q0, q1, [x1], #32", Counts{1, 0, 2, 0, 2}},
		{0xad000420, "stp q0, q1, [x1]", Counts{1, 0, 0, 2, 2}},
		{0x3d800420, "str q0, [x1, #16]", Counts{1, 0, 0, 1, 1}},
		{0x4c407820, "ld1 {v0.4s}, [x1]", Counts{1, 0, 1, 0, 1}},
		{0x4cdfa820, "ld1 {v0.4s, v1.4s}, [x1], #32", Counts{1, 0, 2, 0, 2}},
		{0x4c406820, "ld1 {v0.4s-v2.4s}, [x1]", Counts{1, 0, 3, 0, 3}},
		{0x4cdf2820, "ld1 {v0.4s-v3.4s}, [x1], #64", Counts{1, 0, 4, 0, 4}},
		{0x4c408820, "ld2 {v0.4s, v1.4s}, [x1]", Counts{1, 0, 2, 0, 2}},
		{0x4c404820, "ld3 {v0.4s-v2.4s}, [x1]", Counts{1, 0, 3, 0, 3}},
		{0x4c400820, "ld4 {v0.4s-v3.4s}, [x1]", Counts{1, 0, 4, 0, 4}},
		{0x4c002820, "st1 {v0.4s-v3.4s}, [x1]", Counts{1, 0, 0, 4, 4}},
		{0x4c008820, "st2 {v0.4s, v1.4s}, [x1]", Counts{1, 0, 0, 2, 2}},
		{0x0d409020, "ld1 {v0.s}[1], [x1]", Counts{1, 0, 1, 0, 1}},
		{0x4d40c820, "ld1r {v0.4s}, [x1]", Counts{1, 0, 1, 0, 1}},
		{0x4d60c820, "ld2r {v0.4s, v1.4s}, [x1]", Counts{1, 0, 2, 0, 2}},
		{0x0d60b020, "ld4 {v0.s-v3.s}[1], [x1]", Counts{1, 0, 4, 0, 4}},
		{0x0d009020, "st1 {v0.s}[1], [x1]", Counts{1, 0, 0, 1, 1}},
		{0xf9400020, "ldr x0, [x1]", Counts{1, 0, 1, 0, 1}},
		{0xb9800020, "ldrsw x0, [x1]", Counts{1, 0, 1, 0, 1}},
		{0x39400420, "ldrb w0, [x1, #1]", Counts{1, 0, 1, 0, 1}},
		{0xa9400440, "ldp x0, x1, [x2]", Counts{1, 0, 2, 0, 2}},
		{0xf9000020, "str x0, [x1]", Counts{1, 0, 0, 1, 1}},
		{0xa9bf07e0, "stp x0, x1, [sp, #-16]!", Counts{1, 0, 0, 2, 2}},
		{0xf9802020, "prfm pldl1keep, [x1, #64]", Counts{0, 0, 0, 0, 0}},
		{0xf89f8020, "prfum pldl1keep, [x1, #-8]", Counts{0, 0, 0, 0, 0}},
		{0xf8a26821, "prfm pldl1strm, [x1, x2]", Counts{0, 0, 0, 0, 0}},
		{0x1c0000a0, "ldr s0, .Ll", Counts{1, 0, 1, 0, 1}},
		{0x58000080, "ldr x0, .Ll", Counts{1, 0, 1, 0, 1}},
		{0xc8dffc20, "ldar x0, [x1]", Counts{1, 0, 1, 0, 1}},
		{0x8b020020, "add x0, x1, x2", Counts{1, 0, 0, 0, 1}},
		{0x14000001, "b .Ll", Counts{1, 0, 0, 0, 1}},
		{0xd65f03c0, "ret", Counts{1, 0, 0, 0, 1}},
		{0x4f000400, "movi v0.4s, #0", Counts{1, 0, 0, 0, 1}},
	} {
		assert.Equal(t, c.want, decode(c.word), c.text)
	}
}

package opencl

import (
	"fmt"
	"strings"

	"rules_dnn/gen/emit/ckernel"
)

// probeMatrices is a kernel that only a compiler takes which has PTX's products of matrices: NVIDIA's, for devices that have the instruction.
const probeMatrices = `#ifndef __NV_CL_C_VERSION
#error PTX is NVIDIA's
#endif
__kernel void probe_matrices(__global float* y) {
  float a = 0, b = 0, c = 0, d = 0;
  __asm__ volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %4, %4, %4}, {%4, %4}, {%0, %1, %2, %3};"
               : "+f"(a), "+f"(b), "+f"(c), "+f"(d) : "r"(0));
  __local ushort rows[256] __attribute__((aligned(16)));
  uint e, f, g, h;
  __asm__ volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];" : "=r"(e), "=r"(f), "=r"(g), "=r"(h) : "r"((uint)(size_t)rows) : "memory");
  y[get_global_id(0)] = a + b + c + d + (float)(e + f + g + h);
}
`

// together is a micro-kernel of such an instruction: two of mma.sync of 16 rows, 8 columns and 16 points of the sum (PTX ISA, "Matrix Fragments for
// mma.m16n8k16"), as an item's groups of the sum are of 8 points. Item 4*g + t of 32 has rows g and g+8, columns 2*t and 2*t+1 of the sums. Of the factors
// ldmatrix reads 8 rows, or columns, by 8 points for the items together, four such matrices at a time: item i tells where row i%8 of matrix i/8 lies. Rows g
// and g+8 are two of those of items 4*g, and columns 2*t and 2*t+1 those of item t, who tell where theirs lie.
func (m call) together() string {
	w := &ckernel.Writer{}
	w.Line("// %d x %d accumulators of %d numbers; %d groups of products of %s a call.", m.Rows, m.Vectors, m.Lanes(), m.K[0].Extent, m.Instr.Name)
	w.Block(fmt.Sprintf("static inline __attribute__((always_inline)) void %s(%s const ushort* x, %s const ushort* w, float* acc)", m.name(), m.x.space(), m.w.space()), func() {
		m.each(func(r, v int64) {
			for l := range m.Lanes() {
				first := fmt.Sprintf("acc[%d]", m.at(r, v)+l)
				if !m.Adds {
					first = "0"
				}
				w.Line("float %s = %s;", sum(r, v, l), first)
			}
		})
		if m.multiplies() {
			w.Line("#ifdef %s", together)
			m.matrices(w)
			w.Line("#else")
			m.plain(w)
			w.Line("#endif")
		} else {
			m.plain(w)
		}
		m.each(func(r, v int64) {
			for l := range m.Lanes() {
				w.Line("acc[%d] = %s;", m.at(r, v)+l, sum(r, v, l))
			}
		})
	})
	return w.String()
}

// sum is the name of an accumulator.
func sum(r, v, lane int64) string { return fmt.Sprintf("a%d_%d_%d", r, v, lane) }

// multiplies reports whether items can: they share both factors, and rows of matrices lie at multiples of what is read of one.
func (m call) multiplies() bool {
	return m.x.whole && m.w.whole && m.RowStep%m.Instr.Group == 0
}

// Bytes of an element, and matrices of an instruction along the sum.
const halfBytes, alongSum = 2, 2

// matrices is the products by the instruction.
func (m call) matrices(w *ckernel.Writer) {
	k, group, across := m.K[0], m.Instr.Group, m.Instr.Across
	w.Line("const uint lane = get_local_id(0) %% %d;", m.Instr.Down*across)
	w.Line("uint xs = (uint)(size_t)x, ws = (uint)(size_t)w;")
	w.Line(`__asm__ volatile("shfl.sync.idx.b32 %%0, %%0, %%1, 31, -1;" : "+r"(xs) : "r"(lane %% %d * %d));`, m.Instr.Down, across)
	w.Line(`__asm__ volatile("shfl.sync.idx.b32 %%0, %%0, %%1, 31, -1;" : "+r"(ws) : "r"(lane %% %d / %d));`, m.Instr.Down, m.Lanes())
	w.Line("xs += %d * (lane / 8 %% 2 * %d + lane / 16 * %d);", halfBytes, m.RowStep, k.XStep)
	w.Line("ws += %d * (lane %% %d * %d + lane / 8 %% 2 * %d + lane / 16 * %d);", halfBytes, m.Lanes(), group, k.WStep, m.VectorAt(1))
	w.Line("#pragma unroll")
	w.Block(fmt.Sprintf("for (int k = 0; k < %d; ++k)", k.Extent/alongSum), func() {
		for v := int64(0); v < m.Vectors; v += 2 {
			names := fragment("w", v, 2)
			if v+1 < m.Vectors {
				names = append(names, fragment("w", v+1, 2)...)
			}
			w.Line("%s", read(names, fmt.Sprintf("ws + %d * (k * %d + %d)", halfBytes, alongSum*k.WStep, m.VectorAt(v))))
		}
		for r := int64(0); r < m.Rows; r += 2 {
			w.Line("%s", read(fragment("x", r, 4), fmt.Sprintf("xs + %d * (k * %d + %d)", halfBytes, alongSum*k.XStep, m.RowAt(r))))
		}
		for r := int64(0); r < m.Rows; r += 2 {
			for v := range m.Vectors {
				w.Line("%s", m.matrix(r, v))
			}
		}
	})
}

// fragment are the names of what an item has of matrices.
func fragment(of string, at, n int64) []string {
	var out []string
	for i := range n {
		out = append(out, fmt.Sprintf("%s%d_%d", of, at, i))
	}
	return out
}

// read is the variables that ldmatrix reads.
func read(names []string, at string) string {
	var to, out []string
	for i, name := range names {
		to, out = append(to, fmt.Sprintf("%%%d", i)), append(out, fmt.Sprintf(`"=r"(%s)`, name))
	}
	return fmt.Sprintf(`uint %s; __asm__ volatile("ldmatrix.sync.aligned.m8n8.x%d.shared.b16 {%s}, [%%%d];" : %s : "r"(%s) : "memory");`,
		strings.Join(names, ", "), len(names), strings.Join(to, ", "), len(names), strings.Join(out, ", "), at)
}

// matrix is the instruction for two rows from r on, and a register of W.
func (m call) matrix(r, v int64) string {
	var sums, factors []string
	for i := range int64(2) {
		for l := range m.Lanes() {
			sums = append(sums, fmt.Sprintf(`"+f"(%s)`, sum(r+i, v, l)))
		}
	}
	for _, name := range append(fragment("x", r, 4), fragment("w", v, 2)...) {
		factors = append(factors, fmt.Sprintf(`"r"(%s)`, name))
	}
	text := m.Instr.Text(dialectName, "{%0, %1, %2, %3}", "{%4, %5, %6, %7}", "{%8, %9}")
	return fmt.Sprintf(`__asm__ volatile("%s" : %s : %s);`, text, strings.Join(sums, ", "), strings.Join(factors, ", "))
}

// plain is the products of an item by itself.
func (m call) plain(w *ckernel.Writer) {
	load := func(of, at string) string { return fmt.Sprintf("dnn_%s_to_f32(%s[%s])", m.Instr.X, of, at) }
	k, group := m.K[0], m.Instr.Group
	w.Block(fmt.Sprintf("for (int k = 0; k < %d; ++k)", k.Extent), func() {
		w.Block(fmt.Sprintf("for (int g = 0; g < %d; ++g)", group), func() {
			for v := range m.Vectors {
				for l := range m.Lanes() {
					w.Line("const float w%d_%d = %s;", v, l, load("w", fmt.Sprintf("k * %d + g + %d", k.WStep, m.VectorAt(v)+l*group)))
				}
			}
			for r := range m.Rows {
				w.Line("const float x%d = %s;", r, load("x", fmt.Sprintf("k * %d + g + %d", k.XStep, m.RowAt(r))))
				for v := range m.Vectors {
					for l := range m.Lanes() {
						w.Line("%s = mad(x%d, w%d_%d, %s);", sum(r, v, l), r, v, l, sum(r, v, l))
					}
				}
			}
		})
	})
}

package opencl

import (
	"fmt"
	"strings"

	"rules_dnn/gen/print/ckernel"
)

// matrices is defined where the device's compiler takes instructions that the items of a sub-group apply together, PTX's products of matrices: whoever
// builds the kernels compiles the probe to see. Without it each item multiplies by itself.
const matrices = "DNN_MATRICES"

// probe is a kernel that only such a compiler takes: NVIDIA's, for devices that have the instruction.
const probe = `#ifndef __NV_CL_C_VERSION
#error PTX is NVIDIA's
#endif
__kernel void probe(__global float* y) {
  float a = 0, b = 0, c = 0, d = 0;
  __asm__ volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %4, %4, %4}, {%4, %4}, {%0, %1, %2, %3};"
               : "+f"(a), "+f"(b), "+f"(c), "+f"(d) : "r"(0));
  y[get_global_id(0)] = a + b + c + d;
}
`

// together is a micro-kernel of such an instruction: mma.sync of 16 rows, 8 columns and 16 points of the sum (PTX ISA, "Matrix Fragments for mma.m16n8k16").
// Item 4*g + t of 32 has rows g and g+8, columns 2*t and 2*t+1 of the sums, these rows and column g of the factors, and of the sum points 2*t, 2*t+1, 2*t+8 and
// 2*t+9. In which order the points of a sum are is all the same: those of item t are the four that lie together, group t. The rows are two of the
// item's own, and column g that of item g/2, which tells where it lies.
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
		w.Line("#ifdef %s", matrices)
		m.matrices(w)
		w.Line("#else")
		m.plain(w)
		w.Line("#endif")
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

// matrices is the products by the instruction.
func (m call) matrices(w *ckernel.Writer) {
	k, group := m.K[0], m.Instr.Group
	w.Line("const uint lane = get_local_id(0) %% %d, from = lane / %d;", m.Instr.Down*m.Instr.Across, 2*m.Instr.Across)
	w.Line("uint own = (uint)(size_t)w, other;")
	w.Line(`__asm__ volatile("shfl.sync.idx.b32 %%0, %%1, %%2, 31, -1;" : "=r"(other) : "r"(own), "r"(from));`)
	w.Line("w += ((int)(other - own)) / 2 + (int)(lane / %d %% 2 * %d + lane %% %d * %d);", m.Instr.Across, group, m.Instr.Across, k.WStep)
	w.Line("x += lane %% %d * %d;", m.Instr.Across, k.XStep)
	w.Line("#pragma unroll")
	w.Block(fmt.Sprintf("for (int k = 0; k < %d; ++k)", k.Extent/m.Instr.Across), func() {
		for v := range m.Vectors {
			w.Line("const uint2 w%d = %s;", v, m.w.pair(fmt.Sprintf("w + k * %d + %d", m.Instr.Across*k.WStep, m.VectorAt(v))))
		}
		for r := range m.Rows {
			w.Line("const uint2 x%d = %s;", r, m.x.pair(fmt.Sprintf("x + k * %d + %d", m.Instr.Across*k.XStep, m.RowAt(r))))
		}
		for r := int64(0); r < m.Rows; r += 2 {
			for v := range m.Vectors {
				w.Line("%s", m.matrix(r, v))
			}
		}
	})
}

// pair is four elements of 16 bits.
func (o operand) pair(at string) string {
	if o.whole {
		return fmt.Sprintf("*(%s const uint2*)(%s)", o.space(), at)
	}
	return fmt.Sprintf("as_uint2(vload4(0, %s))", at)
}

// matrix is the instruction for two rows from r on, and a register of W.
func (m call) matrix(r, v int64) string {
	var sums []string
	for i := range int64(2) {
		for l := range m.Lanes() {
			sums = append(sums, fmt.Sprintf(`"+f"(%s)`, sum(r+i, v, l)))
		}
	}
	text := m.Instr.Text(dialectName, "{%0, %1, %2, %3}", "{%4, %5, %6, %7}", "{%8, %9}")
	return fmt.Sprintf(`__asm__ volatile("%s" : %s : "r"(x%d.x), "r"(x%d.x), "r"(x%d.y), "r"(x%d.y), "r"(w%d.x), "r"(w%d.y));`, text, strings.Join(sums, ", "), r, r+1, r, r+1, v, v)
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

package opencl

import (
	"fmt"
	"strings"
)

// together is defined where the device's compiler takes all that the items of a sub-group do together in a program: whoever builds the kernels compiles the
// probe to see. Without it each item works by itself, and exchanges values in memory that its group shares, with the same results.
const together = "DNN_TOGETHER"

// near is the function that reads what another item of the sub-group has, and ofSubGroups what is asked of kernels that call it.
const near, ofSubGroups, itemInSubGroups = "dnn_near", "DNN_OF_SUB_GROUPS", "dnn_item()"

// exchange is that function for sub-groups of so many, and what numbers items so that these are neighbours. In PTX (shfl.sync) they are warps, whose lanes are
// consecutive items of groups of one dimension. Elsewhere the kernel asks for sub-groups of that size (cl_intel_required_subgroup_size), which its
// groups are whole numbers of, and items have the numbers that their places in sub-groups give them.
func exchange(n int64) string {
	return strings.NewReplacer("$SIZE", fmt.Sprint(n), "$IF", together, "$OF", ofSubGroups, "$NEAR", near).Replace(`#ifdef $IF
#ifdef __NV_CL_C_VERSION
#if $SIZE != 32
#error warps have 32 items
#endif
#define $OF
static inline __attribute__((always_inline)) uint dnn_item(void) { return (uint)get_local_id(0); }
static inline __attribute__((always_inline)) float $NEAR(float x, uint item) {
  float y;
  __asm__ volatile("shfl.sync.idx.b32 %0, %1, %2, 31, -1;" : "=f"(y) : "f"(x), "r"(item % $SIZE));
  return y;
}
#else
#if !defined(cl_intel_required_subgroup_size) || !defined(cl_khr_subgroup_shuffle)
#error kernels cannot say how many items their sub-groups have, or these cannot exchange values
#endif
#define $OF __attribute__((intel_reqd_sub_group_size($SIZE)))
static inline __attribute__((always_inline)) uint dnn_item(void) { return get_sub_group_id() * $SIZE + get_sub_group_local_id(); }
static inline __attribute__((always_inline)) float $NEAR(float x, uint item) { return sub_group_shuffle(x, item % $SIZE); }
#endif
#else
#define $OF
#endif
`)
}

// probeExchange is a kernel that calls it.
func probeExchange(n int64) string {
	return "#undef " + together + "\n#define " + together + "\n" + exchange(n) + fmt.Sprintf(`__attribute__((reqd_work_group_size(%d, 1, 1)))
%s
__kernel void probe_exchange(__global float* y) { y[%s] = %s(y[%s], %s / 2); }
`, n, ofSubGroups, itemInSubGroups, near, itemInSubGroups, itemInSubGroups)
}

// probed is the probe of all that the items of sub-groups do together in a text, and the macro that it is for; "": nothing.
func probed(text string, subGroup int64) (probe, macro string) {
	if strings.Contains(text, "mma.sync") {
		probe = probeMatrices
	}
	if subGroup > 0 {
		probe += probeExchange(subGroup)
	}
	if probe != "" {
		macro = together
	}
	return probe, macro
}

// eitherWay is a kernel's body, and before it that of the kernel which exchanges values within sub-groups, where that can be.
func (k *kernel) eitherWay(body string) (string, error) {
	other := *k
	other.Kernel = k.inSubGroups
	text, err := other.body()
	return "#ifdef " + together + "\n" + text + "#else\n" + body + "#endif\n", err
}

// itemNumber is the item's number in its group.
func (k *kernel) itemNumber() string {
	if k.Kernel == k.inSubGroups {
		return itemInSubGroups
	}
	return "get_local_id(0)"
}

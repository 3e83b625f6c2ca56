package target

import (
	"fmt"
	"slices"

	"rules_dnn/gen/ir"
)

// What kernels and host programs may rely on. Packages ask these questions, and never for an interface, a processor or a name: a new
// kind of chip answers them here, and nothing else changes (tools/lint/words.txt finds comparisons).

// family is what all processors of a cpu have in common.
type family struct {
	language string // of kernels
	goarch   string // Go's name, "" where Go has none
	triple   string // of Linux on it, as GNU's and LLVM's tools name it
	// stored: what instructions multiply may be stored as they read it.
	stored bool
	// bare: programs have no threads, files and environment.
	bare bool
	// moved: how many integers of 16 bits loops copy at about the cost of one, as the printer finds vectors in them; 0: it finds none.
	moved int64
}

// families are known by the field cpu.
var families = map[string]family{
	"x86_64":  {language: "cpp", goarch: "amd64", triple: "x86_64-linux-gnu"},
	"arm64":   {language: "cpp", goarch: "arm64", triple: "aarch64-linux-gnu"},
	"hexagon": {language: "hvx", stored: true, bare: true, moved: 16},
	"opencl":  {language: "opencl"},
}

// Language is what kernels for the chip are written in, by the name of the printer below gen/emit: cpp, hvx or opencl.
func (t *Target) Language() string {
	if f, known := families[t.CPU]; known {
		return f.language
	}
	return "cpp"
}

// GOARCH is Go's name of the chip's processors, "" where Go has none.
func (t *Target) GOARCH() string { return families[t.CPU].goarch }

// StoresDots reports whether values of integers may be stored as instructions read them that sum their products, so that kernels find them in such layouts.
// Elsewhere, and where that does not pay, the tasks of a product pack what they read.
func (t *Target) StoresDots() bool { return families[t.CPU].stored }

// Bare reports whether programs on the chip have no threads of their own, no files and no environment, as on a DSP.
func (t *Target) Bare() bool { return families[t.CPU].bare }

// Moved is how many integers of 16 bits at most kernels copy at about the cost of one, whatever loops do so: where the printer finds vectors in them. 1: it
// does not.
func (t *Target) Moved() int64 { return max(1, families[t.CPU].moved) }

// Triple names Linux on the chip's processors to GNU's and LLVM's tools; "" where there is none.
func (t *Target) Triple() string { return families[t.CPU].triple }

// Unshared is the target without memory that work-items share, to measure what that gains; nil of nil.
func (t *Target) Unshared() *Target {
	if t == nil || t.OpenCL == nil {
		return t
	}
	out, groups := *t, *t.OpenCL
	groups.LocalBytes = 0
	out.OpenCL = &groups
	return &out
}

// Views reports whether the host program may let a value lie anywhere in another one's memory, or take its place. Elsewhere each value is
// an object of the device, which a kernel is given as a whole.
func (t *Target) Views() bool { return t.OpenCL == nil }

// Versions reports whether the host program may choose between kernels by the sizes of a run. Elsewhere kernels are what is printed, and
// the host program is another printer's.
func (t *Target) Versions() bool { return t.Language() == "cpp" }

// VectorTypes are the types of what kernels compute in vectors.
func (t *Target) VectorTypes() []ir.DType {
	if t.Language() == "cpp" {
		return []ir.DType{
			ir.F32, ir.F16, ir.BF16, ir.F64, ir.Bool, ir.I8, ir.U8, ir.I16, ir.U16, ir.I32, ir.U32, ir.I64, ir.U64,
		}
	}
	return []ir.DType{ir.F32}
}

// LoadsApart reports whether kernels load vectors of elements that lie some apart.
func (t *Target) LoadsApart() bool { return t.Language() == "cpp" }

// ReadsTables reports whether kernels read tables of 256 bytes in vectors, by instructions that choose bytes of registers.
func (t *Target) ReadsTables() bool {
	return t.CPU == "arm64" || t.CPU == "x86_64" && t.VectorBits >= avx2Bits
}

// BlockedTypes are the types of values that may be stored in blocks of channels, of as many as a vector of float32 has lanes: where the language's
// loads and stores of vectors convert, those of 16 bits, too.
func (t *Target) BlockedTypes() []ir.DType {
	if t.Language() == "cpp" {
		return []ir.DType{ir.F32, ir.F16, ir.BF16}
	}
	return []ir.DType{ir.F32}
}

// Quantizes reports whether kernels have rounding, zero point and saturation as one function.
func (t *Target) Quantizes() bool { return t.Language() == "cpp" }

// Logistic reports whether kernels compute 1 / (1 + e^-x) as one function, in half the instructions
// of its parts on 64-bit ARM.
func (t *Target) Logistic() bool { return t.CPU == "arm64" }

// LoadsConvert reports whether registers of elements of 16 bits become floats at little more than the cost of their load. Where register tiles are
// assembly, they do not: what is packed for those is float32.
func (t *Target) LoadsConvert(d ir.DType) bool {
	switch {
	case t.CPU != "x86_64" || t.VectorBits < avx2Bits:
		return false
	case d == ir.F16:
		return t.convertsF16()
	}
	return d == ir.BF16
}

// convertsF16 reports whether one instruction makes f32 of a register of f16.
func (t *Target) convertsF16() bool {
	if t.CPU == "x86_64" {
		return slices.Contains(t.CPUFeatures, "f16c")
	}
	return t.CPU == "arm64" || t.WorkItems()
}

// SumsStored reports whether register tiles may sum over what is stored of pruned weights (package fkw). Where neighbouring items run in step and share
// memory they do not: each would copy what it reads to memory of its own, which took an H100 a hundred times as long as multiplying zeros together. There
// groups of items sum over the points that groups of filters keep (lower.GroupTiles).
func (t *Target) SumsStored() bool {
	return t.Language() == "cpp" || t.OpenCL != nil && !(t.InStep() && t.OpenCL.LocalBytes > 0)
}

// SumsStoredOf reports whether register tiles may sum stored weights of a type. Kernels of
// processors widen weights of 16 bits as they read them; kernels of devices do not.
func (t *Target) SumsStoredOf(d ir.DType) bool {
	return t.SumsStored() && (d == ir.F32 || t.Language() == "cpp" && (d == ir.F16 || d == ir.BF16))
}

// WorkItems reports whether a task is a work-item: one of very many, whose place the device finds and which does little. Elsewhere a worker takes
// tasks one after the other: each should be worth finding out which one it is, and loops within it run in vectors.
func (t *Target) WorkItems() bool { return t.OpenCL != nil }

// TilesFillScratch reports whether a register tile may store its accumulators to a worker's memory, for other tiles of the task to
// read. Work-items cannot: that memory is the whole device's, and accumulators are variables of their own address space.
func (t *Target) TilesFillScratch() bool { return t.OpenCL == nil }

// LoadsEarly reports whether kernels should load what they multiply a step before: a processor that runs them waits for loads, and does nothing meanwhile.
func (t *Target) LoadsEarly() bool {
	return slices.ContainsFunc(t.Processors(), func(p *Target) bool { return p.InOrder })
}

// AtOnce is how many tasks run at once where estimates are of the whole chip, 1 where they are of one core. With scratch each needs a
// worker's memory, of which a device has fewer than it runs work-items.
func (t *Target) AtOnce(scratch bool) int64 {
	if scratch && t.OpenCL != nil {
		return min(t.Parallel, t.OpenCL.Workers)
	}
	return t.Parallel
}

// InStep reports whether work-items that are neighbours run in step: what each of them walks by itself is read in as many places at once.
func (t *Target) InStep() bool { return t.OpenCL != nil && t.OpenCL.SubGroup > 1 }

// WorkGroups is how work-items are started; an error where the facts do not say so.
func (t *Target) WorkGroups() (*OpenCL, error) {
	if t.OpenCL == nil {
		return nil, fmt.Errorf("the facts of %s do not say how OpenCL kernels run: add \"opencl\"", t.Name)
	}
	return t.OpenCL, nil
}

// avx2Bits is how wide vectors are of nearly all x86-64 processors in use.
const avx2Bits = 256

// Baseline says what to build for instead of a chip that is the least of its family, where most processors have far more; "" for others.
func (t *Target) Baseline() string {
	if t.CPU != "x86_64" || t.VectorBits >= avx2Bits {
		return ""
	}
	return fmt.Sprintf("the chip %s has only the vectors of baseline x86-64, %d bits (SSE2): for processors with AVX2 build with "+
		"--platforms=@rules_dnn//platforms:linux_x86_64_v3, with AVX-512 ...:linux_x86_64_v4, or add to your platform() the constraint @rules_dnn//platforms:x86_64_v3 or x86_64_v4", t.Name, t.VectorBits)
}

package manifest

import (
	"slices"

	"rules_dnn/gen/program/plan"
	"rules_dnn/gen/target"
)

// Variant is a chip that the library has kernels for.
type Variant struct {
	Chip string `json:"chip"` // the chip's name
	// The processor features that create() checks.
	CPUFeatures []string `json:"cpu_features"`
	Copts       []string `json:"copts"` // the C++ compiler flags of its sources
	// Estimated cycles of a run on one core.
	Cycles int64 `json:"cycles"`
	// Bytes of the constants that its kernels read.
	WeightsBytes    int64 `json:"weights_bytes"`
	OwnWeightsBytes int64 `json:"own_weights_bytes"` // bytes of the constants that only this variant reads
	// The functions of its blocks, in the order of the blocks.
	Kernels    []string `json:"kernels"`
	OwnKernels []string `json:"own_kernels"` // the functions that no earlier variant runs
	// The tuning of each block whose kernel was or can be measured.
	Tuning []*Tuning `json:"tuning,omitempty"`
}

// variants are the library's.
func variants(p *plan.Program, chips []*target.Target) []Variant {
	var out []Variant
	known := map[string]bool{}
	for i, t := range chips {
		v := Variant{Chip: t.Name, CPUFeatures: list(t.CPUFeatures), Copts: list(t.Copts), Kernels: []string{}, OwnKernels: []string{}}
		v.WeightsBytes, v.OwnWeightsBytes = p.ConstantBytes(i)
		program := p.Variant(i)
		cycles, calls, guards := 0.0, program.Calls(), program.Guards()
		for _, c := range calls {
			if _, some := guards[c]; !some {
				cycles += c.Cycles
			}
			v.Kernels = append(v.Kernels, c.Function)
			if !known[c.Function] {
				known[c.Function] = true
				v.OwnKernels = append(v.OwnKernels, c.Function)
			}
		}
		v.Cycles = int64(cycles)
		if slices.ContainsFunc(calls, func(c *plan.Call) bool { return c.Tuning != nil }) {
			for _, c := range calls {
				v.Tuning = append(v.Tuning, tuningOf(c))
			}
		}
		out = append(out, v)
	}
	return out
}

// tuningOf is what a call's kernel was chosen from; nil: estimates alone.
func tuningOf(c *plan.Call) *Tuning {
	if t := c.Tuning; t != nil {
		return &Tuning{t.Key, t.What, t.Kernel, t.Kernels, t.Params, t.Micros}
	}
	return nil
}

// list is never null in JSON.
func list(s []string) []string { return append([]string{}, slices.Clone(s)...) }

// Package target is what a chip offers, read from the facts file of a
// dnn_chip. No other package tests for a chip's name.
package target

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"rules_dnn/gen/base/jsonfile"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/target/instr"
)

// Target holds a chip's facts. Sizes are bytes.
type Target struct {
	Name string `json:"name"`
	CPU  string `json:"cpu"`
	// VectorBits is the width of a vector register.
	VectorBits int `json:"vector_bits"`
	// IntegersOnly reports that vector registers hold integers: kernels compute floats one by one.
	IntegersOnly bool `json:"integers_only"`
	// VectorRegisters is how many a kernel may use.
	VectorRegisters int `json:"vector_registers"`
	// Instructions are the tile instructions that it offers: rows of package instr, by name.
	Instructions []string `json:"instructions"`
	// InstructionUnits are those of which an application takes so many of the units that multiply, where that is not what the row says.
	InstructionUnits map[string]float64 `json:"instruction_units,omitempty"`
	// FMAPerCycle is how many of them start in a cycle.
	FMAPerCycle float64 `json:"fma_per_cycle"`
	// FMALatency is how many cycles after an accumulator of floats its next value is there; 0: as many as the instruction's row says.
	FMALatency float64 `json:"fma_latency"`
	// LoadsPerCycle and IssuePerCycle are how many loads of vectors, and how many instructions
	// of any kind, start in a cycle.
	LoadsPerCycle float64 `json:"loads_per_cycle"`
	IssuePerCycle float64 `json:"issue_per_cycle"`
	// InOrder reports that instructions wait for those before them: what is loaded is there when it is used only if it was loaded well before.
	InOrder bool `json:"in_order"`
	// StoresPerCycle is how many stores of vectors start in a cycle, and ArithmeticPerCycle how many instructions that compute floats, of any
	// kind; 0: 1 and 2.
	StoresPerCycle     float64 `json:"stores_per_cycle"`
	ArithmeticPerCycle float64 `json:"arithmetic_per_cycle"`
	// WidenCycles is how much of the time of products a conversion of a register of halves to floats takes; 0: as much as a product.
	WidenCycles float64 `json:"widen_cycles"`
	// LaneCycles is what a lane of a vector takes that is loaded or stored by itself; 0: 1.
	LaneCycles float64 `json:"lane_cycles"`
	// CrossingCycles is how long a line of the cache takes from one core to another; 0: 200.
	CrossingCycles float64 `json:"crossing_cycles"`
	// CPUFeatures are what create() checks for, by the names of runtime/dnn_cpu.h.
	CPUFeatures []string `json:"cpu_features"`
	// Copts are the C++ compiler's flags that select the instruction set. They are given to it as they are, by
	// programs that measure and compare too: who uses a chip's file trusts it as code.
	Copts []string `json:"copts"`

	// Tasks is how many tasks keep the whole chip busy, and TaskElements how many neighbouring
	// elements one of them takes: more tasks, or smaller ones, gain nothing.
	Tasks        int64 `json:"tasks"`
	TaskElements int64 `json:"task_elements"`
	// Parallel is how many tasks run at once where estimates are of the whole chip; 1 where they
	// are of one core.
	Parallel int64 `json:"parallel"`
	// LoadCycles is what a load of a vector or an element from a buffer takes, once it is cached.
	LoadCycles float64 `json:"load_cycles"`
	// Sources say, of fields by their names, where numbers come from; the compiler does not read them.
	Sources map[string]string `json:"sources"`
	// Images is the texture memory, nil where there is none.
	Images *Images `json:"images"`
	// OpenCL is how kernels run on a device of that interface, nil for processors.
	OpenCL *OpenCL `json:"opencl"`

	// PrefetchBytes is how far ahead kernels fetch what they read as a stream; 0: the processor knows better.
	PrefetchBytes int64 `json:"prefetch_bytes"`

	L1D int64 `json:"l1d_bytes"`
	L2  int64 `json:"l2_bytes"`
	// L1DWays is how many lines a set of the first-level cache has; 0: 8.
	L1DWays int64 `json:"l1d_ways"`
	// BytesPerCycle is what one core, or the whole chip where tasks run at once, reads from memory;
	// L2BytesPerCycle what it reads from the second-level cache.
	BytesPerCycle   float64 `json:"bytes_per_cycle"`
	L2BytesPerCycle float64 `json:"l2_bytes_per_cycle"`
	// L3 is how much a core may fill of the cache that cores share, and L3BytesPerCycle what it reads from there; 0: there is none that is
	// known, and what the second-level cache does not hold comes from memory.
	L3              int64   `json:"l3_bytes"`
	L3BytesPerCycle float64 `json:"l3_bytes_per_cycle"`

	// RunsOn are the facts of processors that may run what is made for a chip which stands for any of its kind.
	RunsOn []json.RawMessage `json:"runs_on,omitempty"`

	rows       []*instr.Row
	processors []*Target
	// channelBlock is that of the library whose variant the kernels are; 0: there is no other.
	channelBlock int64
	// inPairs reports that products of floats may be summed in pairs.
	inPairs bool
	// inHalves reports that products of f16 may be added in f16.
	inHalves bool
	// vectorBytes is how wide its widest vectors are; 0: as the chip's own.
	vectorBytes int64
}

// texelElements is how many elements a texel has.
const texelElements = 4

// Images is texture memory: two-dimensional images of texels of four elements.
type Images struct {
	// MaxWidth and MaxHeight are in texels.
	MaxWidth  int64 `json:"max_width"`
	MaxHeight int64 `json:"max_height"`
	// LoadCycles is what a load of a texel takes, BytesPerCycle what the chip reads from images.
	LoadCycles    float64 `json:"load_cycles"`
	BytesPerCycle float64 `json:"bytes_per_cycle"`
}

// The widest vectors: of any kind, and of floats (runtime/dnn_kernel.h).
const (
	maxVectorBits = 1024
	maxFloatBits  = 512
)

// Parse reads a facts file and checks it.
func Parse(data []byte) (*Target, error) {
	t := &Target{Tasks: 64, TaskElements: 4096, Parallel: 1, LoadCycles: 0.5, FMAPerCycle: 1, LoadsPerCycle: 2, IssuePerCycle: 4, L1D: 32 << 10, L2: 512 << 10, BytesPerCycle: 4, L2BytesPerCycle: 16}
	if err := jsonfile.Parse(data, t); err != nil {
		return nil, fmt.Errorf("chip facts: %w", err)
	}
	if t.Name == "" {
		return nil, fmt.Errorf("chip facts: no name; want the facts of a chip or a device, as 'bazel build @rules_dnn//platforms/chips:x86_64_v3' writes them")
	}
	if t.VectorBits < 32 || t.VectorBits > maxVectorBits || t.VectorBits&(t.VectorBits-1) != 0 {
		return nil, fmt.Errorf("chip %s: vector_bits is %d; want a power of two from 32 to %d", t.Name, t.VectorBits, maxVectorBits)
	}
	if !t.IntegersOnly && t.VectorBits > maxFloatBits {
		return nil, fmt.Errorf("chip %s: vector_bits is %d; want at most %d without integers_only", t.Name, t.VectorBits, maxFloatBits)
	}
	if t.VectorRegisters < 4 || t.VectorRegisters > 256 {
		return nil, fmt.Errorf("chip %s: vector_registers is %d; want 4 to 256", t.Name, t.VectorRegisters)
	}
	if min(t.FMAPerCycle, t.LoadsPerCycle, t.IssuePerCycle, t.BytesPerCycle, t.L2BytesPerCycle) <= 0 || t.L1D <= 0 || t.L2 <= 0 || t.PrefetchBytes < 0 || t.FMALatency < 0 {
		return nil, fmt.Errorf("chip %s: rates and cache sizes must be positive", t.Name)
	}
	if min(t.StoresPerCycle, t.ArithmeticPerCycle, t.LaneCycles, t.CrossingCycles, t.WidenCycles) < 0 {
		return nil, fmt.Errorf("chip %s: stores_per_cycle, arithmetic_per_cycle, lane_cycles, crossing_cycles and widen_cycles must not be negative", t.Name)
	}
	if t.L1DWays < 0 || t.L1D < t.Ways() {
		return nil, fmt.Errorf("chip %s: l1d_ways is %d; want 1 to l1d_bytes (%d), or 0 for the default %d", t.Name, t.L1DWays, t.L1D, usualWays)
	}
	if t.L3 < 0 || t.L3 > 0 && (t.L3 < t.L2 || t.L3BytesPerCycle < t.BytesPerCycle) {
		return nil, fmt.Errorf("chip %s: l3_bytes is %d, at %g bytes a cycle; want at least l2_bytes (%d) and bytes_per_cycle (%g), or 0 if there is no such cache", t.Name, t.L3, t.L3BytesPerCycle, t.L2, t.BytesPerCycle)
	}
	if err := t.checkTasks(); err != nil {
		return nil, fmt.Errorf("chip %s: %w", t.Name, err)
	}
	for _, name := range t.Instructions {
		if err := t.addInstruction(name); err != nil {
			return nil, fmt.Errorf("chip %s: instructions: %w", t.Name, err)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(t.InstructionUnits)) {
		if n := t.InstructionUnits[name]; n <= 0 || !slices.Contains(t.Instructions, name) {
			return nil, fmt.Errorf("chip %s: instruction_units: %s is %g; want one of its instructions and a positive number", t.Name, name, n)
		}
	}
	return t, t.addProcessors()
}

// Digest is of all facts but the name. One that a chip does not have leaves it as it is.
func (t *Target) Digest() string {
	text, err := json.Marshal(t)
	facts := map[string]any{}
	if err == nil {
		err = json.Unmarshal(text, &facts)
	}
	if err == nil {
		delete(facts, "name")
		maps.DeleteFunc(facts, func(_ string, v any) bool { return v == nil || v == 0.0 || v == false || v == "" })
		text, err = json.Marshal(facts)
	}
	if err != nil {
		panic(err) // numbers and texts
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}

func (t *Target) checkTasks() error {
	if t.Tasks < 1 || t.TaskElements < 1 || t.Parallel < 1 || t.LoadCycles <= 0 {
		return fmt.Errorf("tasks, task_elements, parallel and load_cycles must be positive")
	}
	if i := t.Images; i != nil && (i.MaxWidth < 1 || i.MaxHeight < 1 || min(i.LoadCycles, i.BytesPerCycle) <= 0) {
		return fmt.Errorf("images: extents and rates must be positive")
	}
	if t.Images != nil && t.TaskElements%texelElements != 0 {
		return fmt.Errorf("images: tasks store whole texels of %d elements; want a multiple of it as task_elements, not %d", texelElements, t.TaskElements)
	}
	if t.OpenCL != nil {
		return t.OpenCL.check()
	}
	return nil
}

func (t *Target) addInstruction(name string) error {
	r := instr.Lookup(name)
	switch {
	case r == nil:
		return fmt.Errorf("there is no %q; known: %s", name, instr.Names())
	case r.CPU != t.CPU:
		return fmt.Errorf("%s is for cpu %q; the chip has cpu %q", name, r.CPU, t.CPU)
	case r.Feature != "" && !slices.Contains(t.CPUFeatures, r.Feature):
		return fmt.Errorf("%s needs %q in cpu_features", name, r.Feature)
	case r.Acc.IsFloat() && t.IntegersOnly:
		return fmt.Errorf("%s computes with floats, but the chip has integers_only", name)
	case r.Lanes*int64(r.Acc.Size())*8 > int64(t.VectorBits)*r.PerSum():
		return fmt.Errorf("%s has %d lanes of %s, which exceed vector_bits %d in %d registers", name, r.Lanes, r.Acc, t.VectorBits, r.PerSum())
	}
	t.rows = append(t.rows, r)
	return nil
}

// Together is the tile instruction by which items of a sub-group multiply elements of a type together, and sum in float32; nil: there is none.
func (t *Target) Together(d ir.DType) *instr.Row {
	for _, r := range t.rows {
		if r.Down > 0 && r.X == d && r.W == d && r.Acc == ir.F32 && t.OpenCL != nil && t.OpenCL.SubGroup == r.Down*r.Across {
			return r
		}
	}
	return nil
}

// Tile returns the widest tile instruction whose accumulators and operands have type d, or nil. The
// instruction adds one product at a time, and a worker or an item applies it by itself.
func (t *Target) Tile(d ir.DType) *instr.Row {
	var best *instr.Row
	for _, r := range t.rows {
		if r.Acc == d && r.X == d && r.Down == 0 && !r.InPairs() && (best == nil || r.Lanes > best.Lanes) {
			best = r
		}
	}
	return best
}

// Dots are the tile instructions that sum products of integers into accumulators of type d.
func (t *Target) Dots(d ir.DType) []*instr.Row {
	var out []*instr.Row
	for _, r := range t.rows {
		if r.Acc == d && d.IsInteger() {
			out = append(out, r)
		}
	}
	return out
}

// InPairs is the target where products of floats may be summed in pairs, which flushes denormal numbers and adds in another order: what asks for a network
// in bf16 allows that. nil of nil.
func (t *Target) InPairs() *Target {
	if t == nil {
		return nil
	}
	out := *t
	out.inPairs = true
	return &out
}

// InHalves returns the target with permission to add products of f16 in f16, or nil if t is nil.
func (t *Target) InHalves() *Target {
	if t == nil {
		return nil
	}
	out := *t
	out.inHalves = true
	return &out
}

// Halves returns the tile instruction that adds products of f16 in f16. It returns nil if the chip
// has no such instruction, or if the target does not allow it.
func (t *Target) Halves() *instr.Row {
	for _, r := range t.rows {
		if t.inHalves && r.InHalves() {
			return r
		}
	}
	return nil
}

// Widening returns the tile instruction that adds products of f16 in f32, one at a time in each
// lane, or nil if the chip has none.
func (t *Target) Widening() *instr.Row {
	for _, r := range t.rows {
		if r.WidensHalves() {
			return r
		}
	}
	return nil
}

// Pairs are the tile instructions that sum products of floats in pairs into accumulators of type d, none unless that is allowed.
func (t *Target) Pairs(d ir.DType) []*instr.Row {
	var out []*instr.Row
	for _, r := range t.rows {
		if t.inPairs && r.Acc == d && r.InPairs() {
			out = append(out, r)
		}
	}
	return out
}

// Registers is how many there are of the kind that an instruction multiplies.
func (t *Target) Registers(r *instr.Row) int64 {
	if r.Matrix > 0 {
		return instr.TileRegisters
	}
	if r.Down > 0 { // an item's registers are of one element each
		return int64(t.VectorRegisters) * int64(t.VectorBits) / (r.Lanes * int64(r.Acc.Size()) * 8)
	}
	return int64(t.VectorRegisters)
}

// Units is how many of the units that multiply an application of an instruction takes.
func (t *Target) Units(r *instr.Row) float64 {
	if n, own := t.InstructionUnits[r.Name]; own {
		return n
	}
	return r.Units
}

// Latency is how many cycles after an accumulator of an instruction its next value is there.
func (t *Target) Latency(r *instr.Row) float64 {
	if r.Acc.IsFloat() && !r.InPairs() && t.FMALatency > 0 {
		return t.FMALatency
	}
	return r.Latency
}

// Lanes is how many elements of type d a vector register holds; 1 where kernels cannot compute
// with them.
func (t *Target) Lanes(d ir.DType) int {
	if d.IsFloat() && t.IntegersOnly {
		return 1
	}
	return max(1, t.VectorBits/8/d.Size())
}

// Package target is what a chip offers, read from the facts file of a
// dnn_chip. No other package tests for a chip's name.
package target

import (
	"bytes"
	"encoding/json"
	"fmt"

	"rules_dnn/gen/ir"
)

// Target holds a chip's facts. Sizes are bytes.
type Target struct {
	Name string `json:"name"`
	CPU  string `json:"cpu"`
	// VectorBits is the width of a vector register.
	VectorBits int `json:"vector_bits"`
	// VectorRegisters is how many a kernel may use.
	VectorRegisters int `json:"vector_registers"`
	// FMA tells that multiply and add are one instruction.
	FMA bool `json:"fma"`
	// BroadcastOperand tells that an FMA reads one element of memory for all lanes at no
	// cost (AVX-512); otherwise a broadcast takes a register.
	BroadcastOperand bool `json:"broadcast_operand"`
	// FMAPerCycle is how many vector FMAs of full width start in a cycle.
	FMAPerCycle float64 `json:"fma_per_cycle"`
	// CPUFeatures are what create() checks for, by the names of runtime/dnn_cpu.h.
	CPUFeatures []string `json:"cpu_features"`
	// Copts are the C++ compiler's flags that select the instruction set.
	Copts []string `json:"copts"`

	L1D int64 `json:"l1d_bytes"`
	L2  int64 `json:"l2_bytes"`
	// BytesPerCycle is what one core reads from memory.
	BytesPerCycle float64 `json:"bytes_per_cycle"`
}

// Parse reads a facts file and checks it.
func Parse(data []byte) (*Target, error) {
	t := &Target{FMAPerCycle: 1, L1D: 32 << 10, L2: 512 << 10, BytesPerCycle: 4}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(t); err != nil {
		return nil, fmt.Errorf("chip facts: %w", err)
	}
	if t.Name == "" {
		return nil, fmt.Errorf("chip facts: no name")
	}
	if t.VectorBits < 32 || t.VectorBits > 4096 || t.VectorBits&(t.VectorBits-1) != 0 {
		return nil, fmt.Errorf("chip %s: vector_bits is %d; want a power of two from 32 to 4096", t.Name, t.VectorBits)
	}
	if t.VectorRegisters < 4 || t.VectorRegisters > 256 {
		return nil, fmt.Errorf("chip %s: vector_registers is %d; want 4 to 256", t.Name, t.VectorRegisters)
	}
	if t.FMAPerCycle <= 0 || t.BytesPerCycle <= 0 || t.L1D <= 0 || t.L2 <= 0 {
		return nil, fmt.Errorf("chip %s: rates and cache sizes must be positive", t.Name)
	}
	return t, nil
}

// Lanes is how many elements of type t a vector register holds.
func (t *Target) Lanes(d ir.DType) int { return max(1, t.VectorBits/8/d.Size()) }

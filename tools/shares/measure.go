package main

import (
	"encoding/json"
	"fmt"

	"rules_dnn/tools/internal/build"
)

// figures holds the parts of a program's report that the table needs.
type figures struct {
	Machine struct {
		Gflops float64 `json:"gflops"`
	} `json:"machine"`
	Blocks []struct {
		Kernel   string  `json:"kernel"`
		Products float64 `json:"products"` // that micro-kernels compute
		Ms       struct {
			Least float64 `json:"least"`
		} `json:"ms"`
	} `json:"blocks"`
}

// measure runs the program of a product.
func (p product) measure(m *build.Model, seconds float64) (*figures, error) {
	src, err := m.WriteGraph(p.graph())
	if err != nil {
		return nil, err
	}
	if err := m.Compile(src, p.options()...); err != nil {
		return nil, err
	}
	program, err := m.Program()
	if err != nil {
		return nil, err
	}
	out, err := build.Stdout(program, "--weights="+m.Weights(), fmt.Sprintf("--seconds=%g", seconds), "--probe-seconds=0.1", "--probe-bytes=16000000", "--json=-")
	if err != nil {
		return nil, err
	}
	f := &figures{}
	if err := json.Unmarshal(out, f); err != nil {
		return nil, err
	}
	if len(f.Blocks) != 1 {
		return nil, fmt.Errorf("%s: found %d blocks; want 1", m.Folder, len(f.Blocks))
	}
	return f, nil
}

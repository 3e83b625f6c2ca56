// Package cpptest compiles printed programs with a C++ compiler of the machine and runs
// them on one thread, without the generated API and without the runtime's library:
// many small programs go into one binary. Only tests import it.
package cpptest

import (
	"bytes"
	_ "embed" // the driver
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"rules_dnn/gen/emit/cpp"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/program/plan"
)

//go:embed driver.h
var driver string

//go:embed device.h
var deviceDriver string

// Case is a program and what to run it on.
type Case struct {
	Name    string
	Program *plan.Program
	Dims    map[string]int64 // values of the program's symbols
	Inputs  []*ir.Tensor
	// Denormals reports that inputs hold denormal numbers, which one run takes for zeros and the other keeps.
	Denormals bool
}

// Result is what a run came to. Outputs are set where Status is 0.
type Result struct {
	Status  int32
	Outputs []*ir.Tensor
	// Counts are what the machine's counters went up by.
	Counts []uint32
	// Kept is what a run came to in which denormal numbers were kept, where the first did not.
	Kept *Result
}

// perFile is how many programs share a source file.
const perFile = 60

// source is the programs [from, to), each in a namespace of its own, and the files of those whose
// kernels are C.
func source(l *cpp.Language, cases []Case, from, to int) (string, []cpp.File, error) {
	var b strings.Builder
	var others []cpp.File
	b.WriteString("#include \"driver.h\"\n")
	for i := from; i < to; i++ {
		files, err := l.Print(cases[i].Program, fmt.Sprintf("p%d", i), 1)
		if err != nil {
			return "", nil, fmt.Errorf("%s: %w", cases[i].Name, err)
		}
		fmt.Fprintf(&b, "// %s\nnamespace p%d {\n", cases[i].Name, i)
		for _, f := range files {
			if l.Extension == ".c" && !strings.HasSuffix(f.Name, ".cc") {
				others = append(others, f)
			}
			if strings.HasSuffix(f.Name, ".c") {
				continue
			}
			for _, line := range strings.Split(f.Text, "\n") {
				if !strings.HasPrefix(line, "#include") {
					b.WriteString(line + "\n")
				}
			}
		}
		b.WriteString("}\n")
	}
	fmt.Fprintf(&b, "Program* Part%d(int64_t i) {\n  switch (i) {\n", from/perFile)
	for i := from; i < to; i++ {
		fmt.Fprintf(&b, "    case %d: return p%d::p%d_program;\n", i, i, i)
	}
	b.WriteString("  }\n  return nullptr;\n}\n")
	return b.String(), others, nil
}

func mainSource(parts int) string {
	var b strings.Builder
	b.WriteString("#define DRIVER_MAIN\n#include \"driver.h\"\n")
	for i := range parts {
		fmt.Fprintf(&b, "Program* Part%d(int64_t i);\n", i)
	}
	fmt.Fprintf(&b, "Program* Find(int64_t i) {\n  switch (i / %d) {\n", perFile)
	for i := range parts {
		fmt.Fprintf(&b, "    case %d: return Part%d(i);\n", i, i)
	}
	b.WriteString("  }\n  return nullptr;\n}\n")
	return b.String()
}

// writeCase writes one request after the number that tells the mode (output): the program's number, arena, scratch, symbols, weights, inputs, and
// the outputs' sizes. All numbers are 64 bits; data follows its length.
func writeCase(w *bytes.Buffer, i int, c *Case) error {
	p := c.Program
	number := func(x int64) { w.Write(binary.LittleEndian.AppendUint64(nil, uint64(x))) }
	number(int64(i))
	for _, e := range []sym.Expr{p.ArenaBytes, p.ScratchBytes} {
		x, err := e.Eval(c.Dims)
		if err != nil {
			return err
		}
		number(x)
	}
	number(int64(len(p.Symbols) + len(p.Counters)))
	for _, s := range p.Symbols {
		number(c.Dims[s.Name])
	}
	for range p.Counters {
		number(0)
	}
	number(int64(len(p.Symbols)))
	number(cpp.WeightsBytes(p))
	if err := cpp.Weights(p, w); err != nil {
		return err
	}
	number(int64(len(c.Inputs)))
	for _, t := range c.Inputs {
		b, err := t.Bytes()
		if err != nil {
			return err
		}
		number(int64(len(b)))
		w.Write(b)
	}
	number(int64(len(p.Outputs)))
	for i := range p.Outputs {
		t, err := emptyOutput(p, i, c.Dims)
		if err != nil {
			return err
		}
		number(int64(len(t.Data)))
	}
	return nil
}

func emptyOutput(p *plan.Program, i int, dims map[string]int64) (*ir.Tensor, error) {
	var shape []int64
	for _, d := range p.Shapes[i] {
		x, err := d.Eval(dims)
		if err != nil {
			return nil, err
		}
		shape = append(shape, x)
	}
	if _, err := ir.Len(shape); err != nil {
		return nil, err
	}
	return ir.NewTensor(p.Outputs[i].Type, shape...), nil
}

func results(t testing.TB, cases []Case, counters int, out []byte) []Result {
	rs := make([]Result, len(cases))
	for i, c := range cases {
		require.GreaterOrEqual(t, len(out), 4, "the driver ended before %s", c.Name)
		rs[i].Status = int32(binary.LittleEndian.Uint32(out))
		out = out[4:]
		require.GreaterOrEqual(t, len(out), 4*counters, c.Name)
		for range counters {
			rs[i].Counts = append(rs[i].Counts, binary.LittleEndian.Uint32(out))
			out = out[4:]
		}
		dims := map[string]int64{} // after the run
		for _, s := range c.Program.Symbols {
			dims[s.Name] = int64(binary.LittleEndian.Uint64(out))
			out = out[8:]
		}
		for k := range c.Program.Outputs {
			most, err := emptyOutput(c.Program, k, c.Dims)
			require.NoError(t, err)
			require.GreaterOrEqual(t, len(out), len(most.Data), c.Name)
			if rs[i].Status == 0 {
				y, err := emptyOutput(c.Program, k, dims)
				require.NoError(t, err)
				require.LessOrEqual(t, len(y.Data), len(most.Data), c.Name)
				copy(y.Data, out)
				rs[i].Outputs = append(rs[i].Outputs, y)
			}
			out = out[len(most.Data):]
		}
	}
	require.Empty(t, out)
	return rs
}

package main

import (
	"fmt"
	"strings"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/pipeline"
	"rules_dnn/gen/plan"
	"rules_dnn/gen/print/opencl"
	"rules_dnn/gen/shape"
	"rules_dnn/gen/target"
)

// bundle is what measuring a case needs.
type bundle struct {
	Name, Torch, Source string
	Flop                int64
	Inputs              [][]int64
	Output              []int64
	Calls               []launch
}

// launch is a kernel, its buffers by number, and how many work-items run it. Buffers from 0 on are the inputs, then the output, then others.
type launch struct {
	Kernel        string
	Buffers       []int
	Bytes         []int64
	Global, Local [3]int64
}

// bundle compiles a case, with its k-th kernels where that is not 0, of so many parts of sums where these are not 0.
func (c testCase) bundle(t *target.Target, candidate int, parts int64) (*bundle, error) {
	g, err := ir.Parse(strings.NewReader("graph \"g\" opset 17 {\n"+c.graph+"\n}\n"), nil)
	if err != nil {
		return nil, err
	}
	if err := shape.Infer(g); err != nil {
		return nil, err
	}
	s := &pipeline.State{Graph: g, Target: t, Candidate: candidate, SumParts: parts}
	for _, ps := range [][]pipeline.Pass{pipeline.GraphPasses, pipeline.CompilePasses} {
		if _, err := pipeline.Run(ps, s, pipeline.Options{Disable: c.without}); err != nil {
			return nil, err
		}
	}
	src, err := opencl.Print(s.Program, t)
	if err != nil {
		return nil, err
	}
	name := c.name
	if candidate > 0 {
		name += ", " + kernelNames(s.Program)
	}
	out := &bundle{Name: name, Torch: c.torch, Source: src.Text, Flop: c.flop}
	numbers := map[*ir.Value]int{}
	for _, v := range s.Program.Inputs {
		dims, _ := v.Static()
		numbers[v], out.Inputs = len(numbers), append(out.Inputs, dims)
	}
	y := s.Program.Outputs[0]
	numbers[y] = len(numbers)
	out.Output, _ = y.Static()
	next := len(numbers)
	for _, x := range src.Calls {
		l, err := launched(s.Program, x, numbers, &next)
		if err != nil {
			return nil, err
		}
		out.Calls = append(out.Calls, l)
	}
	return out, nil
}

// launched is a call, of whose buffers some have numbers.
func launched(p *plan.Program, x opencl.Call, numbers map[*ir.Value]int, next *int) (launch, error) {
	l := launch{Kernel: x.Kernel, Local: x.Group}
	for i, e := range x.Extents {
		n, known := e.Const()
		if !known {
			return l, fmt.Errorf("%s work-items", e)
		}
		l.Global[i] = (n + x.Group[i] - 1) / x.Group[i] * x.Group[i]
	}
	for _, a := range x.Args {
		bytes, number := int64(4), *next
		switch {
		case a.Value != nil:
			if a.Value.Const != nil {
				return l, fmt.Errorf("it reads a constant: measure operators of inputs")
			}
			bytes, _ = p.Bytes(a.Value).Const()
			n, known := numbers[a.Value]
			if !known {
				n = *next
				numbers[a.Value] = n
			}
			number = n
		case a.Symbol != "":
			return l, fmt.Errorf("it reads the symbol %s: measure static operators", a.Symbol)
		case !a.BadIndex:
			bytes, _ = a.Scratch.Const()
		}
		*next = max(*next, number+1)
		l.Buffers, l.Bytes = append(l.Buffers, number), append(l.Bytes, bytes)
	}
	return l, nil
}

// kernelNames are those of a program's kernels.
func kernelNames(p *plan.Program) string {
	var out []string
	for _, c := range p.Calls() {
		if c.Tuning != nil {
			out = append(out, c.Tuning.Kernel)
		}
	}
	return strings.Join(out, "; ")
}

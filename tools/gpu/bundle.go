package main

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"rules_dnn/gen/emit/opencl"
	"rules_dnn/gen/graph/shape"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/pipeline"
	"rules_dnn/gen/program/plan"
	"rules_dnn/gen/target"
)

// bundle is what measuring a case needs.
type bundle struct {
	Name, Torch, Source string
	Flop                int64
	Inputs              [][]int64
	Output              []int64
	Calls               []launch
	// Weights is the last input of PyTorch's expression, if it is known when the operator is compiled;
	// else nil. Constants holds the constants that kernels read, computed from it, by the numbers of
	// their buffers.
	Weights   *constant
	Constants map[int]*constant
}

// constant is elements in a file of the folder.
type constant struct {
	File  string
	Shape []int64
	bytes []byte
}

// constantOf returns an f32 tensor as measure.py reads it. The file's name is the digest of its
// bytes, so cases share files.
func constantOf(t *ir.Tensor) (*constant, error) {
	if t.Type != ir.F32 {
		return nil, fmt.Errorf("it reads a constant of %s: measure operators of f32", t.Type)
	}
	b, err := t.Bytes()
	if err != nil {
		return nil, err
	}
	return &constant{fmt.Sprintf("%x", sha256.Sum256(b))[:20] + ".bin", t.Shape, b}, nil
}

// launch is a kernel, its buffers by number, and how many work-items run it. Buffers from 0 on are
// the inputs, then the output, then others.
type launch struct {
	Kernel        string
	Buffers       []int
	Bytes         []int64
	Global, Local [3]int64
}

// bundle compiles a case. If candidate is not 0, it uses the candidate-th kernels; if parts is not
// 0, it splits sums into that number of parts.
func (c testCase) bundle(t *target.Target, candidate int, parts int64) (*bundle, error) {
	g, err := ir.Parse(strings.NewReader("graph \"g\" opset 17 {\n"+c.graph+"\n}\n"), nil)
	if err != nil {
		return nil, err
	}
	if err := shape.Infer(g); err != nil {
		return nil, err
	}
	var weights *constant
	if c.known {
		if weights, err = constantOf(c.weights(g)); err != nil {
			return nil, err
		}
	}
	s := &pipeline.State{Graph: g, Target: t, Candidate: candidate, SumParts: parts, Winograd: c.winograd}
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
	out := &bundle{Name: name, Torch: c.torch, Source: src.Text, Flop: c.flop, Weights: weights, Constants: map[int]*constant{}}
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
		l, err := out.launched(s.Program, x, numbers, &next)
		if err != nil {
			return nil, err
		}
		out.Calls = append(out.Calls, l)
	}
	return out, nil
}

// launched returns a call. Some of its buffers have numbers.
func (b *bundle) launched(p *plan.Program, x opencl.Call, numbers map[*ir.Value]int, next *int) (launch, error) {
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
			bytes, _ = p.Bytes(a.Value).Const()
			n, known := numbers[a.Value]
			if !known {
				n = *next
				numbers[a.Value] = n
			}
			number = n
			if t := a.Value.Const; t != nil && !known {
				c, err := constantOf(t)
				if err != nil {
					return l, err
				}
				bytes, b.Constants[n] = int64(len(c.bytes)), c
			}
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

// weights makes a constant of the graph's last input, of numbers in [-1, 1) that are the same each
// time.
func (c testCase) weights(g *ir.Graph) *ir.Tensor {
	last := len(g.Inputs) - 1
	v := g.Inputs[last]
	g.Inputs = g.Inputs[:last]
	dims, _ := v.Static()
	v.Const = ir.NewTensor(ir.F32, dims...)
	r := rand.New(rand.NewPCG(1, 2))
	for i := range v.Const.Len() {
		binary.LittleEndian.PutUint32(v.Const.Data[4*i:], math.Float32bits(float32(r.Float64()*2-1)))
	}
	return v.Const
}

// files returns the constants of a case, which have files of their own.
func (b *bundle) files() []*constant {
	var out []*constant
	if b.Weights != nil {
		out = append(out, b.Weights)
	}
	for _, n := range slices.Sorted(maps.Keys(b.Constants)) {
		out = append(out, b.Constants[n])
	}
	return out
}

// kernelNames returns the names of a program's kernels.
func kernelNames(p *plan.Program) string {
	var out []string
	for _, c := range p.Calls() {
		if c.Tuning != nil {
			out = append(out, c.Tuning.Kernel)
		}
	}
	return strings.Join(out, "; ")
}

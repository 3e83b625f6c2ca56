package opencltest

import (
	"bytes"
	"fmt"
	"strings"

	"rules_dnn/gen/emit/opencl"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/kernel/layout"
	"rules_dnn/gen/program/plan"
	"rules_dnn/gen/target"
)

// request is what the host reads of a case. Every value is an object of its own.
type request struct {
	*bytes.Buffer
	c       *Case
	numbers map[*ir.Value]int64
	values  []*ir.Value
}

// Beyond says what of a program the host cannot run, or nothing: it calls kernels, one after the other.
func Beyond(p *plan.Program) string {
	for _, c := range p.Calls() {
		if c.Block.Call != nil {
			return "opaque operators, which the host processor computes"
		}
	}
	for _, s := range p.Steps {
		if s.Call == nil {
			return "steps between kernels: control flow, copies, checks"
		}
	}
	for _, c := range p.Calls() {
		if len(c.Kernel.Sets) > 0 {
			return "kernels that compute symbols"
		}
	}
	if len(p.Homes) > 0 {
		return "values within others"
	}
	return ""
}

// together is how many programs are compiled as one: the compiler begins anew for each, and kernels that several have are
// compiled once.
const together = 40

// bundle is programs that are compiled as one.
type bundle struct {
	cases   []int // their numbers
	sources []*opencl.Source
}

// bundles puts together programs that need the same of a device and of the compiler.
func bundles(cases []Case) ([]*bundle, error) {
	type kind struct {
		device *target.Target
		exact  bool
		items  bool
		needs  string
		index  int
	}
	open := map[kind]*bundle{}
	var all []*bundle
	for i, c := range cases {
		if what := Beyond(c.Program); what != "" {
			return nil, fmt.Errorf("%s: the test's host does not run %s", c.Name, what)
		}
		alone, err := opencl.Print(c.Program, c.Device)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", c.Name, err)
		}
		if len(alone.Needs) > 1 {
			return nil, fmt.Errorf("%s: the host asks for one extension, not for %v", c.Name, alone.Needs)
		}
		k := kind{c.Device, c.Exact, c.Together, strings.Join(alone.Needs, ""), alone.IndexBytes}
		if b := open[k]; b == nil || len(b.cases) == together {
			open[k] = &bundle{}
			all = append(all, open[k])
		}
		open[k].cases = append(open[k].cases, i)
	}
	for _, b := range all {
		var programs []*plan.Program
		for _, i := range b.cases {
			programs = append(programs, cases[i].Program)
		}
		var err error
		if b.sources, err = opencl.PrintTogether(programs, cases[b.cases[0]].Device); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// write writes a bundle: what it needs, the source, the number of its cases, and these.
func (b *bundle) write(w *bytes.Buffer, cases []Case) error {
	src, text := b.sources[0], b.sources[0].Text
	if cases[b.cases[0]].Exact {
		text = "#pragma OPENCL FP_CONTRACT OFF\n" + text
	}
	if cases[b.cases[0]].Together {
		text = "#define " + src.Probed + "\n" + text
	}
	r := &request{Buffer: w}
	r.text([]byte(strings.Join(src.Needs, "")))
	r.text([]byte(text))
	r.number(int64(src.IndexBytes))
	r.number(int64(len(b.cases)))
	for k, i := range b.cases {
		if err := write(w, &cases[i], b.sources[k]); err != nil {
			return fmt.Errorf("%s: %w", cases[i].Name, err)
		}
	}
	return nil
}

// write writes a case: objects, calls, outputs. All numbers are 64 bits; a text follows its length.
func write(w *bytes.Buffer, c *Case, src *opencl.Source) error {
	r := &request{Buffer: w, c: c, numbers: map[*ir.Value]int64{}}
	for _, v := range c.Program.Inputs {
		r.add(v)
	}
	for _, call := range src.Calls {
		for _, a := range call.Args {
			if a.Value != nil {
				r.add(a.Value)
			}
		}
	}
	r.number(int64(len(r.values)))
	for _, v := range r.values {
		if err := r.object(v); err != nil {
			return fmt.Errorf("%q: %w", v.Name, err)
		}
	}
	r.number(int64(len(src.Calls)))
	for _, call := range src.Calls {
		if err := r.call(call); err != nil {
			return err
		}
	}
	r.number(int64(len(c.Program.Outputs)))
	for _, v := range c.Program.Outputs {
		n, ok := r.numbers[v]
		if !ok {
			return fmt.Errorf("no kernel writes the output %q", v.Name)
		}
		r.number(n)
	}
	return nil
}

func (r *request) number(x int64) { r.Write(number(x)) }

func (r *request) text(b []byte) {
	r.number(int64(len(b)))
	r.Write(b)
}

func (r *request) add(v *ir.Value) {
	if _, known := r.numbers[v]; !known {
		r.numbers[v] = int64(len(r.values))
		r.values = append(r.values, v)
	}
}

// object writes a value's memory and, of inputs and constants, its contents.
func (r *request) object(v *ir.Value) error {
	l := r.c.Program.Layouts[v]
	n, err := l.Elements(v.Shape).Eval(r.c.Dims)
	if err != nil {
		return err
	}
	image, width, height := int64(0), int64(0), int64(0)
	if l.Memory == layout.Image {
		w, h := l.Extent(v.Shape)
		image = 1
		if width, err = w.Eval(r.c.Dims); err != nil {
			return err
		}
		if height, err = h.Eval(r.c.Dims); err != nil {
			return err
		}
	}
	for _, x := range []int64{image, n * int64(v.Type.Size()), width, height} {
		r.number(x)
	}
	start := v.Const
	for i, in := range r.c.Program.Inputs {
		if in == v {
			start = r.c.Inputs[i]
		}
	}
	if start == nil {
		r.number(0)
		return nil
	}
	data, err := start.Bytes()
	if err != nil {
		return err
	}
	r.text(data)
	return nil
}

// Kinds of arguments.
const (
	memory = iota
	index
	scratch
	badIndex
)

func (r *request) call(c opencl.Call) error {
	r.text([]byte(c.Kernel))
	r.number(int64(len(c.Args)))
	for _, a := range c.Args {
		kind, value := int64(badIndex), int64(0)
		switch {
		case a.Value != nil:
			kind, value = memory, r.numbers[a.Value]
		case a.Symbol != "":
			kind, value = index, r.c.Dims[a.Symbol]
		case !a.BadIndex:
			n, err := a.Scratch.Eval(r.c.Dims)
			if err != nil {
				return err
			}
			kind, value = scratch, n
		}
		r.number(kind)
		r.number(value)
	}
	for d, e := range c.Extents {
		n, err := e.Eval(r.c.Dims)
		if err != nil {
			return err
		}
		r.number(n)
		r.number(c.Group[d])
	}
	return nil
}

func extents(s ir.Shape, dims map[string]int64) ([]int64, error) {
	out := make([]int64, len(s))
	for i, e := range s {
		x, err := e.Eval(dims)
		if err != nil {
			return nil, err
		}
		out[i] = x
	}
	return out, nil
}

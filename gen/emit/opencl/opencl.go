// Package opencl prints a program's kernels in OpenCL C 1.2 and says how a host runs them.
//
// A task is a work-item: the axes of a kernel's grid are the dimensions of the work-items. Values
// are buffers or, where their layout says so, images; a load along the lanes of an image is
// one read_imagef. What a device may lack (doubles) is listed, for the host to ask.
package opencl

import (
	"crypto/sha256"
	"fmt"
	"regexp"
	"sort"
	"strings"

	"rules_dnn/gen/emit/ckernel"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/scalar"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/kernel/loop"
	planned "rules_dnn/gen/program/plan"
	"rules_dnn/gen/target"
)

// Generator names what made the code, with its version; it is part of every kernel's hash.
const Generator = "rules_dnn dnnc 0.1"

// Source is a program in OpenCL C, and the calls of its kernels in the program's order (plan.Launches, or plan.Calls of one that is
// planned for the device alone): what stands between them, copies, transfers and control flow, is the host's.
type Source struct {
	Text string
	// Needs are the extensions that the device must have.
	Needs []string
	// IndexBytes is the size of a symbol's argument.
	IndexBytes int
	Calls      []Call
	// Probe is a kernel that compilers take which take what Text has where Probed is defined; "": it has no such thing.
	Probe, Probed string
}

// Call starts a kernel: so many work-items in each dimension, in groups of so many. A dimension's
// last group goes on beyond the extent.
type Call struct {
	Kernel  string
	Args    []Arg
	Extents [dims]sym.Expr
	Group   [dims]int64
}

// Arg is what a kernel takes: exactly one member is set.
type Arg struct {
	Value  *ir.Value // a buffer or an image
	Symbol string    // the symbol's value, of IndexBytes
	// Scratch is a number of bytes of memory that the call needs for itself.
	Scratch sym.Expr
	// BadIndex is an int that the kernel sets to 1 where a loaded index is out of bounds.
	BadIndex bool
}

// fp64 is the extension of devices that have doubles.
const fp64 = "cl_khr_fp64"

// Print prints the kernels of a program that is planned for a device.
func Print(p *planned.Program, t *target.Target) (*Source, error) {
	all, err := PrintTogether([]*planned.Program{p}, t)
	if err != nil {
		return nil, err
	}
	return all[0], nil
}

// PrintTogether prints the kernels of several programs as one text, in which they share those that are equal. It has what any of
// them needs, and a symbol's argument the size that one of them needs.
func PrintTogether(ps []*planned.Program, t *target.Target) ([]*Source, error) {
	groups, err := t.WorkGroups()
	if err != nil {
		return nil, err
	}
	all, indexBytes := make([]*Source, len(ps)), 4
	w := &writer{names: map[string]string{}, docs: map[string][]string{}}
	for i, p := range ps {
		s, err := w.program(p, groups)
		if err != nil {
			return nil, err
		}
		all[i], indexBytes = s, max(indexBytes, s.IndexBytes)
	}
	text, needs := w.text(indexBytes)
	for _, s := range all {
		s.Text, s.Needs, s.IndexBytes = text, needs, indexBytes
		s.Probe, s.Probed = probed(text, w.subGroup)
	}
	return all, nil
}

// program adds a program's kernels, and gives their calls.
func (w *writer) program(p *planned.Program, groups *target.OpenCL) (*Source, error) {
	s := &Source{IndexBytes: 4}
	for _, c := range onDevice(p) {
		if c.Block.Call != nil {
			return nil, fmt.Errorf("block %s: it runs on the host; only the device's kernels can be printed", c.Block.Label())
		}
		k, err := plan(c.Kernel, groups)
		if err != nil {
			return nil, fmt.Errorf("block %s: %w", c.Block.Label(), err)
		}
		k.aligned = aligned(p, c)
		name, err := w.add(k, ckernel.Doc(p, c))
		if err != nil {
			return nil, fmt.Errorf("block %s: %w", c.Block.Label(), err)
		}
		if !fitsInt(c.Kernel) {
			s.IndexBytes = 8
		}
		c.Function = name
		s.Calls = append(s.Calls, Call{Kernel: name, Args: Arguments(c, groups.Workers), Extents: k.extents, Group: k.group})
	}
	return s, nil
}

// onDevice are the calls of kernels that the device runs: all, or the launches where there is a processor beside it.
func onDevice(p *planned.Program) []*planned.Call {
	if p.Device == nil {
		return p.Calls()
	}
	var out []*planned.Call
	for _, l := range p.Launches() {
		out = append(out, l.Call)
	}
	return out
}

// Arguments are those of a call's kernel, in their order, where so many work-items have memory of their own. Buffers, scratch memory
// and flags take two: the memory, and the number of the element that they begin at.
func Arguments(c *planned.Call, workers int64) []Arg {
	k := c.Kernel
	var out []Arg
	for _, v := range c.Args {
		out = append(out, Arg{Value: v})
	}
	for _, s := range symbols(k) {
		out = append(out, Arg{Symbol: s})
	}
	for _, b := range k.Scratch {
		out = append(out, Arg{Scratch: sym.Scale(b.Size, workers*int64(b.Type.Size()))})
	}
	if loop.Refuses(k.Body) {
		out = append(out, Arg{BadIndex: true})
	}
	return out
}

var (
	doubles  = regexp.MustCompile(`\bdouble\b`)
	comments = regexp.MustCompile(`(?m)//.*$`)
)

// writer collects the distinct kernels: blocks that differ only in names share one.
type writer struct {
	names  map[string]string   // by text
	order  []string            // texts
	docs   map[string][]string // what their comments say, by text
	micros map[string]string
	// subGroup is how many items the sub-groups have within which kernels exchange values; 0: none does.
	subGroup int64
}

// add gives the name of the kernel.
func (w *writer) add(k *kernel, doc []string) (string, error) {
	body, err := k.body()
	if err != nil {
		return "", err
	}
	loop.Tiles(k.Body, func(t loop.Tile) {
		if w.micros == nil {
			w.micros = map[string]string{}
		}
		m := callOf(k.Kernel, t)
		w.micros[m.name()] = m.text()
	})
	attributes := fmt.Sprintf("__attribute__((reqd_work_group_size(%d, %d, %d)))\n", k.group[0], k.group[1], k.group[2])
	if k.inSubGroups != nil {
		w.subGroup = k.subGroup
		if body, err = k.eitherWay(body); err != nil {
			return "", err
		}
		attributes += ofSubGroups + "\n"
	}
	text := fmt.Sprintf("%s__kernel void $NAME(%s) {\n%s}\n", attributes, k.params(), body)
	if _, known := w.names[text]; !known {
		w.names[text] = fmt.Sprintf("k_%x", sha256.Sum256([]byte(Generator+"\n"+text)))[:14]
		w.order = append(w.order, text)
	}
	w.docs[text] = append(w.docs[text], doc...)
	return w.names[text], nil
}

// text is the whole program, and the extensions that it needs.
func (w *writer) text(indexBytes int) (string, []string) {
	var kernels strings.Builder
	for _, m := range sorted(w.micros) {
		kernels.WriteString(m + "\n")
	}
	for _, t := range w.order {
		for _, d := range w.docs[t] {
			kernels.WriteString("// " + d + "\n")
		}
		kernels.WriteString(strings.Replace(t, "$NAME", w.names[t], 1) + "\n")
	}
	index := map[int]string{4: "int", 8: "long"}[indexBytes]
	functions := scalar.CLFunctions(comments.ReplaceAllString(kernels.String(), ""))
	var needs []string
	head := "// Code generated by " + Generator + ". DO NOT EDIT.\n// Kernels of the model, in OpenCL C 1.2.\n\n"
	if doubles.MatchString(comments.ReplaceAllString(functions+kernels.String(), "")) {
		needs = append(needs, fp64)
		head += "#pragma OPENCL EXTENSION " + fp64 + " : enable\n"
	}
	head += "typedef " + index + " dnn_index;\n#define INT64_C(x) x##L\n\n"
	if w.subGroup > 0 {
		head += exchange(w.subGroup) + "\n"
	}
	return head + functions + kernels.String(), needs
}

func sorted(m map[string]string) []string {
	var keys, out []string
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	for _, k := range keys {
		out = append(out, m[k])
	}
	return out
}

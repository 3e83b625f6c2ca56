package onnx

import (
	"fmt"
	"math"

	"rules_dnn/gen/base/limit"
	"rules_dnn/gen/onnx/onnxpb"
)

// What a node costs is what it is made of: itself, its operands, results and attributes. checkExpansion refuses models whose
// functions make too many of these of the few that are in the file, before anything is inlined, in time linear in
// the file.
func (im *importer) checkExpansion(m *onnxpb.ModelProto) error {
	if len(im.functions) == 0 {
		return nil
	}
	e := &expansion{im: im, sizes: map[*onnxpb.FunctionProto]int64{}}
	stored := e.graph(m.GetGraph()).own
	for _, f := range m.GetFunctions() {
		stored += e.nodes(f.GetNode()).own
	}
	most := limit.Expanded + limit.ExpandedFactor*stored
	total, largest := int64(0), call{}
	for _, c := range e.graph(m.GetGraph()).calls {
		size, err := e.function(c.f, 1)
		if err != nil {
			return err
		}
		if total = saturated(total, size); size > largest.size {
			largest = call{f: c.f, size: size}
		}
	}
	if total <= most {
		return nil
	}
	return fmt.Errorf("functions expand to more than %d nodes, operands, results and attributes, and function %s of domain %s alone to %s; the maximum is %d plus %d times the %d in the file. "+
		"Remove unneeded calls (if each function calls the next one twice, each level doubles the size), and functions that stand for an ONNX operator",
		most, show(largest.f.GetName()), show(largest.f.GetDomain()), amount(largest.size), limit.Expanded, limit.ExpandedFactor, stored)
}

// amount is the text of a saturated number.
func amount(n int64) string {
	if n == math.MaxInt64 {
		return "2^63 and more"
	}
	return fmt.Sprint(n)
}

func saturated(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

// call is a function that a node calls, and what it expands to.
type call struct {
	f    *onnxpb.FunctionProto
	size int64
}

// contents are the parts of some nodes, and the functions that they call.
type contents struct {
	own   int64
	calls []call
}

type expansion struct {
	im    *importer
	sizes map[*onnxpb.FunctionProto]int64 // of functions, once all their calls are inlined
}

// function is what a function expands to. Of one that calls itself, which inlining refuses, it is anything.
func (e *expansion) function(f *onnxpb.FunctionProto, depth int) (int64, error) {
	if size, ok := e.sizes[f]; ok {
		return size, nil
	}
	if depth > limit.Nesting {
		return 0, tooDeep(f)
	}
	e.sizes[f] = 0
	body := e.nodes(f.GetNode())
	size := body.own
	for _, c := range body.calls {
		inner, err := e.function(c.f, depth+1)
		if err != nil {
			return 0, err
		}
		size = saturated(size, inner)
	}
	e.sizes[f] = size
	return size, nil
}

func (e *expansion) graph(g *onnxpb.GraphProto) contents { return e.nodes(g.GetNode()) }

func (e *expansion) nodes(list []*onnxpb.NodeProto) contents {
	var c contents
	for _, n := range list {
		c.own += 1 + int64(len(n.GetInput())+len(n.GetOutput())+len(n.GetAttribute()))
		if f := e.im.functions[functionKey{domain(n.GetDomain()), n.GetOpType(), n.GetOverload()}]; f != nil {
			c.calls = append(c.calls, call{f: f})
		}
		for _, a := range n.GetAttribute() {
			for _, g := range subgraphs(a) {
				inner := e.graph(g)
				c.own += inner.own
				c.calls = append(c.calls, inner.calls...)
			}
		}
	}
	return c
}

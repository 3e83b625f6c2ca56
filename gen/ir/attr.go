package ir

import (
	"fmt"
	"sort"
)

// Attrs are a node's attributes by name. Values are int64, float32, string,
// []int64, []float32, []string or *Tensor; graphs are the node's Regions, named
// by an attribute of type RegionRef.
type Attrs map[string]any

// RegionRef is an attribute that names one of the node's regions.
type RegionRef int

// AttrType is what ONNX calls the type of an attribute's value.
func AttrType(x any) string {
	switch x.(type) {
	case int64:
		return "INT"
	case float32:
		return "FLOAT"
	case string:
		return "STRING"
	case []int64:
		return "INTS"
	case []float32:
		return "FLOATS"
	case []string:
		return "STRINGS"
	case *Tensor:
		return "TENSOR"
	case RegionRef:
		return "GRAPH"
	}
	return fmt.Sprintf("%T", x)
}

// Names are the attributes' names, sorted.
func (a Attrs) Names() []string {
	names := make([]string, 0, len(a))
	for k := range a {
		names = append(names, k)
	}
	sort.Strings(names)
	return names
}

// Int is an integer attribute, or def where absent.
func (n *Node) Int(name string, def int64) int64 { return attr(n, name, def) }

// Float is a float attribute, or def where absent.
func (n *Node) Float(name string, def float32) float32 { return attr(n, name, def) }

// Str is a string attribute, or def where absent.
func (n *Node) Str(name string, def string) string { return attr(n, name, def) }

// Ints is a list of integers, or nil where absent.
func (n *Node) Ints(name string) []int64 { return attr[[]int64](n, name, nil) }

// Floats is a list of floats, or nil where absent.
func (n *Node) Floats(name string) []float32 { return attr[[]float32](n, name, nil) }

// Tensor is a tensor attribute, or nil where absent.
func (n *Node) Tensor(name string) *Tensor { return attr[*Tensor](n, name, nil) }

// Region is the region that an attribute names, or nil.
func (n *Node) Region(name string) *Graph {
	if i := attr[RegionRef](n, name, -1); i >= 0 && int(i) < len(n.Regions) {
		return n.Regions[i]
	}
	return nil
}

// Has reports whether the attribute is present.
func (n *Node) Has(name string) bool { _, ok := n.Attrs[name]; return ok }

// attr reads an attribute of type T. An attribute of another type reads as
// absent here; the operator table's check of attribute types reports it first.
func attr[T any](n *Node, name string, def T) T {
	if x, ok := n.Attrs[name].(T); ok {
		return x
	}
	return def
}

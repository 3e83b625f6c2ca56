package ir

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"

	"rules_dnn/gen/ir/lex"
	"rules_dnn/gen/ir/sym"
)

// The text form of a graph: a node a line, any name quoted where it must be.
//
//	graph "resnet" opset 17 {
//	  symbol N 1..64
//	  symbol K 0..2147483647 computed up to 12*N
//	  warning declared "output \"z\" ..."
//	  const @w f32[16, 3, 3, 3] = model[1234, 1728]
//	  const @axes i64[2] = {2, 3}
//	  input %x f32[N, 3, 32, 32]
//	  %y f32[N, 16, 32, 32] = Conv.11(%x, @w, _) {pads = [1, 1, 1, 1]} "conv1"
//	  %s i64[4] <N, 16, 32, 32> = Shape.15(%y) "" from ["shape1"]
//	  %n i64[2, K] = NonZero.13(%w) "mask" computes [K]
//	  %z ?[*] = If.16(%c; %y) {else_branch = region 1, then_branch = region 0} "if" regions {
//	    graph "then" opset 17 {
//	      input %y f32[N, 16, 32, 32]
//	      output %y
//	    }
//	    ...
//	  }
//	  output %z
//	}
//
// "?" is an unknown type, "[*]" an unknown shape, "_" an absent operand or
// result; what follows ";" are captures; "<...>" are known elements; "from" are
// origins other than the node itself, "for" is the label of a model's node that the node was made for, and "computes" the symbols that a node computes. Constants are listed once, in the outermost
// graph, and are visible in all regions; everything else is known only in its graph.

// InlineElems is the greatest number of elements of a constant that the text form prints in place.
const InlineElems = 64

// ConstsName is the File.Name of the file that a ConstWriter writes. A model's
// external data cannot be so called: locations are relative.
const ConstsName = "//consts"

// Print writes the graph's text form. Large constants in memory are printed in hexadecimal.
func Print(w io.Writer, g *Graph) error { return print(w, g, modeWhole, nil) }

// PrintConsts writes the graph's text form; large constants that are neither in
// the model nor in its external data are written to consts and referred to there.
func PrintConsts(w io.Writer, g *Graph, consts *ConstWriter) error {
	return print(w, g, modeWhole, consts)
}

// Dump writes the graph's text form for people: large constants in memory are left
// out, and the text does not parse back.
func Dump(w io.Writer, g *Graph) error { return print(w, g, modeDump, nil) }

type printMode uint8

const (
	modeWhole printMode = iota
	modeDump
)

func print(w io.Writer, g *Graph, mode printMode, consts *ConstWriter) error {
	b := bufio.NewWriter(w)
	p := &printer{w: b, mode: mode, consts: consts, names: map[*Value]string{}}
	p.constNames(g)
	p.graph(g, "", true)
	if p.err != nil {
		return p.err
	}
	return b.Flush()
}

// printer writes one graph; it keeps the first error.
type printer struct {
	w      *bufio.Writer
	mode   printMode
	consts *ConstWriter
	names  map[*Value]string
	list   []*Value // constants in order of first use
	err    error
}

func (p *printer) printf(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.w, format, args...)
	}
}

func (p *printer) graph(g *Graph, indent string, top bool) {
	s := &scope{p: p, namer: newNamer()}
	p.printf("%sgraph %s opset %d {\n", indent, quote(g.Name), g.Opset)
	in := indent + "  "
	for _, y := range g.Symbols {
		p.printf("%ssymbol %s %d..%d%s\n", in, y.Name, y.Lo, y.Hi, computedText(y))
	}
	for _, w := range g.Warnings {
		p.printf("%swarning %s %s\n", in, bareOr(w.Kind, lex.IsWord), quote(w.Text))
	}
	if top {
		for _, v := range p.list {
			p.printf("%sconst %s %s = %s\n", in, p.names[v], typeText(v), p.data(v.Const))
		}
	}
	for _, v := range g.Inputs {
		p.printf("%sinput %s %s\n", in, s.name(v), typeText(v))
	}
	for _, n := range g.Nodes {
		p.node(s, n, in)
	}
	for _, v := range g.Outputs {
		p.printf("%soutput %s\n", in, s.name(v))
	}
	p.printf("%s}\n", indent)
}

func computedText(y Symbol) string {
	switch {
	case !y.Computed:
		return ""
	case y.Max.Is(sym.MaxDim):
		return " computed"
	}
	return " computed up to " + y.Max.String()
}

func (p *printer) node(s *scope, n *Node, indent string) {
	operands := make([]string, len(n.Inputs))
	for i, v := range n.Inputs {
		operands[i] = s.name(v)
	}
	own := max(0, len(operands)-n.Captures)
	args := strings.Join(operands[:own], ", ")
	if n.Captures > 0 {
		args += "; " + strings.Join(operands[own:], ", ")
	}
	results := make([]string, len(n.Outputs))
	for i, v := range n.Outputs {
		results[i] = s.name(v)
		if v != nil {
			results[i] += " " + typeText(v)
		}
	}
	left := strings.Join(results, ", ")
	if left == "" {
		left = "()"
	}
	p.printf("%s%s = %s.%d(%s)", indent, left, bareOr(n.Op, lex.IsWord), n.Version, args)
	p.attrs(n)
	origins := n.Origins
	same := n.Name == "" && len(origins) == 0 || len(origins) == 1 && origins[0] == n.Name && n.Name != ""
	if n.Name != "" || !same {
		p.printf(" %s", quote(n.Name))
	}
	if !same {
		p.printf(" from %s", joined(origins, quote))
	}
	if n.For != "" {
		p.printf(" for %s", quote(n.For))
	}
	if n.Saturates {
		p.printf(" saturates")
	}
	if len(n.Computes) > 0 {
		p.printf(" computes [%s]", strings.Join(n.Computes, ", "))
	}
	if len(n.Regions) > 0 {
		p.printf(" regions {\n")
		for _, r := range n.Regions {
			p.graph(r, indent+"  ", false)
		}
		p.printf("%s}", indent)
	}
	p.printf("\n")
}

func (p *printer) attrs(n *Node) {
	names := n.Attrs.Names()
	if len(names) == 0 {
		return
	}
	list := make([]string, len(names))
	for i, name := range names {
		list[i] = bareOr(name, lex.IsWord) + " = " + p.attr(n, n.Attrs[name])
	}
	p.printf(" {%s}", strings.Join(list, ", "))
}

func (p *printer) attr(n *Node, x any) string {
	switch x := x.(type) {
	case int64:
		return strconv.FormatInt(x, 10)
	case float32:
		return "f32 " + floatText(x)
	case string:
		return quote(x)
	case []int64:
		return joined(x, func(i int64) string { return strconv.FormatInt(i, 10) })
	case []float32:
		return "f32 " + joined(x, floatText)
	case []string:
		return "str " + joined(x, quote)
	case RegionRef:
		return fmt.Sprintf("region %d", int(x))
	case *Tensor:
		if x != nil {
			return fmt.Sprintf("tensor %s%s = %s", x.Type, shapeText(Dims(x.Shape...)), p.data(x))
		}
	}
	if p.err == nil {
		p.err = n.Errorf("an attribute has the Go type %T, which the text form does not know", x)
	}
	return ""
}

// typeText is a value's type, shape and known elements.
func typeText(v *Value) string {
	t := "?"
	if v.Type != Invalid {
		t = v.Type.String()
	}
	if v.HasShape {
		t += shapeText(v.Shape)
	} else {
		t += "[*]"
	}
	if v.Elems != nil {
		list := joined(v.Elems, sym.Expr.String)
		t += " <" + list[1:len(list)-1] + ">"
	}
	return t
}

func shapeText(s Shape) string { return joined(s, sym.Expr.String) }

func joined[T any](xs []T, f func(T) string) string {
	parts := make([]string, len(xs))
	for i, x := range xs {
		parts[i] = f(x)
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

// quote makes any bytes one line of ASCII; strconv.Unquote gives them back.
func quote(s string) string { return strconv.QuoteToASCII(s) }

// bareOr is the name itself where all its bytes may stand bare, else quoted.
func bareOr(s string, ok func(byte) bool) string {
	for i := 0; i < len(s); i++ {
		if !ok(s[i]) {
			return quote(s)
		}
	}
	if s == "" {
		return quote(s)
	}
	return s
}

func isBareValue(c byte) bool { return lex.IsWord(c) || strings.IndexByte("./:$-", c) >= 0 }

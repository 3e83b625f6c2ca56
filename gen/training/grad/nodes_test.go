package grad

import (
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"regexp"
	"sort"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/graph/interp"
	"rules_dnn/gen/graph/passes/edit"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/ops"
	"rules_dnn/gen/testing/nodetest"
)

var (
	only   = flag.String("only", "", "node tests to run, a regular expression")
	update = flag.Bool("update", false, "write testdata/operators.txt")
)

// TestNodes compares the gradients of every operator of which ONNX's node tests have a case of floats with central
// differences, in double precision. Which operators have none, and why, is testdata/operators.txt.
func TestNodes(t *testing.T) {
	suite, err := nodetest.Load()
	require.NoError(t, err)
	match := regexp.MustCompile(*only)
	verdicts := map[string]map[string]bool{}
	checked := map[string]int{}
	for _, c := range suite.Cases {
		if !match.MatchString(c.Name) {
			continue
		}
		op, verdict := checkCase(t, c, checked)
		if verdict == "" {
			continue
		}
		if verdicts[op] == nil {
			verdicts[op] = map[string]bool{}
		}
		verdicts[op][verdict] = true
	}
	if *only != "" {
		return
	}
	var lines []string
	for op, vs := range verdicts {
		for v := range vs {
			lines = append(lines, op+": "+v)
		}
	}
	sort.Strings(lines)
	got := strings.Join(lines, "\n") + "\n"
	if *update {
		require.NoError(t, os.WriteFile("testdata/operators.txt", []byte(got), 0o666))
	}
	want, err := os.ReadFile("testdata/operators.txt")
	require.NoError(t, err)
	assert.Equal(t, string(want), got, "go test ./gen/training/grad -run TestNodes -update writes it")
}

// most is how often an operator is checked, and how many numbers an operand may have: each is moved twice.
const most, elements = 4, 80

// checkCase checks a case of one node and says how it went; nothing where it is no case of floats.
func checkCase(t *testing.T, c *nodetest.Case, checked map[string]int) (op, verdict string) {
	g, err := c.Graph()
	if err != nil || len(g.Nodes) != 1 {
		return "", ""
	}
	n := g.Nodes[0]
	if ops.IsControl(n) || ops.IsComposition(n) || checked[n.Op] >= most {
		return "", "" // compositions are checked as the nodes that they stand for
	}
	p, by, tensors, ok := wideProgram(c, g, n)
	if !ok {
		return "", ""
	}
	if p == nil {
		return n.Op, "an opaque operator, which has no expression"
	}
	x := &comparison{t: t, label: c.Label(), p: &p.Program, outputs: p.outputs, tensors: tensors, by: by}
	gradients, err := x.gradients()
	var refused *Error
	if errors.As(err, &refused) {
		return n.Op, refused.Reason[strings.Index(refused.Reason, ": ")+2:]
	}
	if !assert.NoError(t, err, c.Label()) {
		return n.Op, "fails"
	}
	checked[n.Op]++
	x.compare(gradients)
	return n.Op, "checked"
}

type program struct {
	Program
	outputs []te.Source
}

// wideProgram is the case's node with operands of doubles; p is nil where the operator is opaque, and ok is false where
// the node takes or gives no floats, or too many.
func wideProgram(c *nodetest.Case, g *ir.Graph, n *ir.Node) (p *program, by []int, operands []*ir.Tensor, ok bool) {
	node := *n
	node.Inputs = make([]*ir.Value, len(n.Inputs))
	operands = make([]*ir.Tensor, len(n.Inputs))
	for i, v := range n.Inputs {
		if v == nil {
			continue
		}
		x := v.Const
		for k, in := range g.Inputs {
			if in == v {
				x = c.Inputs[k]
			}
		}
		if x == nil {
			return nil, nil, nil, false
		}
		if x.Type.IsFloat() {
			if x.Len() > elements {
				return nil, nil, nil, false
			}
			xs, err := edit.Floats(x)
			if err != nil {
				return nil, nil, nil, false
			}
			x = edit.FloatTensor(ir.F64, xs, x.Shape...)
			by = append(by, i)
		}
		operands[i], node.Inputs[i] = x, ir.ConstValue(v.Name, x)
	}
	m, err := ops.Build(&node, nil)
	if err != nil || len(by) == 0 {
		return nil, nil, nil, false // types that are no doubles
	}
	if m.Call != nil {
		return nil, nil, nil, true
	}
	p = &program{Program: Program{Stages: m.Stages}}
	for _, x := range operands {
		o := Operand{}
		if x != nil {
			o = Operand{x.Type, x.Shape}
		}
		p.Operands = append(p.Operands, o)
	}
	for i, src := range m.Outputs {
		if i < len(n.Outputs) && n.Outputs[i] != nil && src.Stage && m.Stages[src.N].Results[src.Part].DType() == ir.F64 {
			p.outputs = append(p.outputs, src)
		}
	}
	return p, by, operands, len(p.outputs) > 0
}

// comparison holds gradients against differences.
type comparison struct {
	t       *testing.T
	label   string
	p       *Program
	outputs []te.Source
	tensors []*ir.Tensor
	by      []int
	weights []*ir.Tensor // of the outputs, in the loss
}

// gradients are those of the weighted sum of the outputs, nil where it does not depend on an operand.
func (x *comparison) gradients() ([]*ir.Tensor, error) {
	out, err := interp.Eval(x.p.Stages, x.outputs, x.tensors, nil)
	if err != nil {
		return nil, err
	}
	rng := rand.New(rand.NewPCG(1, 2))
	p := &Program{Stages: x.p.Stages, Operands: append([]Operand{}, x.p.Operands...)}
	operands := append([]*ir.Tensor{}, x.tensors...)
	var seeds []Seed
	for i, o := range out {
		w := ir.NewTensor(ir.F64, o.Shape...)
		for k := range w.Len() {
			put(w, k, rng.Float64()+0.5)
		}
		x.weights = append(x.weights, w)
		seeds = append(seeds, Seed{x.outputs[i], te.Source{N: len(operands)}})
		p.Operands, operands = append(p.Operands, Operand{ir.F64, o.Shape}), append(operands, w)
	}
	var by []te.Source
	for _, i := range x.by {
		by = append(by, te.Source{N: i})
	}
	d, err := Differentiate(p, seeds, by)
	if err != nil {
		return nil, err
	}
	gradients := make([]*ir.Tensor, len(by))
	for k, s := range by {
		from, ok := d.Of[s]
		if !ok {
			continue
		}
		got, err := interp.Eval(d.Stages, []te.Source{from}, operands, nil)
		if err != nil {
			return nil, fmt.Errorf("gradient by operand %d: %w", s.N, err)
		}
		gradients[k] = got[0]
	}
	return gradients, nil
}

func at(x *ir.Tensor, i int64) float64 {
	return math.Float64frombits(binary.LittleEndian.Uint64(x.Data[8*i:]))
}

func put(x *ir.Tensor, i int64, v float64) {
	binary.LittleEndian.PutUint64(x.Data[8*i:], math.Float64bits(v))
}

// loss is the weighted sum, where operand i has v at k.
func (x *comparison) loss(i int, k int64, v float64) float64 {
	old := at(x.tensors[i], k)
	put(x.tensors[i], k, v)
	defer put(x.tensors[i], k, old)
	out, err := interp.Eval(x.p.Stages, x.outputs, x.tensors, nil)
	require.NoError(x.t, err, x.label)
	sum := 0.0
	for o, t := range out {
		for e := range t.Len() {
			sum += at(t, e) * at(x.weights[o], e)
		}
	}
	return sum
}

// compare moves every element of every operand. Where differences from both sides differ, the element is at a kink or a
// jump, and the gradient must be none of both sides' alone; it is not compared.
func (x *comparison) compare(gradients []*ir.Tensor) {
	const h, jump = 1e-5, 1e4
	for g, i := range x.by {
		for k := range x.tensors[i].Len() {
			v := at(x.tensors[i], k)
			mid, up, down := x.loss(i, k, v), x.loss(i, k, v+h), x.loss(i, k, v-h)
			right, left := (up-mid)/h, (mid-down)/h
			scale := max(1, math.Abs(right), math.Abs(left))
			if !(math.Abs(right-left) <= 1e-3*scale) || scale > jump || math.IsInf(v, 0) {
				continue
			}
			got := 0.0
			if gradients[g] != nil {
				got = at(gradients[g], k)
			}
			if !assert.InDelta(x.t, (right+left)/2, got, 1e-4*scale, "%s: operand %d, element %d, %v", x.label, i, k, v) {
				return
			}
		}
	}
}

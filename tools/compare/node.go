package main

import (
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"google.golang.org/protobuf/proto"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/onnx/onnxpb"
	"rules_dnn/gen/onnx/onnxtest"
	"rules_dnn/tools/check"
)

// nodeHelp describes how to write a network of one node.
const nodeHelp = "a network of one node in place of a model's file, as in 'Concat;x:f32[1,8];Y:f32[1,8];axis=1': an operator, operands (those with names in " +
	"capitals are constants, whose elements may follow, as in SIZES:i64[2]=3,4; _ is an absent one; dimensions of the others may be symbols, as in x:f32[N,64]) and attributes, as in kernel_shape=[3,3]; MODEL.onnx is its name in tables"

// outputsOf are the results of operators that have several; of others it is one.
var outputsOf = map[string]int{"TopK": 2}

// since are the operator sets of operators that came after the one that models have.
var since = map[string]int64{"Attention": 23}

// nodeModel writes the model of one node.
func nodeModel(text, path string, seed uint32, limit int) error {
	words := strings.Split(text, ";")
	node := onnxtest.Op(words[0], "", "result")
	for i := 1; i < outputsOf[words[0]]; i++ {
		node.Output = append(node.Output, fmt.Sprintf("result%d", i))
	}
	m := onnxtest.Model(nil, node)
	m.OpsetImport[0].Version = proto.Int64(max(m.OpsetImport[0].GetVersion(), since[words[0]]))
	for i := 1; i < len(node.Output); i++ {
		m.Graph.Output = append(m.Graph.Output, onnxtest.Output(node.Output[i]))
	}
	for i, word := range words[1:] {
		if err := nodePart(m, node, word, seed<<16+uint32(i)<<24, limit); err != nil {
			return fmt.Errorf("--node=%s: %q: %w", text, word, err)
		}
	}
	return os.WriteFile(path, onnxtest.Bytes(m), 0o666)
}

// nodePart adds the operand or attribute of a word.
func nodePart(m *onnxpb.ModelProto, node *onnxpb.NodeProto, word string, seed uint32, limit int) error {
	name, rest, operand := strings.Cut(word, ":")
	if word == "_" {
		node.Input = append(node.Input, "")
		return nil
	}
	if !operand || strings.Contains(name, "=") {
		name, value, ok := strings.Cut(word, "=")
		if !ok {
			return fmt.Errorf("want NAME:TYPE[DIMENSIONS], NAME=VALUE or _")
		}
		v, err := attribute(value)
		if err == nil {
			node.Attribute = append(node.Attribute, onnxtest.Attr(name, v))
		}
		return err
	}
	head, elements, given := strings.Cut(rest, "=")
	constant := name == strings.ToUpper(name)
	t, dims, err := typeAndDims(head, !constant)
	if err != nil {
		return err
	}
	node.Input = append(node.Input, strings.ToLower(name))
	if !constant {
		m.Graph.Input = append(m.Graph.Input, onnxtest.Input(strings.ToLower(name), onnxtest.Types[t], dims...))
		return nil
	}
	shape := make([]int64, len(dims))
	for i, d := range dims {
		shape[i] = d.(int64)
	}
	x := check.Input(t, shape, seed, limit)
	if given {
		if x, err = numbers(t, shape, elements); err != nil {
			return err
		}
	}
	onnxtest.With(m, onnxtest.Tensor(strings.ToLower(name), x))
	return nil
}

// attribute parses an integer, a number with a point, integers in brackets, or a string.
func attribute(text string) (any, error) {
	if inner, ok := strings.CutPrefix(text, "["); ok {
		var xs []int64
		if inner, ok = strings.CutSuffix(inner, "]"); !ok {
			return nil, fmt.Errorf("found %q, want integers in brackets, as in [3,3]", text)
		}
		for _, part := range strings.Split(inner, ",") {
			x, err := strconv.ParseInt(part, 10, 64)
			if err != nil {
				return nil, err
			}
			xs = append(xs, x)
		}
		return xs, nil
	}
	if x, err := strconv.ParseInt(text, 10, 64); err == nil {
		return x, nil
	}
	if x, err := strconv.ParseFloat(text, 32); err == nil {
		return float32(x), nil
	}
	return text, nil
}

// symbolic is what a dimension that is a symbol is called.
var symbolic = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_]*$`)

// typeAndDims reads "f32[1,64]", and, where there may be symbols, "f32[N,64]".
func typeAndDims(text string, symbols bool) (ir.DType, []any, error) {
	inner, closed := strings.CutSuffix(text, "]")
	name, dims, opened := strings.Cut(inner, "[")
	t, err := ir.ParseDType(name)
	if !opened || !closed || err != nil {
		return t, nil, fmt.Errorf("found %q, want a type and dimensions, as in f32[1,64]", text)
	}
	out, known := []any{}, []int64{}
	for _, d := range strings.FieldsFunc(dims, func(r rune) bool { return r == ',' }) {
		if symbols && symbolic.MatchString(d) {
			out = append(out, d)
			continue
		}
		n, err := strconv.ParseInt(d, 10, 64)
		if err != nil {
			return t, nil, err
		}
		out, known = append(out, n), append(known, n)
	}
	if n, err := ir.Len(known); err != nil || n > math.MaxInt32/int64(max(t.Size(), 1)) {
		return t, nil, fmt.Errorf("found %q, want dimensions from 0 on, and less than 2 GiB", text)
	}
	return t, out, nil
}

// numbers returns a tensor of the given elements: one number for all, or one for each.
func numbers(t ir.DType, shape []int64, text string) (*ir.Tensor, error) {
	x := ir.NewTensor(t, shape...)
	parts := strings.Split(text, ",")
	if len(parts) != 1 && int64(len(parts)) != x.Len() {
		return nil, fmt.Errorf("found %d elements, want 1 or %d", len(parts), x.Len())
	}
	for i := range x.Len() {
		part, at := parts[int(i)%len(parts)], x.Data[int(i)*t.Size():]
		switch t {
		case ir.F32:
			v, err := strconv.ParseFloat(part, 32)
			if err != nil {
				return nil, err
			}
			binary.LittleEndian.PutUint32(at, math.Float32bits(float32(v)))
		case ir.I64:
			v, err := strconv.ParseInt(part, 10, 64)
			if err != nil {
				return nil, err
			}
			binary.LittleEndian.PutUint64(at, uint64(v))
		default:
			return nil, fmt.Errorf("elements are given of f32 and i64, not of %s", t)
		}
	}
	return x, nil
}

// written returns the path of the model's file: the user's, or a new one in the folder for a node.
func (o *options) written(work string) (string, error) {
	if o.node == "" {
		return o.model, nil
	}
	path := filepath.Join(work, "node.onnx")
	return path, nodeModel(o.node, path, uint32(o.seed), o.intLimit)
}

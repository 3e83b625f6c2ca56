package onnx

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/onnx/onnxpb"
)

// Integers of 4 bits are no element types of the compiler: what the model calls int4 or uint4 is i8 or u8 here, with values that fit. The importer
// knows which values are of 4 bits, and lets only operators read them that mean the same of the wider type, or that it makes others of.

// nibbles are ONNX's types of 4 bits, and the compiler's that hold them.
var nibbles = map[onnxpb.TensorProto_DataType]ir.DType{onnxpb.TensorProto_INT4: ir.I8, onnxpb.TensorProto_UINT4: ir.U8}

// isNibble reports whether an element type, as a model has it, is of 4 bits.
func isNibble(t int32) bool { return nibbles[onnxpb.TensorProto_DataType(t)] != ir.Invalid }

// wideTypes are ONNX's numbers of the types that hold them.
var wideTypes = map[ir.DType]onnxpb.TensorProto_DataType{ir.I8: onnxpb.TensorProto_INT8, ir.U8: onnxpb.TensorProto_UINT8}

// keepNibbles are operators whose result is of 4 bits where operand 0 is; fromNibbles read such an operand and give something else.
var (
	keepNibbles = []string{"Flatten", "Identity", "Reshape", "Squeeze", "Transpose", "Unsqueeze"}
	fromNibbles = []string{"Cast", "CastLike", "DequantizeLinear", "Shape", "Size"}
)

// ofNibbles reads a node that has an operand or a result of 4 bits, and reports whether it is one that this file replaces.
func (s *scope) ofNibbles(p *onnxpb.NodeProto, version int, operands []*ir.Value) (bool, error) {
	op := operator(domain(p.GetDomain()), p)
	to, err := s.nibbleResult(p, op, operands)
	if err != nil {
		return false, err
	}
	has := func(i int) bool { return i < len(operands) && operands[i] != nil && s.im.nibbles[operands[i]] }
	switch {
	case to != ir.Invalid:
		return true, s.toNibbles(p, op, version, operands, to)
	case op == "DequantizeLinear" && len(operands) > 2 && operands[2] != nil && has(0) != has(2):
		return false, fmt.Errorf("only one of operands 0 (x) and 2 (x_zero_point) has 4 bits; want one type")
	case !slices.ContainsFunc(operands, func(v *ir.Value) bool { return v != nil && s.im.nibbles[v] }):
		return false, nil
	case has(0) && slices.Contains(keepNibbles, op):
		if err := s.add(p, version, operands); err != nil {
			return true, err
		}
		return true, s.markResult(p)
	case has(0) && slices.Contains(fromNibbles, op):
		return false, nil
	}
	return false, refusef("an operand has type int4 or uint4, which only %s and QuantizeLinear support; cast it to int8 first",
		strings.Join(append(slices.Clone(keepNibbles), fromNibbles...), ", "))
}

// markResult notes that the only result of a node is of 4 bits.
func (s *scope) markResult(p *onnxpb.NodeProto) error {
	v, err := s.lookup(p.Output[0])
	if err == nil && v != nil {
		s.im.nibbles[v] = true
	}
	return err
}

// nibbleResult is the type that holds a node's result of 4 bits, Invalid where it is of another type.
func (s *scope) nibbleResult(p *onnxpb.NodeProto, op string, operands []*ir.Value) (ir.DType, error) {
	attribute := map[string]string{"Cast": "to", "QuantizeLinear": "output_dtype"}[op]
	like := map[string]int{"CastLike": 1, "QuantizeLinear": 2}[op]
	named, told := ir.Invalid, false
	for _, a := range p.Attribute {
		if a.GetName() != attribute || attribute == "" {
			continue
		}
		x, err := s.attribute(a)
		if err != nil {
			return ir.Invalid, fmt.Errorf("attribute %s: %w", show(a.GetName()), err)
		}
		if n, ok := x.(int64); ok && n != 0 {
			named, told = nibbles[onnxpb.TensorProto_DataType(n)], true
		}
	}
	if like == 0 || like >= len(operands) || operands[like] == nil {
		return named, nil
	}
	of := ir.Invalid
	if v := operands[like]; s.im.nibbles[v] {
		if of = v.Type; of == ir.Invalid {
			return of, refusef("the 4-bit type of operand %d is unknown; declare it in the model", like)
		}
	}
	if told && named != of && op == "QuantizeLinear" {
		return ir.Invalid, fmt.Errorf("attribute output_dtype and operand 2 (y_zero_point) have different types, and one of them has 4 bits")
	}
	return of, nil
}

// toNibbles replaces a node whose result is of 4 bits: what is quantized saturates, what is cast wraps around as other integers do.
func (s *scope) toNibbles(p *onnxpb.NodeProto, op string, version int, operands []*ir.Value, to ir.DType) error {
	n := &ir.Node{Op: op, Version: version, Name: s.nodeName(p), Inputs: operands}
	if n.Name != "" {
		n.Origins = []string{n.Name}
	}
	if len(p.Output) != 1 || p.Output[0] == "" {
		return fmt.Errorf("%d results; want 1", len(p.Output))
	}
	if err := s.attributes(n, p); err != nil {
		return err
	}
	c := &chain{upgrading: &upgrading{scope: s, Node: n, out: s.frame.made(p.Output[0]), opset: max(s.frame.opsets[""], nibbleOpset)}}
	var y *ir.Value
	if op == "QuantizeLinear" {
		if n.Has("output_dtype") {
			n.Attrs["output_dtype"] = int64(wideTypes[to])
		}
		y = c.clipped(c.op(op, n.Attrs, operands...), to)
	} else {
		y = c.wrapped(operands[0], to)
	}
	if c.err != nil {
		return c.err
	}
	y.Type = to
	s.im.nibbles[y] = true
	return s.result(p.Output[0], y)
}

// nibbleOpset is the opset of nodes that make values of 4 bits.
const nibbleOpset = 21

func (c *chain) byte(t ir.DType, x int64) *ir.Value {
	return ir.ConstValue(c.im.unique(c.out+".const"), &ir.Tensor{Type: t, Shape: []int64{}, Data: []byte{byte(x)}})
}

// clipped bounds integers of 8 bits to those of 4.
func (c *chain) clipped(v *ir.Value, t ir.DType) *ir.Value {
	if t == ir.I8 {
		return c.op("Clip", nil, v, c.byte(t, -8), c.byte(t, 7))
	}
	return c.op("Clip", nil, v, c.byte(t, 0), c.byte(t, 15))
}

// wrapped makes integers of 4 bits of any numbers, by way of 32 bits: what floats of other signs are in 8 bits is the machine's affair.
func (c *chain) wrapped(v *ir.Value, t ir.DType) *ir.Value {
	number := func(x int32) *ir.Value {
		return ir.ConstValue(c.im.unique(c.out+".const"), &ir.Tensor{Type: ir.I32, Shape: []int64{}, Data: binary.LittleEndian.AppendUint32(nil, uint32(x))})
	}
	y := c.op("BitwiseAnd", nil, c.op("Cast", ir.Attrs{"to": int64(onnxpb.TensorProto_INT32)}, v), number(15))
	if t == ir.I8 {
		y = c.op("Sub", nil, c.op("BitwiseXor", nil, y, number(8)), number(8))
	}
	return c.op("Cast", ir.Attrs{"to": int64(wideTypes[t])}, y)
}

// nibbleInput is what an input of 4 bits becomes: its elements are bytes, of which the lower 4 bits count.
func (s *scope) nibbleInput(in *ir.Value) (*ir.Value, error) {
	if !s.top {
		return nil, refusef("graphs in nodes cannot have inputs of type int4 or uint4; cast to int8 before the node")
	}
	c := &chain{upgrading: &upgrading{scope: s, Node: &ir.Node{}, out: in.Name, opset: nibbleOpset}}
	v := c.wrapped(in, in.Type)
	if c.err != nil {
		return nil, c.err
	}
	v.Type = in.Type
	s.im.nibbles[v] = true
	return v, nil
}

// unpackNibbles makes the elements of a tensor of 4 bits bytes: two lie in one, the first in its low bits, and the last byte may hold one.
func unpackNibbles(packed *ir.Tensor, typ ir.DType, shape []int64) *ir.Tensor {
	sign := byte(0)
	if typ == ir.I8 {
		sign = 8
	}
	return ir.Computed(typ, shape, 2, func(b []byte, first int64) error {
		half := make([]byte, (len(b)+1)/2)
		if err := packed.ReadBytes(half, first/2); err != nil {
			return err
		}
		for i := range b {
			low := half[i/2] >> (4 * (i % 2)) & 15
			b[i] = (low ^ sign) - sign
		}
		return nil
	})
}

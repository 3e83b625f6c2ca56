package modeltest

import (
	"rules_dnn/gen/ir"
)

// otherInteger is a value of x's type that broadcasts with it: from the pool, or a constant.
func (b *integers) otherInteger(x *ir.Value) *ir.Value {
	if b.IntN(2) == 0 {
		for _, o := range b.pool {
			if o != x && o.Type == x.Type && len(o.Shape) == len(x.Shape) && sameShape(o.Shape, x.Shape) {
				return o
			}
		}
	}
	dims := b.dims(x)
	for i := range dims {
		if _, fixed := x.Shape[i].Const(); !fixed || b.IntN(3) == 0 {
			dims[i] = 1
		}
	}
	return b.constant(x.Type, dims[b.IntN(len(dims)+1):]...)
}

func sameShape(a, b ir.Shape) bool {
	for i := range a {
		if !a[i].Equal(b[i]) {
			return false
		}
	}
	return true
}

func integerArithmetic(b *integers, x *ir.Value) {
	ops := []string{"Add", "Sub", "Mul", "Max", "Min", "BitwiseAnd", "BitwiseXor"}
	if x.Type == ir.I32 { // a product of sums might leave the type, which C leaves open
		ops = []string{"Add", "Sub", "Max", "Min", "BitwiseOr"}
	}
	b.keep(b.emit(ops[b.IntN(len(ops))], nil, x, b.otherInteger(x)))
}

func integerUnary(b *integers, x *ir.Value) {
	ops := []string{"BitwiseNot", "Abs", "Sign", "Identity"}
	if x.Type != ir.U8 {
		ops = append(ops, "Neg", "Relu")
	}
	b.keep(b.emit(ops[b.IntN(len(ops))], nil, x))
}

func chooseInteger(b *integers, x *ir.Value) {
	o := b.otherInteger(x)
	if c := b.emit([]string{"Greater", "Less", "Equal"}[b.IntN(3)], nil, x, o); c != nil {
		b.keepOr(b.emit("Where", nil, c, x, o), c)
	}
}

// keepOr keeps a result, or takes back the node of the value before it.
func (b *integers) keepOr(v, before *ir.Value) {
	if v == nil {
		b.Graph.Nodes = b.Graph.Nodes[:len(b.Graph.Nodes)-1]
		delete(b.used, before)
		return
	}
	b.keep(v)
}

// convertInteger wraps numbers that the other type does not have.
func convertInteger(b *integers, x *ir.Value) {
	to := map[ir.DType]int64{ir.U8: 2, ir.I8: 3, ir.I32: 6}
	b.keep(b.emit("Cast", ir.Attrs{"to": to[[]ir.DType{ir.U8, ir.I8, ir.I32}[b.IntN(3)]]}, x))
}

func poolIntegers(b *integers, x *ir.Value) {
	if isByte(x, 4) {
		b.keep(b.emit("MaxPool", ir.Attrs{"kernel_shape": []int64{b.among(1, 2), b.among(1, 2, 3)}, "strides": []int64{b.among(1, 2), 1}}, x))
	}
}

func reduceIntegers(b *integers, x *ir.Value) {
	if len(x.Shape) == 0 {
		return
	}
	ops := []string{"ReduceMax", "ReduceMin"}
	if x.Type == ir.I32 {
		ops = append(ops, "ReduceSum")
	}
	axis := ir.NewTensor(ir.I64, 1)
	axis.Data[0] = byte(b.IntN(len(x.Shape)))
	b.keep(b.emit(ops[b.IntN(len(ops))], ir.Attrs{"keepdims": b.Int64N(2)}, x, ir.ConstValue(b.name("axes"), axis)))
}

// moveIntegers puts elements elsewhere.
func moveIntegers(b *integers, x *ir.Value) {
	rank := len(x.Shape)
	if rank == 0 {
		return
	}
	axis := b.IntN(rank)
	switch b.IntN(4) {
	case 0:
		perm := make([]int64, rank)
		for i, p := range b.Perm(rank) {
			perm[i] = int64(p)
		}
		b.keep(b.emit("Transpose", ir.Attrs{"perm": perm}, x))
	case 1:
		b.keep(b.emit("Concat", ir.Attrs{"axis": int64(axis)}, x, x))
	case 2:
		b.keep(b.emit("Flatten", ir.Attrs{"axis": int64(axis)}, x))
	case 3:
		n, fixed := x.Shape[axis].Const()
		if !fixed {
			return
		}
		at := ir.NewTensor(ir.I64, 5)
		for i := range 5 {
			at.Data[8*i] = byte(b.Int64N(n))
		}
		b.keep(b.emit("Gather", ir.Attrs{"axis": int64(axis)}, x, ir.ConstValue(b.name("at"), at)))
	}
}

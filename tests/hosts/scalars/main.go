// Command scalars prints a digest of what each scalar function gives, for each type of its elements: the
// same lines on every build host.
package main

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"hash"
	"hash/fnv"
	"math"
	"os"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/scalar"
)

// How many elements each function is given; those of float64 are slow.
const (
	count     = 1 << 13
	wideCount = 1 << 8
)

var types = []ir.DType{ir.Bool, ir.I8, ir.I16, ir.I32, ir.I64, ir.U8, ir.U16, ir.U32, ir.U64, ir.F16, ir.BF16, ir.F32, ir.F64}

func main() {
	out := bufio.NewWriter(os.Stdout)
	for _, row := range scalar.Table() {
		for _, t := range types {
			for _, to := range results(row, t) {
				fmt.Fprintf(out, "%s %s %s: %s\n", row.Name, t, to, digest(row, t, to))
			}
		}
	}
	if err := out.Flush(); err != nil {
		fmt.Fprintln(os.Stderr, "scalars:", err)
		os.Exit(1)
	}
}

// arguments are the types that a function takes where the last one is t.
func arguments(row *scalar.Row, t ir.DType) []ir.DType {
	args := make([]ir.DType, row.Arity)
	for i := range args {
		args[i] = t
	}
	if row.Result == scalar.Choice {
		args[0] = ir.Bool
	}
	return args
}

// results are the types that a function can give for arguments of type t.
func results(row *scalar.Row, t ir.DType) []ir.DType {
	var found []ir.DType
	for _, to := range types {
		if scalar.Check(row.Name, to, arguments(row, t)) == nil {
			found = append(found, to)
		}
	}
	return found
}

func digest(row *scalar.Row, t, to ir.DType) string {
	args := arguments(row, t)
	f, err := scalar.Bind(row.Name, to, args)
	if err != nil {
		return err.Error()
	}
	n := count
	if t == ir.F64 {
		n = wideCount
	}
	vecs := make([]*scalar.Vec, len(args))
	numbers := source(1)
	for i, a := range args {
		vecs[i] = numbers.vector(a, n)
	}
	dst := scalar.NewVec(to, n)
	f(dst, vecs)
	h := fnv.New64a()
	write(h, dst)
	return fmt.Sprintf("%016x", h.Sum64())
}

// write adds a vector to a digest. What is not a number counts as one value: processors differ there,
// and constants are settled when they are folded.
func write(h hash.Hash, v *scalar.Vec) {
	add := func(bits uint64) {
		var b [8]byte
		binary.LittleEndian.PutUint64(b[:], bits)
		_, _ = h.Write(b[:]) // never fails
	}
	for _, x := range v.F32 {
		if x != x {
			x = float32(math.NaN())
		}
		add(uint64(math.Float32bits(x)))
	}
	for _, x := range v.F64 {
		if x != x {
			x = math.NaN()
		}
		add(math.Float64bits(x))
	}
	for _, x := range v.I64 {
		add(uint64(x))
	}
}

// source gives numbers that look random, always the same.
type source uint64

func (s *source) next() uint64 {
	*s = *s*6364136223846793005 + 1442695040888963407
	x := uint64(*s)
	return (x ^ x>>29) * 0x9e3779b97f4a7c15
}

// vector has all kinds of elements of a type: half of the floats are any bits, the others are near 1.
func (s *source) vector(t ir.DType, n int) *scalar.Vec {
	v := scalar.NewVec(t, n)
	near := func() float64 { return float64(float64(int64(s.next()))/(1<<60)) + 1 }
	for i := range v.F32 {
		if v.F32[i] = math.Float32frombits(uint32(s.next() >> 32)); i%2 == 0 {
			v.F32[i] = float32(near())
		}
	}
	for i := range v.F64 {
		if v.F64[i] = math.Float64frombits(s.next()); i%2 == 0 {
			v.F64[i] = near()
		}
	}
	for i := range v.I64 {
		if v.I64[i] = int64(s.next()); i%2 == 0 {
			v.I64[i] >>= 56
		}
	}
	if fix := scalar.Narrow(t); fix != nil {
		fix(v)
	}
	return v
}

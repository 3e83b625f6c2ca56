package main

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/kernel/fkw"
)

// entriesKept is how many taps of nine a kernel keeps.
const entriesKept = 4

// structure prints what FKW and CSR store besides the weights at several pruning rates, as in
// Figure 2.16 of the dissertation.
func structure(patterns int, out io.Writer) error {
	fmt.Fprint(out, "| layer |")
	rates := []float64{18, 12, 8}
	for _, r := range rates {
		fmt.Fprintf(out, " %.0fx: CSR, bytes | FKW | saved |", r)
	}
	fmt.Fprintln(out, "\n| --- |"+" --- | --- | --- |"+" --- | --- | --- |"+" --- | --- | --- |")
	sums := make([][3]int64, len(rates))
	for _, l := range layers {
		fmt.Fprintf(out, "| %s |", l)
		for i, r := range rates {
			csr, ours, values, err := l.structure(pruning{patterns, r * entriesKept / taps, 1})
			if err != nil {
				return err
			}
			for k, n := range []int64{csr, ours, values} {
				sums[i][k] += n
			}
			fmt.Fprintf(out, " %d | %d | %.1f %% |", csr, ours, saved(csr, ours))
		}
		fmt.Fprintln(out)
	}
	fmt.Fprint(out, "| all |")
	for _, s := range sums {
		fmt.Fprintf(out, " %d | %d | %.1f %% (with the weights: %.1f %%) |", s[0], s[1], saved(s[0], s[1]), saved(s[0]+s[2], s[1]+s[2]))
	}
	fmt.Fprintln(out)
	return nil
}

func saved(of, by int64) float64 { return 100 * (1 - float64(by)/float64(of)) }

// structure returns the bytes of CSR's row pointers and column indices (32 bits each), of FKW's
// arrays without the weights, and of the weights.
func (l layer) structure(p pruning) (csr, ours, values int64, err error) {
	w, kept, err := l.weights(p, 0)
	if err != nil {
		return 0, 0, 0, err
	}
	t := ir.NewTensor(ir.F32, l.shape()...)
	for i, v := range w {
		binary.LittleEndian.PutUint32(t.Data[4*i:], math.Float32bits(v))
	}
	e, err := fkw.Find(t, 1, 0)
	if err != nil {
		return 0, 0, 0, err
	}
	if e == nil {
		return 0, 0, 0, fmt.Errorf("%s: its weights have no encoding", l)
	}
	x, err := fkw.Encode(t, *e)
	if err != nil {
		return 0, 0, 0, err
	}
	arrays := x.Arrays()
	for _, a := range arrays[:len(arrays)-1] {
		ours += int64(len(a.Data))
	}
	const index = 4
	return index * (int64(kept) + l.out + 1), ours, int64(x.Values.Type.Size()) * x.Values.Len(), nil
}

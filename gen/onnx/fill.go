package onnx

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"

	"rules_dnn/gen/ir"
)

// fillName names the files of synthetic weights; no location of external data can be so called.
const fillName = "//random"

// random makes the weights of a tensor whose own were taken out: element i is
//
//	h = splitmix64(seed*0x9E3779B97F4A7C15 + i)
//	z = (sum of the four 16-bit parts of h, each (part+0.5)/65536, minus 2) * sqrt(3)
//	w = clip(mean + std*z, min, max), rounded to the type
//
// They are computed when they are read, so that they take no memory.
func (im *importer) random(d map[string]string, typ ir.DType, size int64) (*ir.Source, error) {
	if !im.opt.Fill {
		return nil, fmt.Errorf("the weights were removed from the model (external data at \"random\"); fill it with weights first")
	}
	r, err := newRandomWeights(d, typ, size)
	if err != nil {
		return nil, err
	}
	return &ir.Source{File: &ir.File{Name: fillName, R: r, Size: size}, Length: size}, nil
}

// newRandomWeights reads the entries of a tensor's external data.
func newRandomWeights(d map[string]string, typ ir.DType, size int64) (*randomWeights, error) {
	if typ != ir.F32 && typ != ir.F16 {
		return nil, fmt.Errorf("random weights of type %s are not supported; supported are float and float16", typ)
	}
	seed, err := strconv.ParseUint(d["seed"], 10, 64)
	if err != nil {
		return nil, fmt.Errorf("random weights: seed %s is not a number", show(d["seed"]))
	}
	r := &randomWeights{typ: typ, base: seed * splitmixGamma, size: size}
	for _, p := range []struct {
		key string
		to  *float64
	}{{"mean", &r.mean}, {"std", &r.std}, {"min", &r.lo}, {"max", &r.hi}} {
		if *p.to, err = strconv.ParseFloat(d[p.key], 64); err != nil {
			return nil, fmt.Errorf("random weights: %s %s is not a number", p.key, show(d[p.key]))
		}
	}
	return r, nil
}

// randomWeights is a file of synthetic weights.
type randomWeights struct {
	typ               ir.DType
	base              uint64
	mean, std, lo, hi float64
	size              int64
}

const splitmixGamma = 0x9E3779B97F4A7C15

func splitmix64(x uint64) uint64 {
	x += splitmixGamma
	x = (x ^ x>>30) * 0xBF58476D1CE4E5B9
	x = (x ^ x>>27) * 0x94D049BB133111EB
	return x ^ x>>31
}

// value is element i. Products are rounded one by one, as on every other machine.
func (r *randomWeights) value(i uint64) float64 {
	h := splitmix64(r.base + i)
	z := 0.0
	for k := 0; k < 64; k += 16 {
		z += float64((float64(h>>k&0xffff) + 0.5) / 65536) // a product by 1/65536, to the Go compiler
	}
	return min(max(r.mean+float64(r.std*float64((z-2)*math.Sqrt(3))), r.lo), r.hi)
}

// ReadAt computes the bytes of the elements at a position.
func (r *randomWeights) ReadAt(b []byte, off int64) (int, error) {
	if off < 0 || off > r.size-int64(len(b)) {
		return 0, fmt.Errorf("reading bytes %d to %d of %d random ones", off, off+int64(len(b)), r.size)
	}
	size := int64(r.typ.Size())
	for at := 0; at < len(b); {
		i, skip := (off+int64(at))/size, (off+int64(at))%size
		var e [4]byte
		if r.typ == ir.F16 {
			binary.LittleEndian.PutUint16(e[:], ir.F16Bits(r.value(uint64(i))))
		} else {
			binary.LittleEndian.PutUint32(e[:], math.Float32bits(float32(r.value(uint64(i)))))
		}
		at += copy(b[at:], e[skip:size])
	}
	return len(b), nil
}

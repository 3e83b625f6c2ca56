package ir

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
)

// constAlign is the alignment of constants in a file that ConstWriter writes.
const constAlign = 64

// ConstWriter writes constants into a file that text forms refer to as "consts".
type ConstWriter struct {
	w      io.Writer
	offset int64
	placed map[any]int64 // by tensor, or by what tensors of the same elements share
}

// NewConstWriter writes constants to w, from its beginning on.
func NewConstWriter(w io.Writer) *ConstWriter {
	return &ConstWriter{w: w, placed: map[any]int64{}}
}

// place writes a constant, once, and gives its offset.
func (c *ConstWriter) place(t *Tensor) (int64, error) {
	key := any(t)
	if t.Src != nil {
		key = t.Src
	}
	if at, ok := c.placed[key]; ok {
		return at, nil
	}
	pad := -c.offset & (constAlign - 1)
	if _, err := c.w.Write(make([]byte, pad)); err != nil {
		return 0, fmt.Errorf("writing constants: %w", err)
	}
	at := c.offset + pad
	n, err := t.WriteTo(c.w)
	c.offset = at + n
	if err != nil {
		return 0, fmt.Errorf("writing constants: %w", err)
	}
	c.placed[key] = at
	return at, nil
}

// named reports whether a reader of the text can find the constant in a file of the model.
func (t *Tensor) named() bool { return t.Src != nil && !strings.HasPrefix(t.Src.File.Name, "//") }

// data is the text of a constant's elements.
func (p *printer) data(t *Tensor) string {
	switch {
	case t.named():
		return sourceText(t.Src.File.Name, t.Src.Offset, t.Src.Length)
	case t.Len() <= InlineElems:
		return p.elems(t)
	case p.consts != nil:
		at, err := p.consts.place(t)
		if err != nil && p.err == nil {
			p.err = err
		}
		return sourceText(ConstsName, at, t.Len()*int64(t.Type.Size()))
	case p.mode == modeDump && t.Src != nil:
		return fmt.Sprintf("omitted[%s, %d, %d]", quote(t.Src.File.Name), t.Src.Offset, t.Src.Length)
	case p.mode == modeDump:
		return fmt.Sprintf("omitted[sha256 %x, %d]", sha256.Sum256(t.Data), len(t.Data))
	}
	return "hex " + quote(hex.EncodeToString(p.bytes(t)))
}

func sourceText(file string, offset, length int64) string {
	at := fmt.Sprintf("[%d, %d]", offset, length)
	switch file {
	case "":
		return "model" + at
	case ConstsName:
		return "consts" + at
	}
	return "file " + quote(file) + at
}

func (p *printer) bytes(t *Tensor) []byte {
	b, err := t.Bytes()
	if err == nil && int64(len(b)) != t.Len()*int64(t.Type.Size()) {
		err = fmt.Errorf("a constant of type %s and shape %v has %d bytes", t.Type, t.Shape, len(b))
	}
	if err != nil && p.err == nil {
		p.err = err
	}
	return b
}

// elems is the text of elements one by one.
func (p *printer) elems(t *Tensor) string {
	b := p.bytes(t)
	size := t.Type.Size()
	if p.err != nil {
		return ""
	}
	list := make([]string, t.Len())
	for i := range list {
		var e [8]byte
		copy(e[:], b[i*size:(i+1)*size])
		list[i] = elemText(t.Type, binary.LittleEndian.Uint64(e[:]))
	}
	return "{" + strings.Join(list, ", ") + "}"
}

// elemText is the text of the element with these bits.
func elemText(t DType, bits uint64) string {
	shift := 64 - 8*t.Size()
	switch t.Kind() {
	case KindInt:
		return strconv.FormatInt(int64(bits<<shift)>>shift, 10)
	case KindBool, KindUint:
		return strconv.FormatUint(bits, 10)
	}
	x, width := floatOf(t, bits), 32
	if t == F64 {
		width = 64
	}
	if math.IsNaN(x) {
		return fmt.Sprintf("%#x", bits) // NaNs differ
	}
	return strconv.FormatFloat(x, 'g', -1, width)
}

func floatText(x float32) string { return elemText(F32, uint64(math.Float32bits(x))) }

// floatOf is the value of a float's bits.
func floatOf(t DType, bits uint64) float64 {
	switch t {
	case F16:
		return F16Float(uint16(bits))
	case BF16:
		return BF16Float(uint16(bits))
	case F32:
		return float64(math.Float32frombits(uint32(bits)))
	}
	return math.Float64frombits(bits)
}

// parseElem is the inverse of elemText.
func parseElem(t DType, s string) (uint64, error) {
	size := 8 * t.Size()
	mask := ^uint64(0) >> (64 - size)
	switch t.Kind() {
	case KindBool:
		return strconv.ParseUint(s, 10, 1)
	case KindInt:
		i, err := strconv.ParseInt(s, 10, size)
		return uint64(i) & mask, err
	case KindUint:
		return strconv.ParseUint(s, 10, size)
	}
	if h, ok := strings.CutPrefix(s, "0x"); ok {
		return strconv.ParseUint(h, 16, size)
	}
	if t == F64 {
		x, err := strconv.ParseFloat(s, 64)
		return math.Float64bits(x), err
	}
	x, err := strconv.ParseFloat(s, 32)
	switch t {
	case F16:
		return uint64(F16Bits(x)), err
	case BF16:
		return uint64(BF16Bits(x)), err
	}
	return uint64(math.Float32bits(float32(x))), err
}

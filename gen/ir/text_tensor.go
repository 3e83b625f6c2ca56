package ir

import (
	"encoding/binary"
	"encoding/hex"
	"math"
	"strconv"
	"strings"

	"rules_dnn/gen/ir/lex"
)

// attr reads an attribute of a node.
func (p *parser) attr(n *Node) error {
	name, err := p.Name(lex.IsWord)
	if err != nil {
		return err
	}
	if _, ok := n.Attrs[name]; ok {
		return p.Errorf("attribute %q is given twice", name)
	}
	if err := p.Expect("="); err != nil {
		return err
	}
	n.Attrs[name], err = p.attrValue()
	return err
}

func (p *parser) attrValue() (any, error) {
	bracket := func() bool { return strings.HasPrefix(p.Rest(), "[") }
	switch {
	case strings.HasPrefix(p.Rest(), `"`):
		return p.Quoted()
	case bracket():
		return lex.ListOf(&p.Lexer, "[", "]", p.Int)
	case p.Accept("str"):
		return lex.ListOf(&p.Lexer, "[", "]", p.Quoted)
	case p.Accept("region"):
		i, err := p.Int()
		return RegionRef(i), err
	case p.Accept("tensor"):
		var v Value
		if err := p.valueType(&v); err != nil {
			return nil, err
		}
		return p.tensor(&v)
	case p.Accept("f32"):
		if bracket() {
			return lex.ListOf(&p.Lexer, "[", "]", p.float)
		}
		return p.float()
	}
	return p.Int()
}

func (p *parser) float() (float32, error) {
	bits, err := p.elem(F32)
	return math.Float32frombits(uint32(bits)), err
}

// elem reads one element.
func (p *parser) elem(t DType) (uint64, error) {
	p.Rest()
	at := p.Pos
	bits, err := parseElem(t, p.Number())
	if err != nil {
		p.Pos = at
		return 0, p.Errorf("want an element of type %s, found %s", t, p.Found())
	}
	return bits, nil
}

// tensor reads the elements of a constant whose type and shape v has.
func (p *parser) tensor(v *Value) (*Tensor, error) {
	shape, ok := v.Static()
	if !ok || v.Type == Invalid {
		return nil, p.Errorf("a constant needs a type and a shape of numbers")
	}
	if err := p.Expect("="); err != nil {
		return nil, err
	}
	n, err := Len(shape)
	if err != nil || n > math.MaxInt64/int64(v.Type.Size()) {
		return nil, p.Errorf("shape %v of %s is negative or has more than 2^63 bytes", shape, v.Type)
	}
	t := &Tensor{Type: v.Type, Shape: shape}
	size := n * int64(v.Type.Size())
	switch {
	case strings.HasPrefix(p.Rest(), "{"):
		return t, p.elemList(t, n)
	case p.Accept("hex"):
		s, err := p.Quoted()
		if err != nil {
			return nil, err
		}
		if t.Data, err = hex.DecodeString(s); err != nil || int64(len(t.Data)) != size {
			return nil, p.Errorf("want %d bytes in hexadecimal, found %d digits", size, len(s))
		}
		return t, nil
	case p.Accept("omitted"):
		return nil, p.Errorf("the text is a dump without constants; it cannot be compiled")
	}
	t.Src, err = p.source(size)
	return t, err
}

func (p *parser) elemList(t *Tensor, n int64) error {
	found := int64(0)
	var e [8]byte
	err := p.Items("{", "}", func() error {
		bits, err := p.elem(t.Type)
		binary.LittleEndian.PutUint64(e[:], bits)
		t.Data = append(t.Data, e[:t.Type.Size()]...)
		found++
		return err
	})
	if err == nil && found != n {
		err = p.Errorf("%d elements found; the shape %v needs %d", found, t.Shape, n)
	}
	return err
}

// source reads where a constant of size bytes is.
func (p *parser) source(size int64) (*Source, error) {
	name := ""
	var err error
	switch {
	case p.Accept("model"):
	case p.Accept("consts"):
		name = ConstsName
	case p.Accept("file"):
		if name, err = p.Quoted(); err != nil {
			return nil, err
		}
	default:
		return nil, p.Errorf("want a constant's elements, found %s", p.Found())
	}
	at, err := lex.ListOf(&p.Lexer, "[", "]", p.Int)
	if err != nil {
		return nil, err
	}
	if len(at) != 2 || at[0] < 0 || at[1] != size {
		return nil, p.Errorf("want [offset, %d], found %v", size, at)
	}
	f := p.files[name]
	if f == nil {
		return nil, p.Errorf("the graph refers to the file %s, which is not given", fileLabel(name))
	}
	if size > f.Size || at[0] > f.Size-size {
		return nil, p.Errorf("%d bytes from byte %d on are beyond the end of the file %s (%d bytes)", size, at[0], fileLabel(name), f.Size)
	}
	return &Source{File: f, Offset: at[0], Length: size}, nil
}

func fileLabel(name string) string {
	switch name {
	case "":
		return "of the model"
	case ConstsName:
		return "of constants"
	}
	return strconv.QuoteToASCII(name)
}

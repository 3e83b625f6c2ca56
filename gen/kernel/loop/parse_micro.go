package loop

import (
	"rules_dnn/gen/ir/lex"
	"rules_dnn/gen/target/instr"
)

// micro reads a micro-kernel.
func (p *parser) micro() (err error) {
	m := &MicroKernel{}
	name, err := p.word()
	if err != nil {
		return err
	}
	if p.micros[name] != nil {
		return p.Errorf("micro-kernel %q is defined twice", name)
	}
	row := p.Run(lex.IsWord)
	if m.Instr = instr.Lookup(row); m.Instr == nil {
		return p.Errorf("no tile instruction %q; there are %s", row, instr.Names())
	}
	if m.X, err = p.operandKind(); err != nil {
		return err
	}
	if m.Rows, err = p.Int(); err != nil {
		return err
	}
	if err = p.Expect("x"); err != nil {
		return err
	}
	if m.Vectors, err = p.Int(); err != nil {
		return err
	}
	p.micros[name] = m
	return p.microRest(m)
}

func (p *parser) operandKind() (instr.Operand, error) {
	kinds := ""
	for o := instr.Vector; o <= instr.Scalar; o++ {
		if p.Accept(o.String()) {
			return o, nil
		}
		kinds += " " + o.String()
	}
	return 0, p.Errorf("want how X reaches the instruction, one of%s, found %s", kinds, p.Found())
}

// microRest reads what is not 0 of a micro-kernel.
func (p *parser) microRest(m *MicroKernel) (err error) {
	number := func(word string, to *int64) {
		if err == nil && p.Accept(word) {
			*to, err = p.Int()
		}
	}
	after := func(tok string, to *int64) {
		if err == nil {
			err = p.Expect(tok)
		}
		if err == nil {
			*to, err = p.Int()
		}
	}
	if p.Accept("from") {
		m.Stored, err = p.dtype()
	}
	number("row", &m.RowStep)
	if err == nil && p.Accept("run") {
		if m.Run, err = p.Int(); err == nil {
			m.RunStep, err = p.Int()
		}
	}
	number("vector", &m.VecStep)
	for err == nil && p.Accept("k") {
		var k KLoop
		k.Extent, err = p.Int()
		after("by", &k.XStep)
		after(",", &k.WStep)
		m.K = append(m.K, k)
	}
	if err == nil && p.Accept("kept") {
		m.Kept, err = p.kept()
	}
	m.Adds = err == nil && p.Accept("adds")
	number("narrow", &m.Narrow)
	number("prefetch_w", &m.PrefetchW)
	m.PrefetchX = err == nil && p.Accept("prefetch_x")
	number("fetch", &m.Fetch)
	number("fetch_x", &m.FetchX)
	return err
}

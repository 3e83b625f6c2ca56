package a64count

// Counts is what instructions do.
type Counts struct {
	// Instructions counts all but prefetches.
	Instructions int64
	// MultiplyAdds counts products that are added, lane by lane, of floats and of integers.
	MultiplyAdds int64
	// Loads and Stores count registers: an instruction may have up to four.
	Loads, Stores int64
	// Spread is Instructions if each load and store had one register, to compare code that loads
	// in different ways.
	Spread int64
}

// Add adds n times what others do.
func (c *Counts) Add(o Counts, n int64) {
	c.Instructions += n * o.Instructions
	c.MultiplyAdds += n * o.MultiplyAdds
	c.Loads += n * o.Loads
	c.Stores += n * o.Stores
	c.Spread += n * o.Spread
}

// form is an encoding of a multiply-add: the word under mask is value. It adds lanes products in a
// register of 128 bits, and half of them if bit 30 (Q) is 0, unless it is scalar.
type form struct {
	mask, value uint32
	lanes       int64
	scalar      bool
}

// forms are the multiply-adds of A64 (Arm Architecture Reference Manual for A-profile, C4.1, "Data
// Processing -- Scalar Floating-Point and Advanced SIMD"). Earlier rows win.
var forms = []form{
	{0xFF000000, 0x1F000000, 1, true}, // FMADD, FMSUB, FNMADD, FNMSUB
	{0xFF80B400, 0x5F801000, 1, true}, // FMLA, FMLS: scalar, by element

	{0xBFE0FC00, 0x0E20CC00, 4, false}, // FMLA: f32
	{0xBFE0FC00, 0x0EA0CC00, 4, false}, // FMLS: f32
	{0xBFE0FC00, 0x0E60CC00, 2, false}, // FMLA: f64
	{0xBFE0FC00, 0x0EE0CC00, 2, false}, // FMLS: f64
	{0xBFC0B400, 0x0F801000, 4, false}, // FMLA, FMLS: f32, by element
	{0xBFC0B400, 0x0FC01000, 2, false}, // the same of f64
	{0xBFE0FC00, 0x0E400C00, 8, false}, // FMLA: f16
	{0xBFE0FC00, 0x0EC00C00, 8, false}, // FMLS: f16
	{0xBFC0B400, 0x0F001000, 8, false}, // FMLA, FMLS: f16, by element

	{0xBF60FC00, 0x0E20EC00, 4, false}, // FMLAL, FMLSL
	{0xBF60FC00, 0x2E20CC00, 4, false}, // FMLAL2, FMLSL2
	{0xBFC0B400, 0x0F800000, 4, false}, // FMLAL, FMLSL: by element
	{0xBFC0B400, 0x2F808000, 4, false}, // FMLAL2, FMLSL2: by element

	{0x9FE0FC00, 0x0E809400, 16, false}, // SDOT, UDOT
	{0xBFE0FC00, 0x0E809C00, 16, false}, // USDOT
	{0x9FC0F400, 0x0F80E000, 16, false}, // SDOT, UDOT: by element
	{0xBF40F400, 0x0F00F000, 16, false}, // SUDOT, USDOT: by element
	{0xBFE0FC00, 0x2E40FC00, 8, false},  // BFDOT
	{0xBFC0F400, 0x0F40F000, 8, false},  // BFDOT: by element
	{0xDFE0F400, 0x4E80A400, 32, false}, // SMMLA, UMMLA, USMMLA
	{0xFFE0FC00, 0x6E40EC00, 16, false}, // BFMMLA

	{0x9FE0FC00, 0x0E209400, 16, false}, // MLA, MLS: bytes
	{0x9FE0FC00, 0x0E609400, 8, false},  // 16 bits
	{0x9FE0FC00, 0x0EA09400, 4, false},  // 32 bits
	{0xBFC0B400, 0x2F400000, 8, false},  // MLA, MLS: 16 bits, by element
	{0xBFC0B400, 0x2F800000, 4, false},  // 32 bits, by element
}

// widening are multiply-adds whose sums have twice as many bits: bit 30 chooses the half of the
// operands, and all products count.
var widening = []form{
	{0x9FE0DC00, 0x0E208000, 8, true}, // SMLAL, UMLAL: bytes
	{0x9FE0DC00, 0x0E608000, 4, true}, // 16 bits
	{0x9FE0DC00, 0x0EA08000, 2, true}, // 32 bits
	{0x9FC0B400, 0x0F402000, 4, true}, // 16 bits, by element
	{0x9FC0B400, 0x0F802000, 2, true}, // 32 bits, by element
}

// decode returns what one instruction does.
func decode(w uint32) Counts {
	if w&0x0A000000 == 0x08000000 {
		return memory(w)
	}
	c := Counts{Instructions: 1, Spread: 1}
	if w&0x0E000000 == 0x0E000000 {
		c.MultiplyAdds = products(w)
	}
	return c
}

// products returns how many products a vector or scalar instruction adds.
func products(w uint32) int64 {
	for _, list := range [][]form{forms, widening} {
		for _, f := range list {
			switch {
			case w&f.mask != f.value:
			case f.scalar || w>>30&1 == 1:
				return f.lanes
			default:
				return f.lanes / 2
			}
		}
	}
	return 0
}

// memory returns what an instruction of the group "Loads and Stores" does (C4.1).
func memory(w uint32) Counts {
	vector, load := w>>26&1 == 1, w>>22&1 == 1
	switch {
	case w&0x3B000000 == 0x18000000: // of a literal
		if !vector && w>>30 == 3 {
			return Counts{} // a prefetch
		}
		load = true
	case w&0x3A000000 == 0x38000000 && !vector: // one register
		if w>>30 == 3 && w>>22&3 == 2 {
			return Counts{}
		}
		load = w>>22&3 != 0
	}
	n := registers(w)
	c := Counts{Instructions: 1, Spread: n}
	if load {
		c.Loads = n
	} else {
		c.Stores = n
	}
	return c
}

// registers returns how many registers a load or store has.
func registers(w uint32) int64 {
	switch {
	case w&0x3A000000 == 0x28000000: // a pair
		return 2
	case w&0xBF000000 == 0x0D000000: // elements of a structure
		return 1 + int64(w>>21&1) + 2*int64(w>>13&1)
	case w&0xBF000000 == 0x0C000000: // structures
		switch w >> 12 & 15 {
		case 7:
			return 1
		case 8, 10:
			return 2
		case 4, 6:
			return 3
		}
		return 4
	}
	return 1
}

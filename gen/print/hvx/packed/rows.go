package packed

import (
	"fmt"

	"rules_dnn/gen/hexagon/isa"
)

// Rows is a function that makes bytes of rows of sums: each row times a factor of its own, rounded, plus zero.
type Rows struct {
	// Rows are how many, and Lanes the sums of a row, in whole vectors; From and To are steps from one row to the next in bytes.
	Rows, Lanes, From, To int64
	// Signed bytes; Zero is added, and results are from Least to Most.
	Signed            bool
	Zero, Least, Most int64
}

// rowsName has all of it; numbers that may be negative are more by 128.
const rowsName = "dnn_hvx_rows_%d_%d_%d_%d_%t_%d_%d_%d"

// Name is the function's.
func (r Rows) Name() string {
	return fmt.Sprintf(rowsName, r.Rows, r.Lanes, r.From, r.To, r.Signed, r.Zero+128, r.Least+128, r.Most+128)
}

// ParseRows reads a name.
func ParseRows(name string) (Rows, error) {
	var r Rows
	_, err := fmt.Sscanf(name, rowsName, &r.Rows, &r.Lanes, &r.From, &r.To, &r.Signed, &r.Zero, &r.Least, &r.Most)
	r.Zero, r.Least, r.Most = r.Zero-128, r.Least-128, r.Most-128
	return r, err
}

// Products have so many bits of fraction; they, and floats that are computed so, are off by less than inexact in the last one.
const fraction, inexact = 20, 40

// Start is what is added to a product before its fraction is cut off: zero, a half and the error.
func (r Rows) Start() int64 { return r.Zero<<fraction + 1<<(fraction-1) + inexact }

// Supported reports whether there is such a function.
func (r Rows) Supported() bool {
	const far = 1 << 24
	lanes := r.Lanes > 0 && r.Lanes <= isa.Bytes && r.Lanes%(isa.Bytes/4) == 0
	return lanes && r.Rows > 0 && r.Rows <= 32 && r.From >= 0 && r.From < far && r.From%isa.Bytes == 0 && r.To >= 0 && r.To < far
}

// Where the caller's table of rows has what, in bytes: see dnn_hvx_rows of the runtime.
const biases, mantissas, ups, limits, lowests = 0, 128, 256, 384, 512

// Packets makes the function for a version of Hexagon: of the first row's sums, its bytes' place, how many bytes a row has, and the table of rows, in r0 to r3.
// It gives, in v0, the least fraction of all.
func (r Rows) Packets(version int) (*Iterated, error) {
	if !r.Supported() {
		return nil, fmt.Errorf("no packets of %+v", r)
	}
	// Registers that hold the same for all rows; the low one is written by each.
	const from, to, n, table, low, whole, none, bits, fromStep, toStep = 0, 1, 2, 3, 7, 8, 9, 10, 11, 12
	const nearest, start, cut, least, most = 0, 31, 30, 29, 28
	k := &iterated{version: version, count: int(r.Rows)}
	enter := func(name string, args ...int64) { k.enter = append(k.enter, isa.New(name, args...)) }
	enter("A2_tfrsi", low, -1)
	enter("S2_lsr_i_r", whole, low, 1)
	enter("V6_lvsplatw", nearest, whole)
	enter("S2_lsr_i_r", whole, low, 32-fraction)
	enter("V6_lvsplatw", cut, whole)
	enter("A2_tfrsi", low, 2*r.Zero+1)
	enter("S2_asl_i_r", low, low, fraction-1)
	enter("A2_addi", low, low, inexact)
	enter("V6_lvsplatw", start, low)
	enter("A2_tfrsi", whole, isa.Bytes)
	enter("A2_tfrsi", none, 0)
	enter("A2_tfrsi", bits, fraction)
	pack, above, below, lowest, highest := "V6_vpackhub_sat", "V6_vmaxub", "V6_vminub", int64(0), int64(255)
	if r.Signed {
		pack, above, below, lowest, highest = "V6_vpackhb_sat", "V6_vmaxb", "V6_vminb", -128, 127
	}
	for _, b := range [][3]int64{{least, r.Least, lowest}, {most, r.Most, highest}} {
		if b[1] != b[2] {
			enter("A2_tfrsi", low, b[1])
			enter("V6_lvsplatb", b[0], low)
		}
	}
	for _, s := range [][2]int64{{fromStep, r.From}, {toStep, r.To}} {
		if long(s[1]) {
			enter("A2_tfrsi", s[0], 0)
			k.enter = append(k.enter, added(s[0], s[0], s[1])...)
		}
	}

	next := int64(values)
	value := func(name string, args ...int64) int64 {
		next += 2
		k.body = append(k.body, isa.New(name, append([]int64{next}, args...)...))
		return next
	}
	do := func(name string, args ...int64) { k.body = append(k.body, isa.New(name, args...)) }
	step := func(reg, by, held int64) {
		if long(by) {
			do("A2_add", reg, reg, held)
		} else {
			do("A2_addi", reg, reg, by)
		}
	}
	up := value("L2_loadri_io", table, ups)
	var own [4]int64 // the row's, in all lanes
	for i, at := range []int64{biases, limits, lowests, mantissas} {
		own[i] = value("V6_lvsplatw", value("L2_loadri_io", table, at))
	}
	do("A2_addi", table, table, 4)
	var words []int64
	for v := range r.Lanes / (isa.Bytes / 4) {
		x := value("V6_vaddw", value("V6_vL32b_ai", from, v), own[0])
		x = value("V6_vmaxw", value("V6_vminw", x, own[1]), own[2])
		x = value("V6_vaslw", x, up)
		y := value("V6_vmpyewuh", x, own[3])
		do("V6_vmpyowh_sacc", y, x, own[3])
		y = value("V6_vaddw", y, start)
		do("V6_vminw", nearest, nearest, value("V6_vand", y, cut))
		words = append(words, value("V6_vasrw", y, bits))
	}
	step(from, r.From, fromStep)
	word := func(i int) int64 { return words[min(i, len(words)-1)] }
	half := value("V6_vpackwh_sat", word(1), word(0))
	other := half
	if len(words) > 2 {
		other = value("V6_vpackwh_sat", word(3), word(2))
	}
	all := value(pack, other, half)
	if r.Least != lowest {
		all = value(above, all, least)
	}
	if r.Most != highest {
		all = value(below, all, most)
	}
	// The bytes lie in one or two vectors: what is before and behind them there stays.
	do("A2_andir", low, to, isa.Bytes-1)
	first := value("A2_tfr", to) // so that the next row's may follow before this one is stored
	step(to, r.To, toStep)
	end := value("A2_add", low, n)
	last := value("A2_addi", value("A2_add", first, n), -1)
	turned := value("V6_vlalignb", all, all, low)
	here := value("V6_pred_and_n", value("V6_pred_scalar2v2", value("A2_min", end, whole)), value("V6_pred_scalar2", low))
	there := value("V6_pred_scalar2", value("A2_max", value("A2_addi", end, -isa.Bytes), none))
	do("V6_vS32b_qpred_ai", here, first, 0, turned)
	do("V6_vS32b_qpred_ai", there, last, 0, turned)
	k.free = map[isa.Class][]int64{isa.Vector: between(1, least-1), isa.Scalar: {4, 5, 6, 13, 14, 15, 28}, isa.Mask: between(0, 4)}
	return k.pack()
}

package packed

import (
	"fmt"

	"rules_dnn/gen/emit/hexagon/isa"
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

// The function's registers that hold the same for all rows, and low, which each row writes: scalars, and vectors below.
const (
	rowsFrom, rowsTo, rowsLength, rowsTable                          = 0, 1, 2, 3
	rowsLow, rowsWhole, rowsNone, rowsBits, rowsFromStep, rowsToStep = 7, 8, 9, 10, 11, 12

	rowsNearest, rowsStart, rowsCut, rowsLeast, rowsMost = 0, 31, 30, 29, 28
)

// Packets makes the function for a version of Hexagon: of the first row's sums, its bytes' place, how many bytes a row has, and the table of rows, in r0 to r3.
// It gives, in v0, the least fraction of all.
func (r Rows) Packets(version int) (*Iterated, error) {
	if !r.Supported() {
		return nil, fmt.Errorf("no packets of %+v", r)
	}
	k := &iterated{version: version, count: int(r.Rows)}
	r.begin(k)
	r.store(k, r.narrow(k, r.round(k)))
	k.free = map[isa.Class][]int64{isa.Vector: between(1, rowsMost), isa.Scalar: {4, 5, 6, 13, 14, 15, 28}, isa.Mask: between(0, 4)}
	return k.pack()
}

// narrowing is by which instructions words of 16 bits become bytes and are bounded, and what bytes there are.
type narrowing struct {
	pack, above, below string
	lowest, highest    int64
}

func (r Rows) narrowing() narrowing {
	if r.Signed {
		return narrowing{"V6_vpackhb_sat", "V6_vmaxb", "V6_vminb", -128, 127}
	}
	return narrowing{"V6_vpackhub_sat", "V6_vmaxub", "V6_vminub", 0, 255}
}

// begin fills the registers that all rows read.
func (r Rows) begin(k *iterated) {
	k.before("A2_tfrsi", rowsLow, -1)
	k.before("S2_lsr_i_r", rowsWhole, rowsLow, 1)
	k.before("V6_lvsplatw", rowsNearest, rowsWhole)
	k.before("S2_lsr_i_r", rowsWhole, rowsLow, 32-fraction)
	k.before("V6_lvsplatw", rowsCut, rowsWhole)
	k.before("A2_tfrsi", rowsLow, 2*r.Zero+1)
	k.before("S2_asl_i_r", rowsLow, rowsLow, fraction-1)
	k.before("A2_addi", rowsLow, rowsLow, inexact)
	k.before("V6_lvsplatw", rowsStart, rowsLow)
	k.before("A2_tfrsi", rowsWhole, isa.Bytes)
	k.before("A2_tfrsi", rowsNone, 0)
	k.before("A2_tfrsi", rowsBits, fraction)
	n := r.narrowing()
	for _, b := range [][3]int64{{rowsLeast, r.Least, n.lowest}, {rowsMost, r.Most, n.highest}} {
		if b[1] != b[2] {
			k.before("A2_tfrsi", rowsLow, b[1])
			k.before("V6_lvsplatb", b[0], rowsLow)
		}
	}
	k.hold(rowsFromStep, r.From)
	k.hold(rowsToStep, r.To)
}

// round gives a row's words: sums within their bounds times the row's factor.
func (r Rows) round(k *iterated) []int64 {
	up := k.value("L2_loadri_io", rowsTable, ups)
	var own [4]int64 // the row's, in all lanes
	for i, at := range []int64{biases, limits, lowests, mantissas} {
		own[i] = k.value("V6_lvsplatw", k.value("L2_loadri_io", rowsTable, at))
	}
	k.do("A2_addi", rowsTable, rowsTable, 4)
	var words []int64
	for v := range r.Lanes / (isa.Bytes / 4) {
		x := k.value("V6_vaddw", k.value("V6_vL32b_ai", rowsFrom, v), own[0])
		x = k.value("V6_vmaxw", k.value("V6_vminw", x, own[1]), own[2])
		x = k.value("V6_vaslw", x, up)
		y := k.value("V6_vmpyewuh", x, own[3])
		k.do("V6_vmpyowh_sacc", y, x, own[3])
		y = k.value("V6_vaddw", y, rowsStart)
		k.do("V6_vminw", rowsNearest, rowsNearest, k.value("V6_vand", y, rowsCut))
		words = append(words, k.value("V6_vasrw", y, rowsBits))
	}
	k.advance(rowsFrom, r.From, rowsFromStep)
	return words
}

// narrow gives a row's bytes within their bounds.
func (r Rows) narrow(k *iterated, words []int64) int64 {
	word := func(i int) int64 { return words[min(i, len(words)-1)] }
	half := k.value("V6_vpackwh_sat", word(1), word(0))
	other := half
	if len(words) > 2 {
		other = k.value("V6_vpackwh_sat", word(3), word(2))
	}
	n := r.narrowing()
	all := k.value(n.pack, other, half)
	if r.Least != n.lowest {
		all = k.value(n.above, all, rowsLeast)
	}
	if r.Most != n.highest {
		all = k.value(n.below, all, rowsMost)
	}
	return all
}

// store stores a row's bytes, which lie in one or two vectors: what is before and behind them there stays.
func (r Rows) store(k *iterated, all int64) {
	k.do("A2_andir", rowsLow, rowsTo, isa.Bytes-1)
	first := k.value("A2_tfr", rowsTo) // so that the next row's may follow before this one is stored
	k.advance(rowsTo, r.To, rowsToStep)
	end := k.value("A2_add", rowsLow, rowsLength)
	last := k.value("A2_addi", k.value("A2_add", first, rowsLength), -1)
	turned := k.value("V6_vlalignb", all, all, rowsLow)
	here := k.value("V6_pred_and_n", k.value("V6_pred_scalar2v2", k.value("A2_min", end, rowsWhole)), k.value("V6_pred_scalar2", rowsLow))
	there := k.value("V6_pred_scalar2", k.value("A2_max", k.value("A2_addi", end, -isa.Bytes), rowsNone))
	k.do("V6_vS32b_qpred_ai", here, first, 0, turned)
	k.do("V6_vS32b_qpred_ai", there, last, 0, turned)
}

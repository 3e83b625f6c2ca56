package packed

import (
	"fmt"

	"rules_dnn/gen/emit/hexagon/isa"
)

// Lines is a copy of groups of four lines of bytes, whose elements are stored in turns: what products of four neighbours read.
type Lines struct {
	// Stride is how far elements of a line are apart, 1 or 2, and Lanes how many there are, 32 to 64 or a whole vector of stored bytes.
	Stride, Lanes int64
	// Groups of lines, steps from one line to the next and from one group to the next in bytes, and what the latter adds to where is stored.
	Groups, LineStep, GroupStep, ToStep int64
	// Aligned: what is stored are whole vectors. Masked: each byte is ANDed with one vector and ORed with another.
	Aligned, Masked bool
}

// linesName has all of it.
const linesName = "dnn_hvx_lines_%d_%d_%d_%d_%d_%d_%t_%t"

// Name is the function's. It takes the first line's address, where to store, and, if it is masked, for each stored vector what bytes are ANDed and ORed with.
func (l Lines) Name() string {
	return fmt.Sprintf(linesName, l.Stride, l.Lanes, l.Groups, l.LineStep, l.GroupStep, l.ToStep, l.Aligned, l.Masked)
}

// ParseLines reads a name.
func ParseLines(name string) (Lines, error) {
	var l Lines
	_, err := fmt.Sscanf(name, linesName, &l.Stride, &l.Lanes, &l.Groups, &l.LineStep, &l.GroupStep, &l.ToStep, &l.Aligned, &l.Masked)
	return l, err
}

// Stored is how many bytes a group has, and Parts how many vectors these take.
func (l Lines) Stored() int64 { return 4 * l.Lanes }

// Parts is how many vectors are stored of a group.
func (l Lines) Parts() int64 { return (l.Stored() + isa.Bytes - 1) / isa.Bytes }

// Reach is from how many bytes after the first line's address on nothing is read: whole vectors are.
func (l Lines) Reach() int64 { return 3*l.LineStep + (l.Groups-1)*l.GroupStep + isa.Bytes }

// Supported reports whether there is such a function.
func (l Lines) Supported() bool {
	const far = 1 << 24
	lanes := l.Lanes == isa.Bytes/4 || l.Lanes > isa.Bytes/4 && l.Lanes <= isa.Bytes/2
	steps := l.LineStep >= 0 && l.LineStep < far && l.GroupStep >= 0 && l.GroupStep < far && l.ToStep >= l.Stored() && l.ToStep < far
	return (l.Stride == 1 || l.Stride == 2) && lanes && steps && l.Groups > 0 && l.Groups <= longest && l.Reach() < far
}

// Packets makes the function for a version of Hexagon.
func (l Lines) Packets(version int) (*Iterated, error) {
	if !l.Supported() {
		return nil, fmt.Errorf("no packets of %+v", l)
	}
	r := &iterated{version: version, count: int(l.Groups)}
	lines, to, last, group, place := []int64{0, 3, 4, 5}, int64(1), int64(7), int64(8), int64(9) // scalar registers
	for n := 1; n < len(lines); n++ {
		r.enter = append(r.enter, added(lines[n], lines[n-1], l.LineStep)...)
	}
	tail := l.Stored() % isa.Bytes // bytes of the second vector, which is stored so that it ends with them
	if tail > 0 {
		r.before("A2_tfrsi", last, tail)
	}
	r.hold(group, l.GroupStep)
	r.hold(place, l.ToStep)
	// Shuffles' sizes are in scalars: -1 for bytes, -2 for pairs of them.
	const bytes, pairs = 6, 2
	r.before("A2_tfrsi", bytes, -1)
	r.before("A2_tfrsi", pairs, -2)
	var in [4]int64
	for n, reg := range lines {
		in[n] = r.value("V6_vL32Ub_ai", reg, 0)
		r.advance(reg, l.GroupStep, group)
	}
	both := func(a, b int64) int64 {
		if l.Stride == 2 {
			return r.value("V6_vshuffeb", b, a)
		}
		return r.value("V6_vshuffvdd", b, a, bytes)
	}
	first, second := both(in[0], in[1]), both(in[2], in[3])
	all := r.value("V6_vshuffvdd", second, first, pairs)
	parts := []int64{all, all + 1}[:l.Parts()]
	if l.Masked {
		for n := range parts {
			parts[n] = r.value("V6_vor", r.value("V6_vand", parts[n], int64(2*n)), int64(2*n+1))
		}
	}
	name := "V6_vS32Ub_ai"
	if l.Aligned {
		name = "V6_vS32b_ai"
	}
	r.do(name, to, 0, parts[0])
	switch {
	case tail > 0:
		ends := r.value("V6_valignb", parts[1], parts[0], last)
		r.do("A2_addi", end, to, tail)
		r.do("V6_vS32Ub_ai", end, 0, ends)
	case len(parts) > 1:
		r.do(name, to, 1, parts[1])
	}
	r.advance(to, l.ToStep, place)
	masks := int64(0)
	if l.Masked {
		masks = 2 * l.Parts()
	}
	r.free = map[isa.Class][]int64{isa.Vector: between(masks, 32)}
	return r.pack()
}

// between are registers from one to before another.
func between(first, end int64) []int64 {
	var out []int64
	for n := first; n < end; n++ {
		out = append(out, n)
	}
	return out
}

// end is the register of where a group's last vector is stored.
const end = 10

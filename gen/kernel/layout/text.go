package layout

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Words of a layout's text.
const (
	rowMajorWord = "row-major"
	imageWord    = "image of "
	onWord       = " on "
	axisWord     = "axis"
	scalarWord   = "scalar"
	padMark      = "~"
)

// String names the layout in dumps and manifests, with the space where that is not the host: the text that Parse reads.
func (l Layout) String() string {
	if l.Space != Host {
		return l.In(Host).String() + onWord + l.Space.String()
	}
	var parts []string
	for _, x := range l.listed() {
		parts = append(parts, axisWord+x.text("/"))
	}
	switch {
	case parts == nil:
		return rowMajorWord
	case l.Memory == Image:
		return imageWord + strings.Join(parts, "+")
	}
	return strings.Join(parts, "+")
}

// Parse reads the text that String prints.
func Parse(text string) (Layout, error) {
	order, space, named := strings.Cut(text, onWord)
	if named {
		if space != Device.String() {
			return Layout{}, fmt.Errorf("layout %q lies on the %q; want %q, or nothing for the host", text, space, Device)
		}
		l, err := Parse(order)
		return l.In(Device), err
	}
	if order == rowMajorWord {
		return RowMajor, nil
	}
	list, image := strings.CutPrefix(order, imageWord)
	var out Parts
	for _, f := range strings.Split(list, "+") {
		part, isAxis := strings.CutPrefix(f, axisWord)
		x, err := parsePart(part, "/")
		if err != nil || !isAxis || len(out) == maxParts {
			return Layout{}, fmt.Errorf("layout %q: %q; want %s, or at most %[4]d of AXIS, AXIS/SIZE and AXIS~PAD joined by +, where AXIS is axis0, axis1 and so on", text, f, rowMajorWord, maxParts)
		}
		out = append(out, x)
	}
	if image && (len(out) != 1 || out[0].Size != TexelLanes) {
		return Layout{}, fmt.Errorf("layout %q: want one part of %d points for an image", text, TexelLanes)
	}
	l := Of(out...)
	if image {
		l.Memory = Image
	}
	return l, nil
}

// String is the text that ParseParts reads.
func (p Parts) String() string {
	if len(p) == 0 {
		return scalarWord
	}
	out := make([]string, len(p))
	for i, x := range p {
		out[i] = x.text("*")
	}
	return strings.Join(out, " ")
}

// ParseParts reads the text that String prints.
func ParseParts(text string) (Parts, error) {
	if text == scalarWord {
		return nil, nil
	}
	var out Parts
	for _, f := range strings.Fields(text) {
		x, err := parsePart(f, "*")
		if err != nil || len(out) == maxParts {
			return nil, fmt.Errorf("part %q of a storage; want AXIS, AXIS*SIZE or AXIS~PAD, of 1 to %d points, %d parts at most", f, maxPart, maxParts)
		}
		out = append(out, x)
	}
	if out == nil {
		return nil, fmt.Errorf("a storage without parts; want %q for one element", scalarWord)
	}
	return out, nil
}

// text is the axis, then the part's size behind a mark of the caller's, or what pads the axis.
func (x Part) text(sized string) string {
	out := strconv.Itoa(x.Axis)
	if x.Size > 0 {
		out += sized + strconv.FormatInt(x.Size, 10)
	}
	if x.Pad > 0 {
		out += padMark + strconv.FormatInt(x.Pad, 10)
	}
	return out
}

var errPart = errors.New("no part")

// parsePart reads what text prints.
func parsePart(text, sized string) (Part, error) {
	axis, pad, padded := strings.Cut(text, padMark)
	axis, size, split := strings.Cut(axis, sized)
	x := Part{}
	var err error
	if x.Axis, err = strconv.Atoi(axis); err != nil || x.Axis < 0 || split && padded {
		return x, errPart
	}
	if split {
		x.Size, err = points(size)
	} else if padded {
		x.Pad, err = points(pad)
	}
	return x, err
}

// points is a number of points of a part.
func points(text string) (int64, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 1 || n > maxPart {
		return 0, errPart
	}
	return n, nil
}

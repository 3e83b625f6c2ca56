package hostile

import (
	"fmt"
	"strings"
)

// nestCases are pools of many axes and of large windows, and scans of sizes at their ends: loops that are cut into parts along each axis, or
// written out, must stay few.
func nestCases(m *maker) error {
	m.poolsOfAxes()
	m.largeWindows()
	m.sums()
	return nil
}

// list is a number so often, as shapes and attributes have it.
func list(n int, x int64) []int64 {
	out := make([]int64, n)
	for i := range out {
		out[i] = x
	}
	return out
}

// shapeText is a shape in a spec: 1, 1, so many axes of 2, then so many of 1.
func shapeText(twos, ones int) string {
	return "[1,1" + strings.Repeat(",2", twos) + strings.Repeat(",1", ones) + "]"
}

// poolsOfAxes are pools of 4 to 30 axes, whose windows leave the operand on all sides, overlap, or do neither.
func (m *maker) poolsOfAxes() {
	for _, axes := range []int{4, 8, 10, 20, mostAxes} {
		twos := min(axes, 6)
		x := "x:f32" + shapeText(twos, axes-twos) + "=3"
		same := "f32" + shapeText(twos, axes-twos) + "=3"
		for _, op := range []string{"MaxPool", "AveragePool"} {
			around := []any{"kernel_shape", list(axes, 3), "pads", list(2*axes, 1)}
			m.spec(&spec{op, around, x, same}, "windows that leave the operand", axes)
			single := []any{"kernel_shape", list(axes, 1)}
			m.spec(&spec{op, single, x, same}, "windows of one element", axes)
			pairs := append(list(twos, 2), list(axes-twos, 1)...)
			m.spec(&spec{op, []any{"kernel_shape", pairs, "strides", pairs}, x, "f32" + shapeText(0, axes) + "=3"}, "windows side by side", axes)
		}
		m.spec(&spec{"LpPool", []any{"kernel_shape", list(axes, 1), "p", 1}, x, same}, "windows of one element", axes)
	}
}

// mostAxes are more than the interpreter of stages takes, with those of windows.
const mostAxes = 30

// mostPoints is how many points windows have at most in a case that runs: the interpreter of stages visits each. Of others the compiler's time and
// memory are held.
const mostPoints = 1 << 20

// points are how many points the windows of a pool have together.
func (s *spec) points() float64 {
	n := float64(typed(strings.Split(s.out, "=")[0] + "=").Len())
	for _, k := range s.attrs[1].([]int64) {
		n *= float64(k)
	}
	return n
}

// spec adds a case of a node that is right, or refused because it has too many axes, or points.
func (m *maker) spec(s *spec, what string, n int) {
	model, in := s.model("", false)
	var runs []Run
	if s.points() <= mostPoints && n != mostAxes {
		runs = []Run{{Inputs: in, Want: []Want{s.want()}}}
	}
	m.open(fmt.Sprintf("%s, %s, %d", s.op, what, n), model, []string{"n_y"}, runs...)
}

// largeWindows are pools whose windows are far larger than what they see.
func (m *maker) largeWindows() {
	for _, size := range []int64{100, 1 << 16, 1 << 30} {
		// The first window ends with the first element, the second one begins with the second.
		line := []any{"kernel_shape", []int64{size}, "pads", []int64{size - 1, size - 1}, "strides", []int64{size}}
		m.spec(&spec{"MaxPool", line, "x:f32[1,1,4]=1,2,4,3", "f32[1,1,2]=1,4"}, "a line", int(size))
		m.spec(&spec{"AveragePool", line, "x:f32[1,1,4]=1,2,4,3", "f32[1,1,2]=1,3"}, "a line", int(size))
		square := []any{"kernel_shape", []int64{size, size}, "pads", list(4, size-1), "strides", []int64{size, size}}
		m.spec(&spec{"MaxPool", square, "x:f32[1,1,2,2]=1,2,3,4", "f32[1,1,2,2]=1,2,3,4"}, "a square", int(size))
		m.spec(&spec{"AveragePool", square, "x:f32[1,1,2,2]=1,2,3,4", "f32[1,1,2,2]=1,2,3,4"}, "a square", int(size))
	}
}

// sums are CumSums along axes of no, one and many elements, among axes of no, one and many.
func (m *maker) sums() {
	for _, c := range []struct{ shape, out string }{
		{"[0]", "[0]="}, {"[1]", "[1]=2"}, {"[5]", "[5]=2,4,6,8,10"},
		{"[1,1000003]", "[1,1000003]=2"}, {"[0,7]", "[0,7]="}, {"[1,0]", "[1,0]="}, {"[1,1,1,257]", "[1,1,1,257]=2"},
		{"[2,3]", "[2,3]=2,2,2,4,4,4"}, {"[3,1]", "[3,1]=2,4,6"},
		{"[1" + strings.Repeat(",1", 29) + "]", "[1" + strings.Repeat(",1", 29) + "]=2"},
	} {
		for _, reverse := range []int64{0, 1} {
			s := &spec{"CumSum", []any{"reverse", reverse}, "x:f32" + c.shape + " A:i64[]=0", "f32" + c.out}
			if reverse == 1 {
				head, elements, _ := strings.Cut(s.out, "=")
				parts := strings.Split(elements, ",")
				for i, j := 0, len(parts)-1; i < j; i, j = i+1, j-1 {
					parts[i], parts[j] = parts[j], parts[i]
				}
				s.out = head + "=" + strings.Join(parts, ",")
			}
			model, in := s.model("", false)
			m.right(fmt.Sprintf("CumSum of %.20s, reverse %d", c.shape, reverse), model, Run{Inputs: in, Want: []Want{s.want()}})
		}
	}
}

package modeltest

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/program/plan"
)

// mostText bounds the text of the kernels of a few convolutions.
const mostText = 1 << 20

// shaped is the convolution's graph, without inputs that large.
func (c convolution) shaped() *ir.Graph {
	dims := c.x
	c.x = slices.Concat(dims[:2], slices.Repeat([]int64{1}, len(dims)-2))
	g, _ := c.graph(rand.New(rand.NewPCG(1, 2)))
	g.Inputs[0].Shape = ir.Dims(dims...)
	return g
}

// textOf is how long the text of a program's kernels is.
func textOf(p *plan.Program) int {
	n := 0
	for _, c := range p.Calls() {
		n += len(c.Kernel.String())
	}
	return n
}

// TestLarge: kernels are found soon, and their code is short, whatever extents a convolution has: models are untrusted input.
func TestLarge(t *testing.T) {
	const many = 1 << 28
	for _, c := range []convolution{
		{name: "rows", x: []int64{1, 16, many, 7}, w: []int64{16, 16, 3, 3}, pads: []int64{1, 1, 1, 1}},
		{name: "rows of pruned filters", x: []int64{1, 16, many, 7}, w: []int64{16, 16, 3, 3}, pads: []int64{1, 1, 1, 1}, share: 1},
		{name: "pixels of pruned filters", x: []int64{1, 16, 7, many}, w: []int64{16, 16, 3, 3}, pads: []int64{1, 1, 1, 1}, share: 1},
		{name: "rows of channels", x: []int64{1, 16, many, 7}, w: []int64{16, 1, 3, 3}, pads: []int64{1, 1, 1, 1}, group: 16, between: true},
		{name: "pixels of channels", x: []int64{1, 16, 2, many}, w: []int64{16, 1, 3, 3}, pads: []int64{1, 1, 1, 1}, group: 16, between: true},
		{name: "padding of channels", x: []int64{1, 16, 2, 40}, w: []int64{16, 1, 3, 3}, pads: []int64{1, 1 << 20, 1, 1}, group: 16, between: true},
		{name: "taps of channels", x: []int64{1, 16, 1, 600}, w: []int64{16, 1, 1, 401}, pads: []int64{0, 200, 0, 200}, group: 16, between: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, chip := range Chips {
				size := make(chan int, 1)
				go func() {
					p, err := Compile(c.shaped(), Config{chip, nil})
					assert.NoError(t, err, chip)
					size <- textOf(p)
				}()
				select {
				case n := <-size:
					assert.Less(t, n, mostText, chip)
				case <-time.After(time.Minute):
					require.Fail(t, "no kernel is found in a minute", chip)
				}
			}
		})
	}
}

package modeltest

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/irtest"
)

// branches are two convolutions of x, of 16 and n channels.
const branches = `  const @a f32[16, 16, 1, 1] = {A}
  const @b f32[16, 16, 1, 1] = {A}
  const @c f32[12, 16, 1, 1] = {C}
  input %x f32[1, 16, 6, 6]
  %p ?[*] = Conv.11(%x, @a) "a"
  %q ?[*] = Conv.11(%x, @b) "b"
  %r ?[*] = Conv.11(%x, @c) "c"
  %u ?[*] = Relu.14(%p) "u"
  %v ?[*] = Relu.14(%q) "v"
`

// TestViews: what is concatenated is computed where it belongs, with the Relus as parts of the convolutions.
func TestViews(t *testing.T) {
	for _, c := range []struct {
		name, graph string
		concats     int // steps that are left of concatenations
	}{
		{"two", `  %y ?[*] = Concat.13(%u, %v) {axis = 1} "all"
  output %y`, 0},
		{"the last block is not full", `  %y ?[*] = Concat.13(%u, %v, %r) {axis = 1} "all"
  %z ?[*] = Relu.14(%y)
  output %z`, 0},
		{"another is not full", `  %y ?[*] = Concat.13(%u, %r, %v) {axis = 1} "all"
  %z ?[*] = Softmax.13(%y)
  output %z`, 0}, // row-major pieces lie together
		{"twice", `  %y ?[*] = Concat.13(%u, %u) {axis = 1} "all"
  output %y`, 1},
		{"read before, too", `  %s ?[*] = Sigmoid.13(%u)
  %y ?[*] = Concat.13(%u, %v) {axis = 1} "all"
  output %y
  output %s`, 0},
		{"in two", `  %y ?[*] = Concat.13(%u, %v) {axis = 1} "all"
  %z ?[*] = Concat.13(%v, %r) {axis = 1} "others"
  output %y
  output %z`, 1},
		{"an output", `  %y ?[*] = Concat.13(%u, %v) {axis = 1} "all"
  output %y
  output %u`, 1},
		{"nested", `  %y ?[*] = Concat.13(%u, %v) {axis = 1} "some"
  %z ?[*] = Concat.13(%y, %r) {axis = 1} "all"
  %s ?[*] = Sigmoid.13(%y)
  output %z
  output %s`, 0},
		{"along another axis", `  %y ?[*] = Concat.13(%u, %v) {axis = 2} "all"
  output %y`, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(5, 6))
			numbers := func(n int) string {
				out := make([]string, n)
				for i := range out {
					out[i] = []string{"-1", "0.5", "0.25", "-0.75", "1"}[r.IntN(5)]
				}
				return strings.Join(out, ", ")
			}
			text := strings.NewReplacer("{A}", "{"+numbers(256)+"}", "{C}", "{"+numbers(192)+"}").Replace(branches + c.graph + "\n")
			x := ir.NewTensor(ir.F32, 1, 16, 6, 6)
			for i := range x.Len() {
				binary.LittleEndian.PutUint32(x.Data[4*i:], math.Float32bits(float32(r.IntN(9)-4)))
			}
			parse := func() *ir.Graph { return irtest.Parse(t, text) }
			for chip, p := range everywhere(t, parse, map[string]*ir.Tensor{"x": x}) {
				concats := 0
				for _, s := range p.Calls() {
					if slices.Contains(s.Block.Ops, "Concat") {
						concats++
					}
				}
				assert.Equal(t, c.concats, concats, "%s: %s", chip, p)
			}
		})
	}
}

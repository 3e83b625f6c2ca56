package modeltest

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/ir"
)

// TestInPlace: which steps write their result over an operand. %p is a convolution of the input, kept by a
// pool that reads it, too.
func TestInPlace(t *testing.T) {
	for _, c := range []struct {
		name, graph string
		// The operands that results are written over, of steps as they are fused and of each operator's own, row-major.
		fused, apart []string
	}{
		{"what a convolution adds", `  %c ?[*] = Conv.11(%q, @w) {pads = [1, 1, 1, 1]} "second"
  %s ?[*] = Add.14(%c, %p)
  %y ?[*] = MaxPool.12(%s) {kernel_shape = [3, 3]}
  output %y`, []string{"p"}, []string{"c"}},
		{"that is read later", `  %c ?[*] = Conv.11(%q, @w) {pads = [1, 1, 1, 1]} "second"
  %s ?[*] = Add.14(%c, %p)
  %z ?[*] = MaxPool.12(%s) {kernel_shape = [3, 3]}
  %y ?[*] = Conv.11(%p, @w) "third"
  output %y
  output %z`, nil, []string{"c"}},
		{"that is an output", `  %c ?[*] = Conv.11(%q, @w) {pads = [1, 1, 1, 1]} "second"
  %s ?[*] = Add.14(%c, %p)
  %y ?[*] = MaxPool.12(%s) {kernel_shape = [3, 3]}
  output %y
  output %p`, nil, []string{"c"}},
		{"a result that is an output", `  %s ?[*] = Add.14(%q, %p)
  output %s`, nil, nil},
		{"two in turn", `  %s ?[*] = Mul.14(%q, %p)
  %u ?[*] = MaxPool.12(%s) {kernel_shape = [3, 3], pads = [1, 1, 1, 1]}
  %v ?[*] = Sub.14(%s, %u)
  %y ?[*] = MaxPool.12(%v) {kernel_shape = [3, 3]}
  output %y`, nil, []string{"q", "s"}},
		{"a scale for each channel", `  %m ?[*] = GlobalAveragePool.1(%q)
  %s ?[*] = Mul.14(%p, %m)
  %y ?[*] = MaxPool.12(%s) {kernel_shape = [3, 3]}
  output %y`, nil, []string{"p"}},
		{"rows of neighbours", `  %y ?[*] = MaxPool.12(%p) {kernel_shape = [3, 3], pads = [1, 1, 1, 1]}
  %z ?[*] = Conv.11(%y, @w) "second"
  output %z
  output %q`, nil, nil},
		{"turned round", `  %u ?[*] = Transpose.13(%p) {perm = [0, 1, 3, 2]}
  %s ?[*] = Add.14(%p, %u)
  %y ?[*] = Conv.11(%s, @w) "second"
  output %y
  output %q`, nil, []string{"p"}},
		{"a piece", `  %c ?[*] = Conv.11(%q, @w) {pads = [1, 1, 1, 1]} "second"
  %s ?[*] = Add.14(%c, %p)
  %d ?[*] = Conv.11(%q, @w) {pads = [1, 1, 1, 1]} "third"
  %y ?[*] = Concat.13(%s, %d) {axis = 1}
  %z ?[*] = MaxPool.12(%y) {kernel_shape = [3, 3]}
  output %z`, nil, []string{"c"}},
		{"in a loop", `  %a f32[1, 20, 6, 6], %same ?[*] = Loop.16(%three, %go, %q, @w) {body = region 0} "loop" regions {
    graph "body" opset 17 {
      input %i ?[*]
      input %on ?[*]
      input %e f32[1, 20, 6, 6]
      input %v ?[*]
      %c ?[*] = Conv.11(%e, %v) {pads = [1, 1, 1, 1]} "within"
      %k ?[*] = MaxPool.12(%c) {kernel_shape = [3, 3], pads = [1, 1, 1, 1]}
      %f ?[*] = Sub.14(%c, %k)
      %o ?[*] = MaxPool.12(%f) {kernel_shape = [3, 3], pads = [1, 1, 1, 1]}
      output %on
      output %o
      output %v
    }
  }
  output %a
  output %p`, nil, []string{"c"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(5, 6))
			var w []string
			for range 20 * 20 * 9 {
				w = append(w, []string{"-1", "0.5", "0.25", "-0.75", "1"}[r.IntN(5)])
			}
			text := `graph "g" opset 21 {
  const @w f32[20, 20, 3, 3] = {` + strings.Join(w, ", ") + `}
  input %x f32[1, 20, 6, 6]
  input %three i64[]
  input %go bool[]
  %p ?[*] = Conv.11(%x, @w) {pads = [1, 1, 1, 1]} "first"
  %q ?[*] = MaxPool.12(%p) {kernel_shape = [3, 3], pads = [1, 1, 1, 1]}
` + c.graph + "\n}\n"
			parse := func() *ir.Graph {
				g, err := ir.Parse(strings.NewReader(text), nil)
				require.NoError(t, err)
				return g
			}
			x := ir.NewTensor(ir.F32, 1, 20, 6, 6)
			for i := range x.Len() {
				binary.LittleEndian.PutUint32(x.Data[4*i:], math.Float32bits(float32(r.IntN(9)-4)))
			}
			three, yes := ir.NewTensor(ir.I64), ir.NewTensor(ir.Bool)
			three.Data[0], yes.Data[0] = 3, 1
			inputs := map[string]*ir.Tensor{"x": x, "three": three, "go": yes}
			for _, off := range [][]string{{"fuse", "winograd", "layouts"}, {"winograd", "layouts"}, {"winograd"}, {"winograd", "inplace"}} {
				for chip, p := range everywhere(t, parse, inputs, off...) {
					var over []string
					for _, s := range p.Calls() {
						for _, x := range s.Over {
							over = append(over, x.Name)
						}
					}
					switch {
					case slices.Contains(off, "inplace"):
						assert.Empty(t, over)
					case slices.Contains(off, "fuse"):
						assert.Equal(t, c.apart, over, "%s %v: %s", chip, off, p)
					case slices.Contains(off, "layouts"):
						assert.Equal(t, c.fused, over, "%s %v: %s", chip, off, p)
					}
				}
			}
		})
	}
}

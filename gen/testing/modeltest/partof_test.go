package modeltest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/irtest"
	"rules_dnn/gen/program/plan"
)

// TestPartOf: a part of a value, or all of it in another shape, lies where the value does, whoever else reads that and
// whatever is written in its place later.
func TestPartOf(t *testing.T) {
	const halves = `  %a ?[*], %b ?[*] = Split.13(%p) {axis = 1} "halves"
`
	for _, c := range []struct {
		name, graph string
		within      string // values that lie in others
		apart       string // values that do not, on any chip
	}{
		{"halves", halves + `  %c ?[*] = Conv.11(%b, @w) {pads = [1, 1, 1, 1]} "second"
  %d ?[*] = Conv.11(%a, @w) {pads = [1, 1, 1, 1]} "third"
  %y ?[*] = Add.14(%c, %d)
  output %y`, "a b", ""},
		{"of an input", `  %a ?[*], %b ?[*] = Split.13(%x, @sizes) {axis = 1} "halves"
  %c ?[*] = Conv.11(%b, @w) {pads = [1, 1, 1, 1]} "second"
  %d ?[*] = Conv.11(%a, @w) {pads = [1, 1, 1, 1]} "third"
  %y ?[*] = Add.14(%c, %d)
  output %y`, "a b", ""},
		{"that are outputs", halves + `  %c ?[*] = Conv.11(%b, @w) {pads = [1, 1, 1, 1]} "second"
  output %a
  output %b
  output %c`, "", "a b"},
		{"while the whole is read, too", halves + `  %c ?[*] = Conv.11(%b, @w) {pads = [1, 1, 1, 1]} "second"
  %q ?[*] = MaxPool.12(%p) {kernel_shape = [3, 3], pads = [1, 1, 1, 1]}
  %r ?[*] = Sub.14(%p, %q)
  %m ?[*] = GlobalAveragePool.1(%r)
  %n ?[*] = GlobalAveragePool.1(%c)
  %d ?[*] = Conv.11(%b, @w) {pads = [1, 1, 1, 1]} "third"
  %e ?[*] = Mul.14(%d, %n)
  output %m
  output %e`, "b", ""},
		{"that a result takes the place of", halves + `  %c ?[*] = Conv.11(%b, @w) {pads = [1, 1, 1, 1]} "second"
  %s ?[*] = Add.14(%c, %b)
  %d ?[*] = MaxPool.12(%a) {kernel_shape = [3, 3]}
  %y ?[*] = MaxPool.12(%s) {kernel_shape = [3, 3]}
  output %d
  output %y`, "a b", ""},
		{"of the whole of which others are concatenated", halves + `  %c ?[*] = Conv.11(%b, @w) {pads = [1, 1, 1, 1]} "second"
  %d ?[*] = Conv.11(%b, @w) {pads = [1, 1, 1, 1]} "third"
  %y ?[*] = Concat.13(%c, %p, %d) {axis = 1} "all"
  %z ?[*] = MaxPool.12(%y) {kernel_shape = [3, 3]}
  output %z`, "b p", ""},
		{"that are concatenated again", halves + `  %c ?[*] = Conv.11(%b, @w) {pads = [1, 1, 1, 1]} "second"
  %y ?[*] = Concat.13(%a, %b, %c) {axis = 1} "all"
  %z ?[*] = MaxPool.12(%y) {kernel_shape = [3, 3]}
  output %z`, "b p", ""},
		{"that is concatenated", halves + `  %c ?[*] = Conv.11(%b, @w) {pads = [1, 1, 1, 1]} "second"
  %d ?[*] = MaxPool.12(%b) {kernel_shape = [3, 3]}
  %y ?[*] = Concat.13(%b, %c) {axis = 1} "all"
  %z ?[*] = MaxPool.12(%y) {kernel_shape = [3, 3]}
  output %d
  output %z`, "b", ""},
		{"of a part", halves + `  %c ?[*] = MaxPool.12(%b) {kernel_shape = [3, 3]}
  %h ?[*], %i ?[*] = Split.13(%b) {axis = 1} "quarters"
  %d ?[*] = MaxPool.12(%h) {kernel_shape = [3, 3]}
  %e ?[*] = MaxPool.12(%i) {kernel_shape = [3, 3]}
  output %c
  output %d
  output %e`, "b", ""},
		{"within a block", `  %a ?[*], %b ?[*] = Split.13(%p, @odd) {axis = 1} "odd"
  %c ?[*] = Conv.11(%b, @odds) {pads = [1, 1, 1, 1]} "second"
  %m ?[*] = GlobalAveragePool.1(%a)
  output %m
  output %c`, "", ""},
		{"not side by side", `  %a ?[*], %b ?[*] = Split.13(%p) {axis = 2} "halves"
  %c ?[*] = MaxPool.12(%b) {kernel_shape = [3, 3], pads = [1, 1, 1, 1]}
  %d ?[*] = MaxPool.12(%a) {kernel_shape = [3, 3], pads = [1, 1, 1, 1]}
  %e ?[*] = MaxPool.12(%b) {kernel_shape = [3, 1], pads = [1, 0, 1, 0]}
  output %c
  output %d
  output %e`, "", "a b"},
		{"in another shape", `  %r ?[*] = Reshape.14(%p, @to) "flat"
  %s ?[*] = Softmax.13(%r)
  %m ?[*] = MatMul.13(%r, @square)
  %y ?[*] = Add.14(%s, %m)
  output %y`, "r", ""},
		{"in another shape, which is written over", `  %s ?[*] = Softmax.13(%x)
  %r ?[*] = Reshape.14(%s, @to) "flat"
  %m ?[*] = MatMul.13(%r, @square)
  %d ?[*] = Sub.14(%r, %m)
  %n ?[*] = MatMul.13(%d, @square)
  output %n`, "r", ""},
		{"in loops", `  %z f32[1, 16, 6, 8], %same ?[*] = Loop.16(%three, %go, %a0, %p) {body = region 0} "loop" regions {
    graph "body" opset 17 {
      input %i ?[*]
      input %on ?[*]
      input %e f32[1, 16, 6, 8]
      input %v ?[*]
      %a ?[*], %b ?[*] = Split.13(%v) {axis = 1} "halves"
      %k ?[*] = MaxPool.12(%b) {kernel_shape = [3, 3], pads = [1, 1, 1, 1]}
      %l ?[*] = MaxPool.12(%a) {kernel_shape = [3, 3], pads = [1, 1, 1, 1]}
      %m ?[*] = Mul.14(%b, %l)
      %n ?[*] = Sub.14(%m, %e)
      %f ?[*] = Sub.14(%n, %k)
      %o ?[*] = Tanh.13(%f)
      %w ?[*] = Concat.13(%o, %k) {axis = 1} "next"
      output %on
      output %o
      output %w
    }
  }
  output %z
  output %same`, "a b", ""},
		{"of what a branch computes", `  %y ?[*] = If.16(%go; %p) {else_branch = region 1, then_branch = region 0} "if" regions {
    graph "then" opset 17 {
      input %p ?[*]
      %a ?[*], %b ?[*] = Split.13(%p) {axis = 1} "halves"
      %k ?[*] = MaxPool.12(%b) {kernel_shape = [3, 3], pads = [1, 1, 1, 1]}
      %l ?[*] = MaxPool.12(%b) {kernel_shape = [3, 1], pads = [1, 0, 1, 0]}
      %o ?[*] = Sub.14(%k, %l)
      output %o
    }
    graph "else" opset 17 {
      input %p ?[*]
      %a ?[*], %b ?[*] = Split.13(%p) {axis = 1} "halves"
      output %b
    }
  }
  %z ?[*] = MaxPool.12(%y) {kernel_shape = [3, 3]}
  output %z`, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			w, square := make([]string, 16*16*9), make([]string, 48*48)
			for i := range w {
				w[i] = fmt.Sprint(float32(i*7%31-15) / 64)
			}
			for i := range square {
				square[i] = fmt.Sprint(float32(i*5%29-14) / 32)
			}
			text := `  const @w f32[16, 16, 3, 3] = {` + strings.Join(w, ", ") + `}
  const @whole f32[32, 32, 1, 1] = {` + strings.Join(w[:1024], ", ") + `}
  const @odds f32[4, 20, 3, 3] = {` + strings.Join(w[:720], ", ") + `}
  const @square f32[48, 48] = {` + strings.Join(square, ", ") + `}
  const @sizes i64[2] = {16, 16}
  const @odd i64[2] = {12, 20}
  const @to i64[2] = {32, 48}
  input %x f32[1, 32, 6, 8]
  input %a0 f32[1, 16, 6, 8]
  input %three i64[]
  input %go bool[]
  %p ?[*] = Conv.11(%x, @whole) "first"
` + c.graph + "\n"
			inputs := map[string]*ir.Tensor{"x": wave(1, 32, 6, 8), "a0": wave(1, 16, 6, 8), "three": ir.NewTensor(ir.I64), "go": ir.NewTensor(ir.Bool)}
			inputs["three"].Data[0], inputs["go"].Data[0] = 3, 1
			for name, disable := range map[string][]string{"all": nil, "apart": {"fuse", "winograd"}} {
				programs := everywhere(t, func() *ir.Graph { return irtest.Parse(t, text) }, inputs, disable...)
				if name == "apart" {
					continue
				}
				for _, v := range strings.Fields(c.within) {
					assert.True(t, lies(programs, v), v)
				}
				for _, v := range strings.Fields(c.apart) {
					assert.False(t, lies(programs, v), v)
				}
			}
		})
	}
}

// TestPartOfComputed: of dimensions that only the run knows, a part lies in the whole where it is certain to begin as values of
// their own do.
func TestPartOfComputed(t *testing.T) {
	for _, c := range []struct {
		shape  string
		within bool // the second half lies in the whole
	}{
		{"1, 32, H, W", true},
		{"1, 8, H, W", false}, // it begins after 16*H*W bytes
		{"N, 32, H, W", false},
	} {
		t.Run(c.shape, func(t *testing.T) {
			n, channels := int64(1), int64(32)
			if strings.HasPrefix(c.shape, "N") {
				n = 2
			}
			if strings.Contains(c.shape, " 8,") {
				channels = 8
			}
			text := "  symbol H 1..64\n  symbol N 1..9\n  symbol W 1..64\n  input %n f32[N]\n  input %x f32[" + c.shape + `]
  %s ?[*] = MaxPool.12(%x) {kernel_shape = [1, 3], pads = [0, 1, 0, 1]}
  %a ?[*], %b ?[*] = Split.13(%s) {axis = 1} "halves"
  %k ?[*] = MaxPool.12(%b) {kernel_shape = [3, 3], pads = [1, 1, 1, 1]}
  %l ?[*] = MaxPool.12(%a) {kernel_shape = [3, 1], pads = [1, 0, 1, 0]}
  %m ?[*] = Neg.13(%n)
  %y ?[*] = Sub.14(%k, %l)
  output %y
  output %m
`
			for _, dims := range [][2]int64{{5, 3}, {16, 8}} {
				inputs := map[string]*ir.Tensor{"x": wave(n, channels, dims[0], dims[1]), "n": wave(n)}
				programs := everywhere(t, func() *ir.Graph { return irtest.Parse(t, text) }, inputs)
				assert.Equal(t, c.within, lies(programs, "b"))
			}
		})
	}
}

// lies reports whether a value, in one of its layouts, lies in another one on a chip; on some its readers want a copy of it in blocks.
func lies(programs map[string]*plan.Program, name string) bool {
	for _, p := range programs {
		for v := range p.Homes {
			if v.Name == name || strings.HasPrefix(v.Name, name+" (") {
				return true
			}
		}
	}
	return false
}

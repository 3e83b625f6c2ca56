package pipeline

import (
	"bytes"
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/emit/cpp"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/target/chips/chipstest"
)

// network is small, and every pass finds something to do in it.
var network = networkOf(ones)

// networkOf is the network with weights of one's own, so many each.
func networkOf(weights func(n int) string) string {
	return `graph "g" opset 17 {
  symbol N 1..64
  const @w f32[16, 3, 3, 3] = {` + weights(432) + `}
  const @s f32[16] = {` + ones(16) + `}
  const @up f32[16, 3, 2, 2] = {` + weights(192) + `}
  const @wide f32[16, 16, 3, 3] = {` + weights(2304) + `}
  const @deep f32[16, 16, 1, 1] = {` + weights(256) + `}
  const @few f32[16, 16, 3, 3] = {` + strings.TrimSuffix(strings.Repeat("1, 1, 1, "+strings.Repeat("0, ", 15), 128), ", ") + `}
  const @own f32[16, 16, 3, 3] = {` + apart(2304) + `}
  const @zero i64[1] = {0}
  const @rest i64[1] = {-1}
  input %x f32[N, 3, 8, 8]
  %c ?[*] = Conv.11(%x, @w) {pads = [1, 1, 1, 1]} "conv"
  %n ?[*] = BatchNormalization.15(%c, @s, @s, @s, @s) "norm"
  %r ?[*] = Relu.14(%n) "relu"
  %q ?[*] = Conv.11(%r, @wide) {pads = [1, 1, 1, 1]} "wide"
  %p ?[*] = MaxPool.12(%q) {kernel_shape = [3, 3], pads = [1, 1, 1, 1]} "pool"
  %shape ?[*] = Shape.15(%p)
  %batch ?[*] = Gather.13(%shape, @zero)
  %to ?[*] = Concat.13(%batch, @rest) {axis = 0}
  %f ?[*] = Reshape.14(%p, %to) "flat"
  %y ?[*] = Softmax.13(%f) "soft"
  %z ?[*] = ConvTranspose.11(%p, @up) {strides = [2, 2]} "up"
  %some ?[*] = Concat.13(%r, %q) {axis = 1} "some"
  %all ?[*] = Concat.13(%r, %q, %p) {axis = 1} "all"
  %plus ?[*] = Softplus.1(%r)
  %tanh ?[*] = Tanh.13(%plus)
  %mish ?[*] = Mul.14(%r, %tanh) "mish"
  %deep ?[*] = Conv.11(%q, @deep) "deep"
  %sum ?[*] = Add.14(%deep, %r) "sum"
  %top ?[*] = MaxPool.12(%sum) {kernel_shape = [2, 2]} "top"
  %few ?[*] = Conv.11(%q, @few) {pads = [1, 1, 1, 1]} "few"
  %own ?[*] = Conv.11(%q, @own) {pads = [1, 1, 1, 1]} "own"
  output %y
  output %z
  output %some
  output %all
  output %mish
  output %top
  output %few
  output %own
}
`
}

// quantized is a convolution between DequantizeLinear and QuantizeLinear.
var quantized = `graph "g" opset 17 {
  const @w i8[16, 16, 3, 3] = {` + ones(2304) + `}
  const @scale f32[] = {0.5}
  input %x u8[1, 16, 8, 8]
  %xf ?[*] = DequantizeLinear.13(%x, @scale)
  %wf ?[*] = DequantizeLinear.13(@w, @scale)
  %c ?[*] = Conv.11(%xf, %wf) {pads = [1, 1, 1, 1]}
  %y ?[*] = QuantizeLinear.13(%c, @scale)
  output %y
}
`

// pooling is a convolution whose results are pooled.
var pooling = `graph "g" opset 17 {
  const @w f32[16, 4, 5, 5] = {` + ones(1600) + `}
  input %x f32[1, 4, 16, 16]
  %c ?[*] = Conv.11(%x, @w) {pads = [2, 2, 2, 2]}
  %y ?[*] = MaxPool.12(%c) {kernel_shape = [2, 2], strides = [2, 2]}
  output %y
}
`

// fourBits is a product with weights of 4 bits.
var fourBits = `graph "g" opset 21 {
  const @q i8[32, 16] = {` + ones(512) + `}
  const @scale f32[2, 16] = {` + ones(32) + `}
  input %x f32[4, 32]
  %w ?[*] = DequantizeLinear.21(@q, @scale) {axis = 0, block_size = 16}
  %y ?[*] = MatMul.13(%x, %w)
  output %y
}
`

func ones(n int) string { return strings.TrimSuffix(strings.Repeat("1, ", n), ", ") }

// apart is n weights of which each filter of 16 channels and 9 taps keeps others, one below the other.
func apart(n int) string {
	out := make([]string, n)
	for i := range out {
		out[i] = "0"
		if i%37 == 0 || i%37 == 3 {
			out[i] = "1"
		}
	}
	return strings.Join(out, ", ")
}

func parse(t *testing.T, text string) *State {
	t.Helper()
	g, err := ir.Parse(strings.NewReader(text), nil)
	require.NoError(t, err)
	chip := chipstest.Target(t, "x86_64")
	return &State{Graph: g, Target: chip, EveryPool: true}
}

// compile runs all passes.
func compile(t *testing.T, text string, disable ...string) *State {
	t.Helper()
	return through(t, parse(t, text), disable...)
}

// through runs all passes on a state.
func through(t *testing.T, s *State, disable ...string) *State {
	t.Helper()
	for _, passes := range [][]Pass{GraphPasses, CompilePasses} {
		done, err := Run(passes, s, Options{Disable: disable})
		require.NoError(t, err)
		require.True(t, done)
	}
	return s
}

// kernels is the program and the code of its kernels.
func kernels(t *testing.T, s *State) string {
	files, err := cpp.Print(s.Program, "net", 1)
	require.NoError(t, err)
	text := s.Program.String()
	for _, f := range files {
		text += f.Text
	}
	return text
}

// pairs is the sum of two quantized tensors.
const pairs = `graph "g" opset 17 {
  const @s f32[] = {0.0417}
  const @u f32[] = {0.0623}
  const @z u8[] = {11}
  input %a u8[3, 64]
  input %b u8[3, 64]
  %x ?[*] = DequantizeLinear.13(%a, @s, @z)
  %y ?[*] = DequantizeLinear.13(%b, @u, @z)
  %w ?[*] = Add.14(%x, %y)
  %q ?[*] = QuantizeLinear.13(%w, @s, @z)
  output %q
}`

// attended is attention of 12 heads.
const attended = `graph "g" opset 17 {
  input %q f32[12, 128, 64]
  input %k f32[12, 64, 128]
  input %v f32[12, 128, 64]
  %s ?[*] = MatMul.13(%q, %k)
  %p ?[*] = Softmax.13(%s) {axis = -1}
  %y ?[*] = MatMul.13(%p, %v)
  output %y
}`

// TestDisable: each switch and each optional pass can be left out, alone, and then has no effect.
func TestDisable(t *testing.T) {
	count := func(s *State, want string) int { return strings.Count(s.Program.String(), want) }
	whole := compile(t, network)
	assert.Equal(t, 3, count(whole, "contraction,"), whole.Program)
	effects := map[string]func(*State) bool{
		"bnfold":   func(s *State) bool { return count(s, `"s"`) > 0 && count(whole, `"s"`) == 0 },
		"sweep":    func(s *State) bool { return len(s.Program.Steps) > len(whole.Program.Steps) },
		"fuse":     func(s *State) bool { return len(s.Program.Steps) > len(whole.Program.Steps) },
		"chains":   func(s *State) bool { return len(s.Program.Steps) > len(whole.Program.Steps) },
		"anchors":  func(s *State) bool { return count(s, "contraction,") == 0 },
		"subpixel": func(s *State) bool { return count(s, "contraction,") == 2 },
		"winograd": func(s *State) bool { return count(s, "contraction,") == 4 && count(whole, "winograd F(4,3),") == 1 },
		"inplace": func(s *State) bool {
			return count(s, "takes the place of") == 0 && count(whole, "takes the place of") == 1
		},
		"pruned": func(s *State) bool {
			return count(s, "pruned,")+count(s, "pixels,") == 0 && count(whole, "pruned,")+count(whole, "pixels,") == 2
		},
		"pooled":    func(s *State) bool { return count(s, `(result "c") + MaxPool`) == 0 },
		"layouts":   func(s *State) bool { return count(s, "axis1/") == 0 },
		"versions":  func(s *State) bool { return count(s, "choose") == 0 },
		"unpack":    func(s *State) bool { return count(s, "u8[16 16]") == 0 },
		"islands":   func(s *State) bool { return count(s, "product,") == 0 },
		"shared":    func(s *State) bool { return count(s, "group ") == 0 },
		"attention": func(s *State) bool { return count(s, "attention, tasks") == 0 && len(s.Program.Calls()) == 3 },
		"images":    func(s *State) bool { return count(s, "image") == 0 },
		"buffers":   func(s *State) bool { return count(s, "image") > 0 },
		"processor": func(s *State) bool { return len(s.Program.Launches()) == 2 && len(s.Program.Calls()) == 1 }, // an operator that is a call
	}
	devices := map[string]struct {
		compile         func(t *testing.T, device, text string, disable ...string) *State
		device, network string
	}{
		"attention": {compileOn, "opencl_nvidia", attended},
		"shared":    {compileOn, "opencl_nvidia", shared},
		"images":    {compileOn, "opencl_images", imaged},
		"buffers":   {compileOn, "opencl_images", buffered},
		"processor": {compileBeside, "opencl_buffers", called},
	}
	optional, _ := names()
	for _, name := range optional {
		if _, is := ruled[name]; is && effects[name] == nil {
			continue // TestFusionRules has networks for it
		}
		t.Run(name, func(t *testing.T) {
			if d, is := devices[name]; is {
				whole, s := d.compile(t, d.device, d.network), d.compile(t, d.device, d.network, name)
				assert.NotEqual(t, whole.Program.String(), s.Program.String(), "the network has nothing for it to do")
				assert.True(t, effects[name](s), s.Program)
				return
			}
			network, whole := network, whole
			if name == "versions" { // of sizes that only a run knows
				network = weighed(residual)
				whole = compile(t, network)
			}
			if name == "islands" { // of what is quantized
				network = quantized
				whole = compile(t, network)
			}
			if name == "pooled" {
				network = pooling
				whole = compile(t, network)
			}
			if name == "unpack" { // of what has 4 bits
				network = fourBits
				whole = compile(t, network)
				assert.Equal(t, 1, count(whole, "u8[16 16]"), whole.Program)
			}
			if name == "exact" { // of a sum that is quantized
				network = pairs
				whole = compile(t, network)
			}
			s := compile(t, network, name)
			assert.NotEqual(t, kernels(t, whole), kernels(t, s), "the network has nothing for it to do")
			if has := effects[name]; has != nil {
				assert.True(t, has(s), s.Program)
			}
		})
	}
	compile(t, network, optional...)
}

func TestStopAfter(t *testing.T) {
	s := parse(t, network)
	done, err := Run(GraphPasses, s, Options{StopAfter: "fuse"}) // the other command's
	require.NoError(t, err)
	assert.True(t, done)
	done, err = Run(CompilePasses, s, Options{StopAfter: "blocks"})
	require.NoError(t, err)
	assert.False(t, done)
	assert.NotNil(t, s.Blocks)
	assert.Nil(t, s.Program)
}

// TestDump: a dump's number is the pass's place in the list, and its text the latest form.
func TestDump(t *testing.T) {
	s := parse(t, network)
	dumps := map[string]string{}
	o := Options{Dump: []string{all}, Disable: []string{"sweep"}, Emit: func(n int, pass, text string) error {
		dumps[pass] = text
		at := slices.IndexFunc(CompilePasses, func(p Pass) bool { return p.Name == pass })
		assert.Equal(t, at, n, pass)
		return nil
	}}
	_, err := Run(CompilePasses, s, o)
	require.NoError(t, err)
	assert.Len(t, dumps, len(CompilePasses)-1)
	assert.Contains(t, dumps["infer"], `%c f32[N, 16, 8, 8] = Conv.11(%x, @w)`)
	assert.Contains(t, dumps["blocks"], "block 0: Conv \"conv\"")
	assert.Contains(t, dumps["lower"], `writes "y" f32[N 1024] row-major`+"\n")
	assert.Contains(t, dumps["plan"], `writes "y" f32[N 1024] row-major at output 0`)

	dumps = map[string]string{}
	_, err = Run(CompilePasses, parse(t, network), Options{Dump: []string{"fuse"}, Emit: func(_ int, pass, text string) error {
		dumps[pass] = text
		return nil
	}})
	require.NoError(t, err)
	assert.Len(t, dumps, 1)

	_, err = Run(CompilePasses, parse(t, network), Options{Dump: []string{"fuse"}, Emit: func(int, string, string) error { return errors.New("disk full") }})
	assert.EqualError(t, err, "disk full")
}

func TestTime(t *testing.T) {
	var out bytes.Buffer
	_, err := Run(CompilePasses, parse(t, network), Options{Time: &out, Disable: []string{"fuse"}})
	require.NoError(t, err)
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	require.Len(t, lines, len(CompilePasses)-1)
	for i, p := range slices.DeleteFunc(slices.Clone(CompilePasses), func(p Pass) bool { return p.Name == "fuse" }) {
		assert.Regexp(t, "^"+regexp.QuoteMeta(p.Name)+` +[0-9.]+ ms$`, lines[i])
	}
}

func TestBadOptions(t *testing.T) {
	for _, c := range []struct {
		o    Options
		want string
	}{
		{Options{Disable: []string{"anchor"}}, `there is no "anchor" to disable; there are: islands, unpack, bnfold, subpixel, rewrite, nest, sweep, fuse, exact, inplace, anchors`},
		{Options{Disable: []string{"all"}}, `there is no "all" to disable`},
		{Options{Disable: []string{""}}, `there is no "" to disable`},
		{Options{Disable: []string{"fuse", "plan"}}, `pass "plan" is required and cannot be disabled; these can: islands, unpack, bnfold`},
		{Options{Dump: []string{"anchors"}}, `there is no pass "anchors"; there are: simplify, islands, unpack, weights, bnfold, subpixel, rewrite, nest, infer, precision, blocks`},
		{Options{Dump: []string{"fuse"}, Disable: []string{"fuse"}}, `pass "fuse" is disabled`},
		{Options{StopAfter: "all"}, `there is no pass "all"`},
		{Options{StopAfter: "layouts"}, `there is no pass "layouts"`},
		{Options{StopAfter: "fuse", Disable: []string{"fuse"}}, `pass "fuse" is disabled; dnnc can neither dump nor stop after it`},
	} {
		s := parse(t, network)
		_, err := Run(CompilePasses, s, c.o)
		assert.ErrorContains(t, err, c.want)
		assert.Nil(t, s.Blocks, "no pass runs")
	}
}

// TestFailures: an error names its pass, and so does a panic, which is a bug of ours.
func TestFailures(t *testing.T) {
	broken := []Pass{{Name: "broken", Run: func(*State) error { return errors.New("no") }}}
	_, err := Run(broken, &State{}, Options{})
	assert.EqualError(t, err, "pass broken: no")
	broken[0].Run = func(*State) error { panic("bug") }
	assert.PanicsWithError(t, "pass broken: bug", func() { _, _ = Run(broken, &State{}, Options{}) })
	broken[0].Run = func(s *State) error { s.Graph.Outputs = append(s.Graph.Outputs, &ir.Value{Name: "z"}); return nil }
	_, err = Run(broken, parse(t, network), Options{})
	assert.ErrorContains(t, err, "after pass broken: verify graph")
	_, err = Run(GraphPasses, parse(t, "graph \"g\" opset 17 {\n input %x f32[2]\n input %a f32[3]\n %y ?[*] = Add.14(%x, %a) \"sum\"\n output %y\n}\n"), Options{})
	assert.ErrorContains(t, err, "pass simplify: node Add \"sum\"")
}

// TestDeterministic: the whole program, dump and all, is the same each time.
func TestDeterministic(t *testing.T) {
	want := compile(t, network).Program.String()
	for range 5 {
		assert.Equal(t, want, compile(t, network).Program.String())
	}
}

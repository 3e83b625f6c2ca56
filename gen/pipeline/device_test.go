package pipeline

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"rules_dnn/gen/target"
)

// shared is a product of a device; imaged has values in its texture memory, and buffered could have.
var (
	shared = `graph "g" opset 17 {
  input %x f32[64, 256]
  input %w f32[256, 256]
  %y ?[*] = MatMul.13(%x, %w)
  output %y
}
`
	imaged = strings.Replace(buffered, "output %y", `%q ?[*] = Transpose.13(%y) {perm = [0, 2, 3, 1]}
  %s ?[*] = Softmax.13(%q) {axis = 1}
  output %s`, 1)
	buffered = `graph "g" opset 17 {
  const @a f32[16, 16, 1, 1] = {` + ones(256) + `}
  input %x f32[1, 16, 64, 64]
  %p ?[*] = Conv.11(%x, @a)
  %y ?[*] = Conv.11(%p, @a)
  output %y
}
`
)

// compileOn runs all passes for a device.
func compileOn(t *testing.T, device, text string, disable ...string) *State {
	t.Helper()
	s := parse(t, text)
	facts, err := os.ReadFile("../../platforms/devices/" + device + ".json")
	require.NoError(t, err)
	s.Target, err = target.Parse(facts)
	require.NoError(t, err)
	return through(t, s, disable...)
}

// TestWithoutProcessor: with the processor's part off a device beside it runs all that it can, however little that is, and the processor operators
// that are calls alone.
func TestWithoutProcessor(t *testing.T) {
	const text = `graph "g" opset 17 {
  input %x f32[8]
  %e ?[*] = Exp.13(%x)
  %n ?[*] = NonZero.13(%e)
  %c ?[*] = Cast.13(%n) {to = 1}
  %y ?[*] = Neg.13(%c)
  output %y
}
`
	facts, err := os.ReadFile("../../platforms/devices/opencl_buffers.json")
	require.NoError(t, err)
	device, err := target.Parse(facts)
	require.NoError(t, err)
	for _, c := range []struct {
		off             []string
		launches, calls int
	}{{nil, 0, 3}, {[]string{"processor"}, 2, 1}} {
		s := parse(t, text)
		s.Device = device
		p := through(t, s, c.off...).Program
		require.Len(t, p.Launches(), c.launches, p.String())
		require.Len(t, p.Calls(), c.calls, p.String())
	}
	s := parse(t, text)
	require.Empty(t, through(t, s, "processor").Program.Launches(), "there is no device")
}

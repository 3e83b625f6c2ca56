package pipeline

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"rules_dnn/gen/target/chips/chipstest"
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
	// called has an operator that is a call between two that a device computes, too.
	called = `graph "g" opset 17 {
  input %x f32[8]
  %e ?[*] = Exp.13(%x)
  %n ?[*] = NonZero.13(%e)
  %c ?[*] = Cast.13(%n) {to = 1}
  %y ?[*] = Neg.13(%c)
  output %y
}
`
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
	s.Target = chipstest.Target(t, device)
	return through(t, s, disable...)
}

// compileBeside runs all passes for a processor with a device beside it.
func compileBeside(t *testing.T, device, text string, disable ...string) *State {
	t.Helper()
	s := parse(t, text)
	s.Device = chipstest.Target(t, device)
	return through(t, s, disable...)
}

// TestWithoutDevice: the processor computes all where there is no device, also with its part off; beside a device it does where estimates prefer it.
func TestWithoutDevice(t *testing.T) {
	require.Empty(t, compile(t, called, "processor").Program.Launches())
	require.Empty(t, compileBeside(t, "opencl_buffers", called).Program.Launches())
}

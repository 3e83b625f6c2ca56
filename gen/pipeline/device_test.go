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

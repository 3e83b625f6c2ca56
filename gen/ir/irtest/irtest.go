// Package irtest makes graphs for tests.
package irtest

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"rules_dnn/gen/ir"
)

// Parse reads the lines of a graph in the text form (opset 17) and verifies it.
func Parse(t testing.TB, lines string) *ir.Graph {
	t.Helper()
	g, err := ir.Parse(strings.NewReader("graph \"g\" opset 17 {\n"+lines+"}\n"), nil)
	require.NoError(t, err, lines)
	require.NoError(t, ir.Verify(g), lines)
	return g
}

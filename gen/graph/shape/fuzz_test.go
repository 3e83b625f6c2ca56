package shape_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"rules_dnn/gen/graph/shape"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/testing/wildtest"
)

// FuzzInfer infers the shapes of graphs of arbitrary nodes.
func FuzzInfer(f *testing.F) {
	f.Add([]byte("some choices"))
	f.Fuzz(func(t *testing.T, data []byte) {
		g := wildtest.Graph(wildtest.NewSource(data))
		require.NoError(t, ir.Verify(g), "%s", wildtest.Text(g))
		before := wildtest.Text(g)
		wildtest.Guard(t, func() string { return before })
		err := shape.Infer(g)
		var unknown *shape.UnknownError
		if err != nil && !errors.As(err, &unknown) {
			return
		}
		require.NoError(t, ir.Verify(g), "%s", before)
		once := text(t, g)
		require.Equal(t, err == nil, shape.Infer(g) == nil, "%s", before)
		require.Equal(t, once, text(t, g), "a second inference changes the graph\n%s", before)
	})
}

func text(t *testing.T, g *ir.Graph) string {
	var b bytes.Buffer
	require.NoError(t, ir.Print(&b, g))
	return b.String()
}

package shape

import (
	"testing"

	"github.com/stretchr/testify/require"

	"rules_dnn/gen/ir/irtest"
)

// TestUpdatedShapes: shapes into which a dimension is written are followed, as long as its place is known.
func TestUpdatedShapes(t *testing.T) {
	for _, c := range []struct{ update, want string }{
		{"%t ?[*] = ScatterElements.18(%s, @last, %d)", "<N, M>"},
		{"%t ?[*] = ScatterElements.18(%s, @both, %u) {axis = 0}", "<7, N>"},
		{"%t ?[*] = ScatterElements.18(%s, @last, %d) {reduction = \"add\"}", "<N, M + 4>"},
		{"%t ?[*] = CumSum.14(%s, @zero)", "<N, N + 4>"},
		{"%t ?[*] = ScatterElements.18(%s, %i, %d)", ""},
	} {
		g := irtest.Parse(t, "symbol N 1..64\nsymbol M 1..64\nconst @last i64[1] = {1}\nconst @both i64[2] = {-1, 0}\nconst @zero i64[] = {0}\nconst @seven i64[1] = {7}\n"+
			"input %x f32[N, 4]\ninput %y f32[M]\ninput %i i64[1]\n%s ?[*] = Shape.15(%x)\n%d ?[*] = Shape.15(%y)\n%n ?[*] = Shape.15(%x) {end = 1}\n"+
			"%u ?[*] = Concat.13(%n, @seven) {axis = 0}\n"+c.update+"\noutput %t\n")
		require.NoError(t, Infer(g))
		got := ""
		for i, e := range g.Outputs[0].Elems {
			got += map[bool]string{true: "<", false: ", "}[i == 0] + e.String()
		}
		if got != "" {
			got += ">"
		}
		require.Equal(t, c.want, got, c.update)
	}
}

package loop_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/kernel/loop"
)

// TestLanes: a loop has as many lanes as a register of 8 floats has of its widest type, or fewer where more would leave more single steps.
func TestLanes(t *testing.T) {
	for _, c := range []struct {
		what, head, body string
		types            []ir.DType
		want             int64
	}{
		{"floats", "", "for i < 16 {; y[i] = x[i]; }", loop.AllTypes, 8},
		{"floats with a rest", "", "for i < 20 {; y[i] = x[i]; }", loop.AllTypes, 8},
		{"floats of fewer steps than two registers", "", "for i < 9 {; y[i] = x[i]; }", loop.AllTypes, 8},
		{"fewer floats than a register", "", "for i < 7 {; y[i] = x[i]; }", loop.AllTypes, 4},
		{"half a register", "", "for i < 4 {; y[i] = x[i]; }", loop.AllTypes, 4},
		{"too few", "", "for i < 3 {; y[i] = x[i]; }", loop.AllTypes, 0},
		{"halves", "operand h f16[64]; result z f16[64]", "for i < 16 {; z[i] = h[i]; }", loop.AllTypes, 8},
		{"bytes", "operand h u8[64]; result z u8[64]", "for i < 64 {; z[i] = u8 max(h[i], u8:3); }", loop.AllTypes, 32},
		{"bytes in fewer steps", "operand h u8[64]; result z u8[64]", "for i < 56 {; z[i] = h[i]; }", loop.AllTypes, 32},
		{"bytes of which some are read again", "operand h u8[64]; result z u8[64]", "for i < 56 {; z[i] = u8 add(h[i], z[i]); }", loop.AllTypes, 8},
		{"sums of a short line", "operand h u8[64]; result z i32[64]", "for i < 7 {; z[i] = i32 cast(h[i]); }", loop.AllTypes, 4},
		{"bytes of a known number", "operand h u8[64]; result z u8[64]", "for i < 48 {; z[i] = u8 add(h[i], z[i]); }", loop.AllTypes, 16},
		{"bytes of any number", "operand h u8[64]; result z u8[64]", "for i < N {; z[i] = h[i]; }", loop.AllTypes, 32},
		{"few bytes", "operand h u8[64]; result z u8[64]", "for i < 4 {; z[i] = h[i]; }", loop.AllTypes, 4},
		{"bools", "operand h bool[64]; result z bool[64]", "for i < 64 {; z[i] = bool not(h[i]); }", loop.AllTypes, 32},
		{"shorts", "operand h i16[64]; result z u8[64]", "for i < 64 {; z[i] = u8 cast(h[i]); }", loop.AllTypes, 16},
		{"bytes and sums", "operand h u8[64]; result z i32[64]", "for i < 64 {; z[i] = i32 add(i32 cast(h[i]), z[i]); }", loop.AllTypes, 8},
		{"wide integers", "operand h i64[64]; result z i64[64]", "for i < 64 {; z[i] = i64 add(h[i], h[0]); }", loop.AllTypes, 4},
		{"a comparison of wide floats", "operand h f64[64]; result z bool[64]", "for i < 64 {; z[i] = bool lt(h[i], h[0]); }", loop.AllTypes, 4},
		{"types that the chip has no vectors of", "operand h u8[64]; result z u8[64]", "for i < 64 {; z[i] = h[i]; }", loop.Floats, 0},
		{"quotients", "operand h i32[64]; result z i32[64]", "for i < 64 {; z[i] = i32 div(h[i], i32:3); }", loop.AllTypes, 0},
		{"a loaded index", "operand h i64[64]; result z f32[64]", "for i < 64 {; bind g = h[i] in 0..63; z[i] = x[g]; }", loop.AllTypes, 0},
	} {
		k, err := loop.Parse(kernelText{head: c.head, body: c.body}.text())
		require.NoError(t, err, c.what)
		got := loop.Vectorise(k.Body, 8, loop.Vectors{Types: c.types}, k.Facts)
		assert.Equal(t, c.want, got[0].(loop.For).Lanes, c.what)
	}
}

// TestBehind: steps behind the last whole vector of a loop that stores to a local array are a shorter vector, and steps one by one behind that.
func TestBehind(t *testing.T) {
	for _, c := range []struct {
		body    string
		lanes   []int64
		extents []string
	}{
		{"array a f32[32]; for i < 21 {; a[i] = x[i]; }", []int64{8, 4}, []string{"16", "5"}},
		{"array a f32[32]; for i < 19 {; a[i] = x[i]; }", []int64{8}, []string{"19"}},
		{"array a f32[32]; for i < 16 {; a[i] = x[i]; }", []int64{8}, []string{"16"}},
		{"for i < 21 {; y[i] = x[i]; }", []int64{8}, []string{"21"}},
		{"for i < 21 {; y[i] = f32 add(x[i], y[i]); }", []int64{8, 4}, []string{"16", "5"}},
	} {
		k, err := loop.Parse(kernelText{body: c.body}.text())
		require.NoError(t, err, c.body)
		var lanes []int64
		var extents []string
		for _, s := range loop.Vectorise(k.Body, 8, loop.AllVectors, k.Facts) {
			if l, ok := s.(loop.For); ok {
				lanes, extents = append(lanes, l.Lanes), append(extents, l.Extent.String())
			}
		}
		assert.Equal(t, c.lanes, lanes, c.body)
		assert.Equal(t, c.extents, extents, c.body)
	}
}

// TestApart: lanes that lie some apart are loaded together where vectors can be loaded so.
func TestApart(t *testing.T) {
	for _, c := range []struct {
		at   string
		most int64
		want int64
	}{{"2*i", 4, 8}, {"4*i", 4, 8}, {"5*i", 4, 0}, {"3*i", 2, 0}, {"2*i", 0, 0}, {"i", 0, 8}} {
		k, err := loop.Parse(kernelText{body: "for i < 8 {; y[i] = x[" + c.at + "]; }"}.text())
		require.NoError(t, err, c.at)
		got := loop.Vectorise(k.Body, 8, loop.Vectors{Types: loop.AllTypes, Apart: c.most}, k.Facts)
		assert.Equal(t, c.want, got[0].(loop.For).Lanes, "%s, at most %d", c.at, c.most)
	}
}

// TestHalves: a buffer's halves, of which each is in turn the one before, are read and stored in vectors: what another step of the loop stores lies in neither's place.
func TestHalves(t *testing.T) {
	for _, c := range []struct {
		from, to string
		want     int64
	}{
		{"8*((t + 1) % 2) + i", "8*(t % 2) + i", 8},
		{"16*((t + 1) % 2) + i", "16*(t % 2) + i", 8},
		{"4*((t + 1) % 2) + i", "4*(t % 2) + i", 0},
		{"8*((t + 1) % 2) + i + 2", "8*(t % 2) + i", 0},
		{"8*((t + 1) % 2) + 7 - i", "8*(t % 2) + i", 0},
	} {
		k, err := loop.Parse(kernelText{body: "array a f32[64]; for t < 4 {; for i < 8 {; a[" + c.to + "] = f32 add(x[i], a[" + c.from + "]); }; }"}.text())
		require.NoError(t, err, c.from)
		body := loop.Vectorise(k.Body, 8, loop.AllVectors, k.Facts)
		inner := body[len(body)-1].(loop.For).Body[0].(loop.For)
		assert.Equal(t, c.want, inner.Lanes, "%s to %s", c.from, c.to)
	}
}

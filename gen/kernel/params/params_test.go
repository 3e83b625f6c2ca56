package params

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func space() *Space {
	return &Space{Algorithm: "product across", Params: []Param{{"rows", []int64{1, 2, 6}}, {"vectors", []int64{1, 4}}},
		Fits: func(v []int64) bool { return v[0]*v[1] <= 12 }}
}

func TestText(t *testing.T) {
	p := space().Of(6, 1)
	assert.Equal(t, "product across rows=6 vectors=1", p.String())
	back, err := Parse(p.String())
	require.NoError(t, err)
	assert.Equal(t, p, back)
	require.NoError(t, space().Check(back))
	n, ok := back.Get("vectors")
	assert.True(t, ok)
	assert.Equal(t, int64(1), n)
	_, ok = back.Get("tasks")
	assert.False(t, ok)
	_, ok = (*Point)(nil).Get("rows")
	assert.False(t, ok, "nothing is given")
	assert.EqualValues(t, n, back.Or("vectors", n+1))
	assert.EqualValues(t, 7, back.Or("tasks", 7))
	assert.EqualValues(t, 7, (*Point)(nil).Or("rows", 7))
}

func TestParseErrors(t *testing.T) {
	for text, want := range map[string]string{
		"":                                  "want an algorithm and its parameters",
		"rows=6":                            `"rows=6" is not NAME=NUMBER`,
		"product rows=":                     `"rows=" is not NAME=NUMBER`,
		"product rows=x":                    "is not NAME=NUMBER",
		"product =3":                        "is not NAME=NUMBER",
		"product rows=99999999999999999999": "is not NAME=NUMBER",
		"product rows=1 across":             `"across" is not NAME=NUMBER`,
		"product rows=1 rows=2":             "rows is given twice",
		"product  rows=1":                   "with one space between them",
		"product rows=+1":                   "with one space between them",
		strings.Repeat("x", 600):            "parameters of 600 bytes; want at most 512",
	} {
		_, err := Parse(text)
		assert.ErrorContains(t, err, want, text)
	}
}

func TestCheck(t *testing.T) {
	for text, want := range map[string]string{
		"product rows=6 vectors=1":        "does not have the parameters of product across; want rows, vectors",
		"product across rows=6":           "want rows, vectors",
		"product across vectors=1 rows=6": "want rows, vectors",
		"product across rows=3 vectors=1": `rows=3 in "product across rows=3 vectors=1": want one of 1, 2, 6`,
		"product across rows=6 vectors=4": "cannot be combined",
	} {
		p, err := Parse(text)
		require.NoError(t, err)
		err = space().Check(p)
		assert.ErrorContains(t, err, want, text)
		assert.ErrorAs(t, err, new(*Error))
	}
}

func TestAscending(t *testing.T) {
	assert.Equal(t, []int64{0, 1, 4}, Ascending(4, 1, 0, 1))
}

package jsonfile_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"rules_dnn/gen/base/jsonfile"
)

type facts struct {
	Name   string             `json:"name"`
	Lines  int                `json:"lines"`
	Rate   float64            `json:"rate"`
	Small  uint8              `json:"small"`
	Fast   bool               `json:"fast"`
	Flags  []string           `json:"flags"`
	By     map[string]int     `json:"by"`
	Within *struct{ N int64 } `json:"within"`
}

func TestParse(t *testing.T) {
	f := facts{Lines: 3, Rate: 1}
	require.NoError(t, jsonfile.Parse([]byte("{\"name\": \"x\", \"rate\": 2.5, \"within\": {\"N\": 7}}\n\n"), &f))
	require.Equal(t, "x", f.Name)
	require.Equal(t, 3, f.Lines, "what is left out stays")
	require.Equal(t, 2.5, f.Rate)
	require.Equal(t, int64(7), f.Within.N)
}

// TestRefused: an error says where and what, and names nothing of Go.
func TestRefused(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"nothing", "", "it is empty; want JSON"},
		{"spaces", " \n\t", "it is empty; want JSON"},
		{"a part", "{\n\"name\": \"x\",\n", "its JSON is cut off at line 2"},
		{"another format", "name = x\n", "line 1: malformed JSON: invalid character 'a' in literal null (expecting 'u')"},
		{"a comma too many", "{\n\"lines\": 1,\n}\n", "line 3: malformed JSON: invalid character '}' looking for beginning of object key string"},
		{"an unknown member", "{\n\"name\": \"x\",\n\"nmae\": 1\n}", `unknown field "nmae"`},
		{"trailing data", "{}\n{}\n", "line 2: trailing data after the JSON object"},
		{"trailing brackets", "{}]", "line 1: trailing data after the JSON object"},
		{"a list for an object", "[]", "line 1: it is a list; want an object"},
		{"a number for an object", "7", "line 1: it is the number; want an object"},
		{"a number for a string", "{\n\n\"name\": 7}", "line 3: name is the number; want a string"},
		{"a string for a number", `{"rate": "2"}`, "line 1: rate is a string; want a number"},
		{"a fraction for an integer", `{"lines": 1.5}`, "line 1: lines is the number 1.5; want an integer of 64 bits"},
		{"a number that is too large", `{"small": 256}`, "line 1: small is the number 256; want an unsigned integer of 8 bits"},
		{"a list for true or false", `{"fast": []}`, "line 1: fast is a list; want true or false"},
		{"true for a list", `{"flags": true}`, "line 1: flags is true or false; want a list"},
		{"an object for a string in a list", `{"flags": ["x", {}]}`, "line 1: flags is an object; want a string"},
		{"a list for a map", `{"by": []}`, "line 1: by is a list; want an object"},
		{"a member of a member", `{"within": {"N": "x"}}`, "line 1: within.N is a string; want an integer of 64 bits"},
	} {
		t.Run(c.name, func(t *testing.T) {
			require.EqualError(t, jsonfile.Parse([]byte(c.text), &facts{}), c.want)
		})
	}
	require.EqualError(t, jsonfile.Parse([]byte("[] 1"), &[]int{}), "line 1: trailing data after the JSON list")
}

package snippet

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParse(t *testing.T) {
	blocks, err := Parse("a\n```sh run\nls\n```\n```starlark BUILD\nx\n\ny\n```\n```text\n```\n```sh root-skip=too long\nls\n```\n")
	require.NoError(t, err)
	require.Equal(t, []Block{
		{Line: 2, Language: "sh", Mark: Run, Text: "ls\n"},
		{Line: 5, Language: "starlark", Mark: File, Name: "BUILD", Text: "x\n\ny\n"},
		{Line: 10, Language: "text"},
		{Line: 12, Language: "sh", Mark: RootSkip, Reason: "too long", Text: "ls\n"},
	}, blocks)
}

func TestBad(t *testing.T) {
	for text, want := range map[string]string{
		"```\n```\n":               "1: the block has no language",
		"\n```sh\nls\n```\n":       "2: the block wants a mark",
		"```sh skip=\nls\n```\n":   "1: skip wants a reason",
		"```sh run twice\n```\n":   "1: want a file's name",
		"```text\nno end\n":        "1: the block does not end",
		"```sh later=because\n```": "1: want a file's name",
	} {
		_, err := Parse(text)
		require.ErrorContains(t, err, want, "%q", text)
	}
}

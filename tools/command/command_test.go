package command

import (
	"errors"
	"flag"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestParse: --help prints what there is, and a wrong option prints nothing.
func TestParse(t *testing.T) {
	for _, c := range []struct{ arg, fails, help string }{
		{"-n=3", "", ""},
		{"-n=x", "invalid value", ""},
		{"-m=3", "flag provided but not defined: -m", ""},
		{"--help", flag.ErrHelp.Error(), "usage: it\n  -n int\n    \thow many (default 2)\n"},
	} {
		fs := Options("it")
		n := fs.Int("n", 2, "how many")
		var help strings.Builder
		err := Parse(fs, []string{c.arg}, "usage: it\n", &help)
		assert.Equal(t, c.help, help.String(), c.arg)
		if c.fails != "" {
			require.ErrorContains(t, err, c.fails, c.arg)
			continue
		}
		require.NoError(t, err)
		assert.Equal(t, 3, *n)
	}
}

// TestStatus: what a command looks for is told from what goes wrong.
func TestStatus(t *testing.T) {
	found := errors.New("found")
	assert.Equal(t, 1, status(fmt.Errorf("twice: %w", found), found))
	assert.Equal(t, 2, status(errors.New("no such file"), found))
}

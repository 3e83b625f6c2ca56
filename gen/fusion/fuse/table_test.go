package fuse

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/ops"
)

// printed is table 3.3 of the dissertation: a row for each first operator, a column for each second.
const printed = `
              One-to-One    One-to-Many   Many-to-Many  Reorganize    Shuffle
One-to-One    One-to-One    One-to-Many   Many-to-Many  Reorganize    Shuffle
One-to-Many   One-to-Many   One-to-Many   x             One-to-Many   One-to-Many
Many-to-Many  Many-to-Many  Many-to-Many  x             Many-to-Many  Many-to-Many
Reorganize    Reorganize    One-to-Many   Many-to-Many  Reorganize    Reorganize
Shuffle       Shuffle       One-to-Many   Many-to-Many  Reorganize    Shuffle
`

func TestTableIsThePapers(t *testing.T) {
	types := map[string]ops.MappingType{}
	for m := ops.OneToOne; m <= ops.ManyToMany; m++ {
		types[m.String()] = m
	}
	lines := strings.Split(strings.TrimSpace(printed), "\n")
	second := strings.Fields(lines[0])
	require.Len(t, lines, 6)
	for _, line := range lines[1:] {
		fields := strings.Fields(line)
		require.Len(t, fields, 6)
		for i, want := range fields[1:] {
			got := table[types[fields[0]]][types[second[i]]]
			name := fields[0] + " before " + second[i]
			if want == "x" {
				assert.Equal(t, stop, got.verdict, name)
				continue
			}
			assert.NotEqual(t, stop, got.verdict, name)
			assert.Equal(t, want, got.result.String(), name)
		}
	}
}

// TestVerdicts states the colours that the paper's text gives in words.
func TestVerdicts(t *testing.T) {
	for m := ops.OneToOne; m <= ops.ManyToMany; m++ {
		assert.Equal(t, through, table[oneToOne][m].verdict, "One-to-One fuses with any type")
		assert.Equal(t, through, table[m][oneToOne].verdict, "any type fuses with One-to-One")
	}
	for _, m := range []ops.MappingType{reorganize, shuffle} {
		assert.Equal(t, depend, table[m][oneToMany].verdict)
		assert.Equal(t, depend, table[m][manyToMany].verdict)
	}
	assert.Equal(t, depend, table[manyToMany][oneToMany].verdict, "a Resize after a Conv may read badly")
}

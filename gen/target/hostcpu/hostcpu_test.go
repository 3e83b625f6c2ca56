package hostcpu

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestHas(t *testing.T) {
	const info = "processor\t: 0\nmodel name\t: flags of fma\nflags\t\t: fpu avx2 avx512f avx512_vnni\n\nprocessor\t: 1\nflags\t\t: fpu fma\n"
	for _, c := range []struct {
		info     string
		features []string
		want     bool
	}{
		{info, nil, true},
		{info, []string{"avx2", "avx512vnni"}, true},
		{info, []string{"avx512_vnni"}, true},
		{info, []string{"avx2", "fma"}, false}, // of another processor, and in another line
		{info, []string{"avx"}, false},
		{"", nil, true},
		{"", []string{"avx2"}, false},
		{"Features\t: asimd fma\n", []string{"fma"}, false},
	} {
		assert.Equal(t, c.want, all(c.info, c.features), "%v in %q", c.features, c.info)
	}
	assert.True(t, Runs(runtime.GOARCH))
	assert.False(t, Runs("pdp11"))
	assert.False(t, Has("no such feature"))
}

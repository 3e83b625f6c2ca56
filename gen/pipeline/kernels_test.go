package pipeline

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/kernel/loop"
)

// dumpedKernels are the kernels in a dump, each with the comments before it.
var dumpedKernels = regexp.MustCompile(`(?ms)^(?:# [^\n]*\n)+kernel .*?^}\n`)

// TestDumpedKernels: from selection on a dump ends with the text of each kernel once, which is read back, under what runs it.
func TestDumpedKernels(t *testing.T) {
	dumps := func() map[string]string {
		out := map[string]string{}
		_, err := Run(CompilePasses, parse(t, network), Options{Dump: []string{all}, Emit: func(_ int, pass, text string) error {
			out[pass] = text
			return nil
		}})
		require.NoError(t, err)
		return out
	}
	all, again := dumps(), dumps()
	assert.Equal(t, all, again)
	for pass, user := range map[string]string{
		"select": `# block 0: Conv "conv"`, "lower": `# step 0: Conv "conv"`, "inplace": `# step 0: Conv "conv"`, "plan": `# step 0: Conv "conv"`,
	} {
		texts := dumpedKernels.FindAllString(all[pass], -1)
		assert.Greater(t, len(texts), 5, pass)
		seen := map[string]bool{}
		for _, text := range texts {
			k, err := loop.Parse(text)
			require.NoError(t, err, text)
			require.NoError(t, loop.Verify(k), text)
			body := text[strings.Index(text, "kernel "):]
			assert.Equal(t, body, k.String(), pass)
			assert.Regexp(t, `^# (block|step) [0-9]+: `, text)
			seen[text] = true
		}
		assert.Len(t, seen, len(texts), "%s: each kernel is listed once", pass)
		assert.Contains(t, all[pass], "\n"+user)
		assert.True(t, strings.HasSuffix(all[pass], texts[len(texts)-1]), pass)
	}
	assert.NotContains(t, all["fuse"], "\nkernel ")
}

// Package sanitizers tests that sanitizers see what they are for: kernels and the runtime.
package sanitizers

import (
	"bytes"
	"debug/elf"
	"flag"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var (
	every = flag.String("every", "", "what each object's instrumentation calls")
	some  = flag.String("some", "", "what the instrumentation of some object calls")
)

// member is a file of a static library.
type member struct {
	name string
	data []byte
}

// members reads a static library.
func members(t *testing.T, file string) []member {
	t.Helper()
	const magic, headerBytes = "!<arch>\n", 60
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	data, ok := bytes.CutPrefix(data, []byte(magic))
	require.True(t, ok, "%s is no static library", file)
	var list []member
	var names string
	for len(data) > headerBytes {
		header := string(data[:headerBytes])
		size, err := strconv.Atoi(strings.TrimSpace(header[48:58]))
		require.NoError(t, err)
		m := member{strings.TrimSpace(header[:16]), data[headerBytes : headerBytes+size]}
		data = data[min(len(data), headerBytes+size+size%2):]
		switch {
		case m.name == "//":
			names = string(m.data)
		case m.name == "/": // the table of symbols
		default:
			if at, err := strconv.Atoi(strings.TrimPrefix(m.name, "/")); err == nil {
				m.name, _, _ = strings.Cut(names[at:], "\n")
			}
			m.name = strings.TrimSuffix(m.name, "/")
			list = append(list, m)
		}
	}
	return list
}

// calls says whether an object refers to a function whose name begins so.
func calls(t *testing.T, m member, prefix string) bool {
	t.Helper()
	f, err := elf.NewFile(bytes.NewReader(m.data))
	require.NoError(t, err, m.name)
	symbols, err := f.Symbols()
	require.NoError(t, err, m.name)
	for _, s := range symbols {
		if s.Section == elf.SHN_UNDEF && strings.HasPrefix(s.Name, prefix) {
			return true
		}
	}
	return false
}

func TestCovered(t *testing.T) {
	if *every+*some == "" {
		t.Skip("use bazel test --config=asan //tests/sanitizers:tests")
	}
	libraries := 0
	for _, file := range flag.Args() {
		if filepath.Ext(file) != ".a" {
			continue // the header and the like
		}
		libraries++
		objects, covered := 0, 0
		for _, m := range members(t, file) {
			if strings.Contains(m.name, ".weights.") {
				continue // no code
			}
			objects++
			if calls(t, m, *every+*some) {
				covered++
			} else {
				assert.Empty(t, *every, "%s in %s is not instrumented", m.name, file)
			}
		}
		t.Logf("%s: %d of %d objects are instrumented", file, covered, objects)
		assert.NotZero(t, covered, file)
	}
	assert.Equal(t, 2, libraries, "libraries of a model and of the runtime in %v", flag.Args())
}

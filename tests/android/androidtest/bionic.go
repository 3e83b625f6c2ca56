// Package androidtest stands in for the Android NDK in tests: what models and the runtime need of
// Android's C library, bionic, and checks of libraries that were linked for Android.
//
// The headers in bionic/include are our own. They declare what the runtime uses, with bionic's types
// and constants for 64-bit processors at API level 21. bionic/NAME.txt lists functions that libNAME.so has
// there: none that came later, and no more than models may need. Where the runtime comes to use another
// function, see in which API level bionic got it, and add it to both.
package androidtest

import (
	"embed"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// APILevel is Android 5.0: the oldest for which models are built.
const APILevel = "21"

// ABI is a kind of processor, as the NDK knows it.
type ABI struct {
	CPU    string // Bazel's name
	Triple string // clang's, without the API level
	// Builtins are functions that clang's own library has for what is no instruction of the oldest
	// processors. It is the compiler's, not the C++ library's: clang links it always.
	Builtins []string
}

// ABIs are all for which models are built.
var ABIs = []ABI{
	{"aarch64", "aarch64-linux-android", []string{
		"__aarch64_ldadd4_acq_rel", "__aarch64_ldadd4_relax", "__aarch64_ldadd4_acq", "__aarch64_ldadd4_rel", "__aarch64_swp4_acq_rel",
		"__aarch64_cas8_acq_rel", "__aarch64_cas8_relax", "__aarch64_ldadd8_acq_rel", "__aarch64_ldclr8_acq_rel", "__aarch64_swp8_acq_rel",
	}},
	{"x86_64", "x86_64-linux-android", nil},
}

//go:embed bionic
var bionic embed.FS

// Libraries are the names of bionic's libraries.
var Libraries = []string{"c", "dl", "m"}

// Functions lists what one of bionic's libraries has.
func Functions(t testing.TB, library string) []string {
	t.Helper()
	data, err := bionic.ReadFile("bionic/" + library + ".txt")
	require.NoError(t, err)
	return strings.Fields(string(data))
}

// WriteHeaders writes bionic's headers to a folder.
func WriteHeaders(t testing.TB, dir string) {
	t.Helper()
	headers, err := fs.Sub(bionic, "bionic/include")
	require.NoError(t, err)
	require.NoError(t, fs.WalkDir(headers, ".", func(path string, entry fs.DirEntry, err error) error {
		to := filepath.Join(dir, path)
		if err != nil || entry.IsDir() {
			return os.MkdirAll(to, 0o755)
		}
		data, err := fs.ReadFile(headers, path)
		if err != nil {
			return err
		}
		return os.WriteFile(to, data, 0o644)
	}))
}

package androidtest

import (
	"debug/elf"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// pageBytes is the largest page of Android's devices.
const pageBytes = 16 << 10

// CheckLibrary checks a shared library or a program: that devices load it, that it shows exactly the functions of
// exports, and needs nothing that devices lack.
func CheckLibrary(t testing.TB, file string, abi ABI, exports []string) {
	t.Helper()
	f, err := elf.Open(file)
	require.NoError(t, err)
	defer f.Close()
	assert.Equal(t, elf.ET_DYN, f.Type)
	assert.Equal(t, map[string]elf.Machine{"aarch64": elf.EM_AARCH64, "x86_64": elf.EM_X86_64}[abi.CPU], f.Machine)
	checkSegments(t, f)
	checkRelocations(t, f)
	checkSymbols(t, f, abi, exports)
}

// checkSegments: a device maps whole pages, each with one protection.
func checkSegments(t testing.TB, f *elf.File) {
	t.Helper()
	loads := 0
	for i, p := range f.Progs {
		switch p.Type {
		case elf.PT_LOAD:
			loads++
			assert.Zero(t, p.Align%pageBytes, "LOAD segment %d is aligned to %d bytes: devices with pages of 16 KB do not load it", i, p.Align)
			assert.Equal(t, p.Off%pageBytes, p.Vaddr%pageBytes, "LOAD segment %d lies elsewhere in its page in the file", i)
			assert.NotEqual(t, elf.PF_W|elf.PF_X, p.Flags&(elf.PF_W|elf.PF_X), "LOAD segment %d is written and executed", i)
		case elf.PT_GNU_STACK:
			assert.Zero(t, p.Flags&elf.PF_X, "the stack is executable: some object has no .note.GNU-stack")
		}
	}
	assert.NotZero(t, loads)
}

// checkRelocations: Android loads no library whose code must be changed at load time.
func checkRelocations(t testing.TB, f *elf.File) {
	t.Helper()
	for _, tag := range []elf.DynTag{elf.DT_TEXTREL, elf.DT_FLAGS} {
		values, err := f.DynValue(tag)
		require.NoError(t, err)
		for _, v := range values {
			assert.False(t, tag == elf.DT_TEXTREL || elf.DynFlag(v)&elf.DF_TEXTREL != 0, "the code has relocations")
		}
	}
}

func checkSymbols(t testing.TB, f *elf.File, abi ABI, exports []string) {
	t.Helper()
	symbols, err := f.DynamicSymbols()
	require.NoError(t, err)
	known := slices.Clone(abi.Builtins)
	for _, library := range Libraries {
		known = append(known, Functions(t, library)...)
	}
	var shown []string
	for _, s := range symbols {
		switch {
		case s.Section != elf.SHN_UNDEF:
			shown = append(shown, s.Name)
		case elf.ST_BIND(s.Info) == elf.STB_WEAK && (s.Name == "__cxa_finalize" || s.Name == "__cxa_atexit"):
			// What the NDK's start files call where it is there.
		default:
			assert.True(t, slices.Contains(known, s.Name), "the library needs %s, which is not on the list of what API level %s has (see this package's comment)", s.Name, APILevel)
		}
	}
	assert.ElementsMatch(t, exports, shown, "functions that the library shows")
}

// CheckObject checks an object: nothing runs when the library is loaded.
func CheckObject(t testing.TB, file string) {
	t.Helper()
	f, err := elf.Open(file)
	require.NoError(t, err)
	defer f.Close()
	for _, s := range f.Sections {
		assert.NotContains(t, []elf.SectionType{elf.SHT_INIT_ARRAY, elf.SHT_PREINIT_ARRAY}, s.Type, "%s has an initialiser", file)
		assert.Zero(t, s.Flags&elf.SHF_TLS, "%s has a thread's variable: Android %s emulates them by functions of a library", file, APILevel)
	}
}

// Exports lists the C functions that a model's header declares, all of which begin with a prefix.
func Exports(t testing.TB, header, prefix string) []string {
	t.Helper()
	data, err := os.ReadFile(header)
	require.NoError(t, err)
	c, _, _ := strings.Cut(string(data), "\nnamespace ")
	declared := regexp.MustCompile(`(?m)^[a-z][^/\n]*?\b(`+prefix+`_\w+)\(`).FindAllStringSubmatch(c, -1)
	var names []string
	for _, m := range declared {
		names = append(names, m[1])
	}
	require.Greater(t, len(names), 10, "functions in %s", header)
	return names
}

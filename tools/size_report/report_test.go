package main

import (
	"bytes"
	"debug/elf"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/emit/manifest"
)

const loaded = elf.SHF_ALLOC

// kernels is an object of kernels: two functions, one of them with two names, and one that other
// objects have too.
var kernels = object{
	machine: elf.EM_AARCH64,
	sections: []section{
		{".text", elf.SHT_PROGBITS, loaded | elf.SHF_EXECINSTR, 1000},
		{".text.part", elf.SHT_PROGBITS, loaded | elf.SHF_EXECINSTR, 100},
		{".rodata.cst16", elf.SHT_PROGBITS, loaded, 48},
		{".eh_frame", elf.SHT_PROGBITS, loaded, 56},
		{".debug_info", elf.SHT_PROGBITS, 0, 5000},
	},
	symbols: []symbol{
		{"_Z9net_k_111PKfl", elf.STT_FUNC, 1, 0, 600},
		{"_Z5alias", elf.STT_FUNC, 1, 0, 600},
		{"_ZL7fma_4x4PKf", elf.STT_FUNC, 1, 600, 300},
		{"_Z9net_k_222PKfl", elf.STT_FUNC, 2, 0, 100},
		{"net_table", elf.STT_OBJECT, 3, 0, 48},
		{"memcpy", elf.STT_FUNC, 0, 0, 0},
	},
}

var (
	others = object{
		machine: elf.EM_AARCH64,
		sections: []section{
			{".text", elf.SHT_PROGBITS, loaded | elf.SHF_EXECINSTR, 400},
			{".data.rel.ro", elf.SHT_PROGBITS, loaded | elf.SHF_WRITE, 32},
			{".bss", elf.SHT_NOBITS, loaded | elf.SHF_WRITE, 8},
			{".gnu.hash", elf.SHT_GNU_HASH, loaded, 20},
		},
		symbols: []symbol{{"_ZN12_GLOBAL__N_16Block0E", elf.STT_FUNC, 1, 0, 100}, {"_ZL7fma_4x4PKf", elf.STT_FUNC, 1, 100, 300}},
	}
	embedded = object{
		machine:  elf.EM_AARCH64,
		sections: []section{{".rodata.net_weights", elf.SHT_PROGBITS, loaded, 4000}},
		symbols:  []symbol{{"net_weights", elf.STT_OBJECT, 1, 0, 4000}},
	}
)

const blocks = `{"arena_bytes": "1100", "arena_lower_bound_bytes": "1000", "scratch_bytes_per_worker": "64*N", "blocks": [
	{"kernel": "net_k_111", "nodes": ["Conv \"first\"", "Relu \"r\""], "ops": ["Conv", "Relu"]},
	{"kernel": "net_k_111", "nodes": ["Conv \"second\"", "Relu \"s\""], "ops": ["Conv", "Relu"]},
	{"kernel": "net_k_222", "nodes": [], "ops": ["Layout"]}]}`

const library = `      1500  code
        48  constants
      4000  weights
        32  data, written when loaded or run
         8  zeros, which take no place in the file
        56  tables to unwind the stack
        20  symbols and tables of the linker
      5664  bytes of all
`

// inFolder writes files into an empty folder, in which the test runs then.
func inFolder(t *testing.T, files map[string][]byte) {
	t.Helper()
	t.Chdir(t.TempDir())
	t.Setenv("BUILD_WORKING_DIRECTORY", "")
	for name, data := range files {
		require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o777))
		require.NoError(t, os.WriteFile(name, data, 0o666))
	}
}

func sizeReport(args ...string) (string, error) {
	var out bytes.Buffer
	err := run(args, &out)
	return out.String(), err
}

// trimmed leaves out what aligns columns.
func trimmed(s string) string {
	var lines []string
	for _, line := range strings.Split(s, "\n") {
		lines = append(lines, strings.TrimLeft(line, " "))
	}
	return strings.Join(lines, "\n")
}

// TestReport: a library as ar writes it on Linux and on BSD, its manifest, and how much of it is
// printed.
func TestReport(t *testing.T) {
	const long = "net_kernels_of_a_long_name.o"
	inFolder(t, map[string][]byte{
		"net/libnet.a": archive(archived("/", []byte("index")), archived("//", []byte("short/\n"+long+"/\n")),
			archived("/7", kernels.file()), archived("program.o/", others.file()), archived("net_profile.o/", kernels.file()), archived("weights.o/", embedded.file())),
		"bsd.a": archive(archived("__.SYMDEF", []byte("index")), archived("#1/28", append([]byte(long), kernels.file()...)),
			archived("program.o", others.file()), archived("weights.o", embedded.file())),
		"net/net.manifest.json": []byte(blocks),
		"net/net.h":             []byte("int x;"),
		"kernels.o":             kernels.file(),
	})
	out, err := sizeReport("net")
	require.NoError(t, err)
	assert.Equal(t, trimmed("libnet.a, for AARCH64\n"+library+`A run uses 1100 bytes for values; 1000 bytes are live at the same time (ratio 1.10), and 64*N a thread.

4 functions, the largest first
  600  fma_4x4 (2 copies)
  600  net_k_111: Conv "first", Relu and 1 more
  100  (anonymous)::Block0
  100  net_k_222: Layout
  100  between functions, or without a name
`), trimmed(out))

	out, err = sizeReport("--functions=1", "bsd.a")
	require.NoError(t, err)
	assert.Equal(t, trimmed("bsd.a, for AARCH64\n"+library+`
4 functions, the largest first
600  fma_4x4 (2 copies)
800  3 more functions
100  between functions, or without a name
`), trimmed(out))

	out, err = sizeReport("--functions=0", "--max-code=1100", "kernels.o")
	require.NoError(t, err)
	assert.Equal(t, "kernels.o, for AARCH64\n1100 code\n48 constants\n56 tables to unwind the stack\n1204 bytes of all\n",
		strings.ReplaceAll(trimmed(out), "  ", " "))
	_, err = sizeReport("--max-code=1099", "kernels.o")
	assert.ErrorIs(t, err, errTooLarge)
	assert.EqualError(t, err, "too much code: 1100 bytes; --max-code allows 1099")
}

// TestFolder: paths are those of the folder that bazel run is called in.
func TestFolder(t *testing.T) {
	inFolder(t, map[string][]byte{"a/kernels.o": kernels.file()})
	folder, err := os.Getwd()
	require.NoError(t, err)
	t.Setenv("BUILD_WORKING_DIRECTORY", filepath.Join(folder, "a"))
	for _, path := range []string{"kernels.o", ".", filepath.Join(folder, "a")} {
		out, err := sizeReport(path)
		require.NoError(t, err)
		assert.Contains(t, out, "1100  code")
	}
}

// TestStripped: what is not known is said.
func TestStripped(t *testing.T) {
	o := embedded
	o.stripped = true
	inFolder(t, map[string][]byte{"lib.so": o.file()})
	out, err := sizeReport("lib.so")
	require.NoError(t, err)
	assert.Contains(t, out, "4000  constants\n")
	assert.Contains(t, out, "A file has no symbols")
}

// TestErrors: files that are something else, or not whole.
func TestErrors(t *testing.T) {
	x86 := kernels
	x86.machine = elf.EM_X86_64
	whole := archive(archived("kernels.o/", kernels.file()))
	inFolder(t, map[string][]byte{
		"thin.a": []byte(thinMagic), "mac.o": []byte(machoMagic + "more bytes"), "text": []byte("no library at all"), "empty": nil,
		"cut.a": whole[:len(whole)-100], "odd.a": append(whole, "some text that is no member of an archive, but longer than a header"...),
		"name.a": archive(archived("/99", nil)), "bsdname.a": archive(archived("#1/99", nil)), "object.a": archive(archived("x.o/", []byte("text"))),
		"kernels.o": kernels.file(), "x86.o": x86.file(), "cut.o": kernels.file()[:80],
		"bad.manifest.json": []byte("{"), "net.manifest.json": []byte(blocks), "folder/readme": nil,
	})
	for _, c := range []struct{ args, want string }{
		{"", "no file is given; '--help' has examples"},
		{"none.a", "none.a: no such file"},
		{"thin.a", "thin.a is a thin archive"},
		{"mac.o", "mac.o is of macOS or iOS; supported are ELF files"},
		{"text", "text is no library: want an archive"},
		{"empty", "empty: EOF"},
		{"cut.a", "cut.a: at byte 68: a member has"},
		{"odd.a", "no header of a member"},
		{"name.a", `a member's name is "/99"`},
		{"bsdname.a", `a member's name is "#1/99"`},
		{"object.a", "object.a(x.o): "},
		{"cut.o", "cut.o: "},
		{"kernels.o x86.o", "x86.o: the file is for EM_X86_64, what was read before it for EM_AARCH64"},
		{"bad.manifest.json", "bad.manifest.json: unexpected EOF"},
		{"net.manifest.json", "no library among [net.manifest.json]"},
		{"folder", "no library among []"},
		{"--functions=-1 kernels.o", "want numbers of at least 0"},
		{"--what kernels.o", "flag provided but not defined: -what"},
	} {
		_, err := sizeReport(strings.Fields(c.args)...)
		require.ErrorContains(t, err, c.want, c.args)
		require.NotErrorIs(t, err, errTooLarge)
	}
}

// TestNames: what C++ makes of names, and what stays.
func TestNames(t *testing.T) {
	for symbol, want := range map[string]string{
		"net_program":                     "net_program",
		"_Z13net_k_0123456PKfS0_Pfll":     "net_k_0123456",
		"_ZL7fma_4x4PKfS0_Pf":             "fma_4x4",
		"_ZL7fma_4x4PKfS0_Pf.cold":        "fma_4x4.cold",
		"_ZN12_GLOBAL__N_16Block1EPK3ctx": "(anonymous)::Block1",
		"_ZN3dnn2v14Pool3RunEl":           "dnn::v1::Pool::Run",
		"_ZNK3dnn4Pool4sizeEv":            "dnn::Pool::size",
		"_ZN3dnn4PoolD2Ev":                "_ZN3dnn4PoolD2Ev",
		"_Z3addIfET_S0_":                  "_Z3addIfET_S0_",
		"_ZplRK1aS1_":                     "_ZplRK1aS1_",
		"_Z99short":                       "_Z99short",
		"_Z":                              "_Z",
	} {
		assert.Equal(t, want, plainName(symbol), symbol)
	}
}

// TestManifest: the report reads what the compiler writes.
func TestManifest(t *testing.T) {
	text, err := json.Marshal(manifest.Manifest{Blocks: []manifest.Block{{Kernel: "k", Nodes: []string{`Add "a"`}, Ops: []string{"Add"}}}})
	require.NoError(t, err)
	var r report
	require.NoError(t, r.addManifest("m", bytes.NewReader(text)))
	assert.Equal(t, map[string][]string{"k": {`Add "a"`}}, r.nodes)
	assert.Empty(t, r.memory)
	assert.Equal(t, "A run uses 64*N bytes for values; 32*N bytes are live at the same time, and 0 a thread.",
		memory(manifest.Manifest{ArenaBytes: "64*N", ArenaLowerBound: "32*N", ScratchBytes: "0"}))
}

func TestHelp(t *testing.T) {
	out, err := sizeReport("--help")
	require.Error(t, err)
	assert.Contains(t, out, "examples, after bazel build")
	assert.Contains(t, out, "-max-code BYTES")
}

// TestVariants: what each chip of a library adds, of its objects in a library, and of its functions
// elsewhere.
func TestVariants(t *testing.T) {
	const two = `{"blocks": [], "variants": [
		{"chip": "least", "kernels": ["net_k_111", "net_k_222", "net_k_111"], "own_kernels": ["net_k_111", "net_k_222"], "weights_bytes": 4000, "own_weights_bytes": 0},
		{"chip": "more", "kernels": ["net_more_k_333", "net_k_222", "net_k_111"], "own_kernels": ["net_more_k_333"], "weights_bytes": 4100, "own_weights_bytes": 100},
		{"chip": "same", "kernels": ["net_k_111", "net_k_222", "net_k_111"], "own_kernels": [], "weights_bytes": 4000, "own_weights_bytes": 0}]}`
	more := others
	more.symbols = []symbol{{"_Z14net_more_k_333PKfl", elf.STT_FUNC, 1, 0, 350}}
	inFolder(t, map[string][]byte{
		"net/libnet.a": archive(archived("//", []byte("net_kernels_0.pic.o/\nnet_more_kernels_0.pic.o/\n")),
			archived("/0", kernels.file()), archived("/21", more.file()), archived("program.o/", others.file())),
		"net/net.manifest.json": []byte(two),
		"more.o":                more.file(),
	})
	out, err := sizeReport("--functions=0", "net")
	require.NoError(t, err)
	assert.Contains(t, out, `Kernels for least: 2 of 2 are its own, of 1100 bytes; of 4000 bytes of constants 0 are read by no other chip's.
Kernels for more: 1 of 3 are its own, of 400 bytes; of 4100 bytes of constants 100 are read by no other chip's.
Kernels for same: 0 of 2 are its own, of 0 bytes; of 4000 bytes of constants 0 are read by no other chip's.
`)
	out, err = sizeReport("--functions=0", "more.o", "net/net.manifest.json")
	require.NoError(t, err)
	assert.Contains(t, out, "Kernels for more: 1 of 3 are its own, of 350 bytes;")
}

package chips

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/target"
)

// compilers are those that a chip's flags are given to, by cpu: the ones of them that are here.
var compilers = map[string][]string{
	"x86_64": {"g++", "g++-12", "g++-13", "g++-14", "g++-15", "clang++", "clang++-16", "clang++-18", "clang++ --target=x86_64-linux-gnu"},
	"arm64":  {"aarch64-linux-gnu-g++", "clang++ --target=aarch64-linux-gnu", "clang++-18 --target=aarch64-linux-gnu"},
}

// checked are the features of which one makes sure of what a compiler says with a macro that it
// may use. A processor with a wide extension has the narrower ones, as System V's levels list
// them.
var checked = map[string][]string{
	"__SSE3__": {"avx2"}, "__SSSE3__": {"avx2"}, "__SSE4_1__": {"avx2"}, "__SSE4_2__": {"avx2"}, "__POPCNT__": {"avx2"}, "__CRC32__": {"avx2"},
	"__AVX__": {"avx2"}, "__XSAVE__": {"avx2"}, "__AVX2__": {"avx2"}, "__FMA__": {"fma"}, "__BMI2__": {"bmi2"}, "__F16C__": {"f16c"},
	"__AVX512F__": {"avx512f"}, "__AVX512BW__": {"avx512bw"}, "__AVX512CD__": {"avx512cd"}, "__AVX512DQ__": {"avx512dq"}, "__AVX512VL__": {"avx512vl"},
	"__EVEX512__": {"avx512f"}, "__EVEX256__": {"avx512f"}, "__AVX512VNNI__": {"avx512vnni"}, "__AVXVNNI__": {"avxvnni"},
	"__AVX512BF16__": {"avx512bf16"}, "__AMX_TILE__": {"amx_tile"}, "__AMX_INT8__": {"amx_int8"}, "__AMX_BF16__": {"amx_bf16"},
	"__ARM_FEATURE_DOTPROD": {"asimddp"}, "__ARM_FEATURE_MATMUL_INT8": {"i8mm"}, "__ARM_FEATURE_FP16_FML": {"asimdfhm"},
}

// known are macros by command line: many chips have the same flags.
var known = map[string][]string{}

// macros are the compiler's own, with some flags.
func macros(t *testing.T, command, flags []string) []string {
	key := strings.Join(slices.Concat(command, flags), " ")
	if known[key] == nil {
		known[key] = ask(t, command, flags)
	}
	return known[key]
}

func ask(t *testing.T, command, flags []string) []string {
	args := slices.Concat(command[1:], flags, []string{"-dM", "-E", "-x", "c++", "/dev/null"})
	out, err := exec.Command(command[0], args...).CombinedOutput()
	require.NoError(t, err, "%s %s: %s", command[0], strings.Join(args, " "), out)
	assert.NotContains(t, string(out), "warning:", "%s %s", command[0], strings.Join(args, " "))
	return strings.Split(strings.TrimSpace(string(out)), "\n")
}

// extension is a macro that names instructions.
var extension = regexp.MustCompile(`^#define (__[A-Z][A-Z0-9_]*__) 1$`)

// unchecked are the instructions that a compiler may use with a chip's flags, for which create()
// does not look.
func unchecked(before, after, features []string) []string {
	var out []string
	for _, line := range after {
		name := extension.FindStringSubmatch(line)
		if name == nil || slices.Contains(before, line) {
			continue
		}
		sure := func(feature string) bool { return slices.Contains(features, feature) }
		if !slices.ContainsFunc(checked[name[1]], sure) {
			out = append(out, name[1])
		}
	}
	return out
}

// TestCopts: compilers know every chip's flags, and create() checks for the instructions that they
// let them use.
func TestCopts(t *testing.T) {
	run := 0
	for _, c := range read(t) {
		x, err := target.Parse(c.Facts)
		require.NoError(t, err)
		for _, compiler := range compilers[x.CPU] {
			command := strings.Fields(compiler)
			if !works(command, x.CPU) {
				continue
			}
			if old, said := olderThan(command, c.Copts); old {
				t.Logf("%s: %s does not know the chip: %s", c.Name, compiler, said)
				continue
			}
			run++
			missing := unchecked(macros(t, command, nil), macros(t, command, c.Copts), x.CPUFeatures)
			assert.Empty(t, missing, "%s: with %s %s may use instructions that cpu_features %v does not make sure of", c.Name, c.Copts, compiler, x.CPUFeatures)
		}
	}
	if run == 0 {
		t.Skip("there is no C++ compiler; bazelw exec runs one")
	}
}

// olderThan reports whether a compiler does not know the processor that flags tune for, as a
// release before the processor's, and returns its message.
func olderThan(command, copts []string) (bool, string) {
	args := slices.Concat(command[1:], copts, []string{"-dM", "-E", "-x", "c++", "/dev/null"})
	out, err := exec.Command(command[0], args...).CombinedOutput()
	said, _, _ := strings.Cut(string(out), "\n")
	return err != nil && unknownTuning.MatchString(said), said
}

// unknownTuning is what g++ and clang print for a processor that they do not know.
var unknownTuning = regexp.MustCompile("unknown value .* for .-mtune|unsupported argument .* to option '-mtune=")

// works reports whether the compiler is here and makes code for the processor.
func works(command []string, cpu string) bool {
	out, err := exec.Command(command[0], append(command[1:], "-dM", "-E", "-x", "c++", "/dev/null")...).Output()
	return err == nil && strings.Contains(string(out), map[string]string{"x86_64": "__x86_64__", "arm64": "__aarch64__"}[cpu])
}

// TestFeatures: the runtime knows what create() asks for; a feature that it does not know is one
// that is lacking.
func TestFeatures(t *testing.T) {
	source, err := os.ReadFile(filepath.Join(root, "runtime/dnn_cpu.cc"))
	require.NoError(t, err)
	for _, c := range read(t) {
		x, err := target.Parse(c.Facts)
		require.NoError(t, err)
		for _, feature := range x.CPUFeatures {
			assert.Contains(t, string(source), `"`+feature+`"`, "%s: runtime/dnn_cpu.cc does not know the feature", c.Name)
		}
	}
}

// TestUnchecked: the comparison finds what is not checked for.
func TestUnchecked(t *testing.T) {
	before := []string{"#define __SSE2__ 1", "#define __GNUC__ 14"}
	after := append(before, "#define __AVX2__ 1", "#define __GFNI__ 1", "#define __GNUC__ 14", "#define __tune_haswell__ 1")
	assert.Equal(t, []string{"__GFNI__"}, unchecked(before, after, []string{"avx2"}))
	assert.Equal(t, []string{"__AVX2__", "__GFNI__"}, unchecked(before, after, []string{"fma"}))
}

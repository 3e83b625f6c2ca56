package chips

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/target"
)

const root = "../../.."

func read(t *testing.T) []Chip {
	all, err := All()
	require.NoError(t, err)
	require.NotEmpty(t, all)
	return all
}

// TestOwnChips: the compiler takes the facts of each, and has an instruction to make tiles of.
func TestOwnChips(t *testing.T) {
	for _, c := range read(t) {
		x, err := target.Parse(c.Facts)
		require.NoError(t, err, c.Name)
		assert.Equal(t, c.Name, x.Name)
		assert.Equal(t, c.Copts, x.Copts, c.Name)
		assert.True(t, x.Tile(ir.F32) != nil || len(x.Dots(ir.I32)) > 0, "%s has no tile instruction", c.Name)
	}
}

// TestOneChipForAPlatform: no platform has the constraints of two chips, so that it does not matter in which order they are registered.
func TestOneChipForAPlatform(t *testing.T) {
	all := read(t)
	for i, a := range all {
		assert.Contains(t, a.Constraints, "@platforms//cpu", a.Name)
		for _, b := range all[:i] {
			differ := slices.ContainsFunc(slices.Collect(maps.Keys(a.Constraints)), func(setting string) bool {
				value, ok := b.Constraints[setting]
				return ok && value != a.Constraints[setting]
			})
			assert.True(t, differ, "a platform may have both %s and %s: give them different values of one setting", a.Name, b.Name)
		}
	}
}

// TestSameAsBazel: this package and Bazel make the same bytes of an entry.
func TestSameAsBazel(t *testing.T) {
	for _, c := range read(t) {
		facts, err := os.ReadFile(filepath.Join(root, "platforms/chips", c.Name+".json"))
		if os.IsNotExist(err) {
			t.Skip("Bazel writes the facts: run bazel test //gen/target/chips:chips_test")
		}
		require.NoError(t, err)
		assert.Equal(t, string(facts), string(c.Facts))
	}
}

func TestFacts(t *testing.T) {
	chip, err := Target("x86_64_v4")
	require.NoError(t, err)
	assert.Equal(t, []any{"x86_64_v4", int64(1 << 20), "-mavx512f", "-mf16c"}, []any{chip.Name, chip.L2, chip.Copts[0], chip.Copts[len(chip.Copts)-1]})

	file := filepath.Join(t.TempDir(), "mine.json")
	require.NoError(t, os.WriteFile(file, []byte(`{"name": "mine", "cpu": "arm64", "vector_bits": 128, "vector_registers": 32}`), 0o644))
	chip, err = Target(file)
	require.NoError(t, err)
	assert.Equal(t, "mine", chip.Name)

	_, err = Target("z80")
	assert.ErrorContains(t, err, `there is no chip "z80"; want a JSON file, or one of platforms/chips/chips.bzl: x86_64, x86_64_v3, `)
	for _, path := range []string{"nowhere.json", "./x86_64", "sub/x86_64"} {
		_, err = Facts(path)
		assert.ErrorIs(t, err, os.ErrNotExist, path)
	}
}

// TestFactsFromAnyFolder finds chips and devices by name, and files whose names have no ending, wherever the program runs.
func TestFactsFromAnyFolder(t *testing.T) {
	t.Chdir(t.TempDir())
	facts, err := Facts("arm64")
	require.NoError(t, err)
	assert.Contains(t, string(facts), `"name": "arm64"`)
	facts, err = DeviceFacts("opencl_pocl")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile("mine", facts, 0o644))
	for _, read := range []func(string) ([]byte, error){Facts, DeviceFacts} {
		same, err := read("mine")
		require.NoError(t, err)
		assert.Equal(t, facts, same)
		_, err = read("nobody.json")
		assert.ErrorIs(t, err, os.ErrNotExist)
	}
	_, err = DeviceFacts("opencl_abacus")
	assert.ErrorContains(t, err, `there is no device "opencl_abacus"; want a JSON file, or one of platforms/devices: opencl_adreno_750, `)
}

// TestDevices finds every file of platforms/devices in the program.
func TestDevices(t *testing.T) {
	names, err := Devices()
	require.NoError(t, err)
	paths, err := filepath.Glob(filepath.Join(root, "platforms/devices/*.json"))
	require.NoError(t, err)
	require.NotEmpty(t, paths)
	var want []string
	for _, p := range paths {
		want = append(want, strings.TrimSuffix(filepath.Base(p), ".json"))
	}
	assert.Equal(t, want, names)
	for _, name := range names {
		facts, err := DeviceFacts(name)
		require.NoError(t, err)
		_, err = target.Parse(facts)
		assert.NoError(t, err, name)
	}
}

const entry = `"constraints": {"c": "d"}, "copts": _A + ["-b"], "facts": _F | {"x": 2 * 3, "y": 0.5}`

// TestData: what data needs is there, each as in Starlark.
func TestData(t *testing.T) {
	all, err := parse("chips.bzl", []byte("\"\"\"Doc.\"\"\"\n# Comment.\n_A = [\"-a\"]\n_F = {\"x\": 1, \"z\": (True)}\nCHIPS = {\"n\": {"+entry+"}, \"m\": {"+entry+"}}\n"))
	require.NoError(t, err)
	require.Len(t, all, 2)
	assert.Equal(t, []string{"n", "m"}, []string{all[0].Name, all[1].Name}, "the file's order")
	assert.Equal(t, []string{"-a", "-b"}, all[0].Copts)
	assert.Equal(t, map[string]string{"c": "d"}, all[0].Constraints)
	assert.JSONEq(t, `{"copts": ["-a", "-b"], "name": "n", "x": 6, "y": 0.5, "z": true}`, string(all[0].Facts))
	assert.True(t, json.Valid(all[1].Facts))
}

// TestVariants: the chips of a library are of one kind of processor, and each can do more than those before it.
func TestVariants(t *testing.T) {
	all, err := All()
	require.NoError(t, err)
	libraries := 0
	for _, c := range all {
		if len(c.Variants) == 0 {
			continue
		}
		libraries++
		last, err := Target(c.Name)
		require.NoError(t, err)
		for _, name := range c.Variants {
			next, err := Target(name)
			require.NoError(t, err, c.Name)
			assert.Equal(t, last.CPU, next.CPU, name)
			for _, f := range last.CPUFeatures {
				assert.Contains(t, next.CPUFeatures, f, "%s has it, and %s comes after it", last.Name, name)
			}
			assert.Greater(t, len(next.CPUFeatures), len(last.CPUFeatures), name)
			last = next
		}
	}
	assert.Equal(t, 2, libraries, "of x86-64 and of 64-bit ARM")
}

// TestRunsOn: a processor says which chips of levels stand for it, and these have its facts.
func TestRunsOn(t *testing.T) {
	all, err := parse("chips.bzl", []byte(`CHIPS = {
    "level": {"copts": ["-a"], "facts": {"x": 1}},
    "one": {"copts": [], "facts": {"x": 2}, "runs": ["level"]},
    "other": {"copts": [], "facts": {"x": 3}, "runs": ["level"]},
}`))
	require.NoError(t, err)
	assert.JSONEq(t, `{"copts": ["-a"], "name": "level", "x": 1, "runs_on": [{"name": "one", "x": 2}, {"name": "other", "x": 3}]}`, string(all[0].Facts))
	assert.JSONEq(t, `{"copts": [], "name": "one", "x": 2}`, string(all[1].Facts))

	var v4 *target.Target
	arm := []string{"arm64_cortex_a55", "arm64_cortex_a76", "arm64_cortex_a78", "arm64_cortex_x1", "arm64_neoverse_n1", "arm64_neoverse_v1", "arm64_neoverse_v2", "arm64_apple_m1"}
	for level, some := range map[string][]string{
		"x86_64_v3":     {"x86_64_haswell", "x86_64_alder_lake", "x86_64_zen2", "x86_64_zen3"},
		"x86_64_v4":     {"x86_64_sapphire_rapids", "x86_64_zen4", "x86_64_zen5"},
		"arm64":         arm,
		"arm64_dotprod": arm,
	} {
		c, err := Target(level)
		require.NoError(t, err)
		var names []string
		for _, p := range c.Processors() {
			names = append(names, p.Name)
		}
		assert.Subset(t, names, some, level)
		if level == "x86_64_v4" {
			v4 = c
		}
	}
	zen, err := Target("x86_64_zen4")
	require.NoError(t, err)
	i := slices.IndexFunc(v4.Processors(), func(p *target.Target) bool { return p.Name == "x86_64_zen4" })
	assert.Equal(t, zen.FMAPerCycle, v4.Processors()[i].FMAPerCycle)
	assert.Same(t, zen, zen.Processors()[0], "it stands for itself")
}

func TestMistakes(t *testing.T) {
	for text, want := range map[string]string{
		``:                              `chips.bzl: want a dict CHIPS`,
		`CHIPS = [`:                     `chips.bzl:1:10: got end of file, want`,
		`load("a.bzl", "A")`:            `chips.bzl:1: a statement is not allowed here`,
		`A = 1` + "\n" + `A = 2`:        `chips.bzl:2: A is given twice`,
		`A += [1]`:                      `chips.bzl:1: an assignment is not allowed here`,
		`A = B`:                         `chips.bzl:1: B is not defined before its use`,
		`A = dict(x = 1)`:               `chips.bzl:1: an expression of this kind is not allowed here`,
		`A = [x for x in [1]]`:          `chips.bzl:1: an expression of this kind is not allowed here`,
		`A = [1] * 1000000000`:          `chips.bzl:1: this * is not allowed here`,
		`A = "a" + 1`:                   `chips.bzl:1: this + is not allowed here`,
		`A = 99999999999999999999`:      `chips.bzl:1: 99999999999999999999 is not a number that this file may contain`,
		`A = {1: 2}`:                    `chips.bzl:1: a key is not a string`,
		`A = {"a": 1, "a": 2}`:          `chips.bzl:1: the key "a" occurs twice`,
		`CHIPS = {"n": 1}`:              `chips.bzl: n: want a dict`,
		`CHIPS = {"n": {"fact": {}}}`:   `chips.bzl: n: there is no field "fact"; want constraints, copts, facts`,
		`CHIPS = {"n": {"copts": [1]}}`: `chips.bzl: n: copts: `,
		`CHIPS = {"n": {"copts": []}}`:  `chips.bzl: n: facts: want a dict`,
		`CHIPS = {"n": {"facts": {}, "runs": ["m"]}}`: `chips.bzl: n: runs: there is no chip "m"`,
		`CHIPS = {"n": {"facts": {}, "runs": "n"}}`:   `chips.bzl: n: runs: want names of chips`,
		`CHIPS = {"n": {"facts": {"name": "n"}}}`:     `chips.bzl: n: facts has name, which the entry sets itself`,
	} {
		_, err := parse("chips.bzl", []byte(text))
		assert.ErrorContains(t, err, want, text)
	}
}

package policy

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/compress/prune"
)

func facts() prune.Facts {
	sensitivity := 0.25
	return prune.Facts{
		Layer: &prune.Layer{Name: "conv1.weight", Node: "conv1", Op: "Conv", Shape: []int64{64, 3, 3, 3}, Groups: 1, Position: 2, MACs: 1000},
		Count: 7, MACsShare: 0.1, Sensitivity: &sensitivity, Uniform: prune.Wish{Patterns: 8, Entries: 4, Connectivity: 3.6, Share: 1},
	}
}

// decide runs a policy of the lines of a function's body.
func decide(t testing.TB, body string) (*prune.Wish, error) {
	p, err := Parse("p.star", []byte("def policy(layer):\n    "+strings.ReplaceAll(body, "\n", "\n    ")+"\n"))
	if err != nil {
		return nil, err
	}
	return p(facts())
}

// TestFacts: all that a layer has.
func TestFacts(t *testing.T) {
	for _, condition := range []string{
		`layer.name == "conv1.weight"`, `layer.node == "conv1"`, `layer.op == "Conv"`, `layer.shape == (64, 3, 3, 3)`, `layer.filters == 64`,
		`layer.channels == 3`, `layer.kernel == "3x3"`, `layer.groups == 1`, `not layer.depthwise`, `layer.position == 2`, `layer.count == 7`,
		`layer.weights == 1728`, `layer.macs == 1000`, `layer.macs_share == 0.1`, `layer.sensitivity == 0.25`, `layer.patterns == 8`,
		`layer.entries == 4`, `layer.connectivity == 3.6`, `layer.share == 1`, `not layer.packed`, `layer.name.startswith("conv")`, `"1" in layer.name`,
		`layer.position > layer.count // 2 - 2`, `max(1, 5, 2) == 5 and min(3, 2.5) == 2.5`, `[2 * x for x in range(3)] == [0, 2, 4]`,
		`any([d == 64 for d in layer.shape])`, `{"a": -1}["a"] + 1 == 0`, `len(layer.shape) % 3 == 1`, `abs(-2) == int("2")`,
		`"a" + "b" == "ab"`, `1 not in [2]`, `not dense`,
	} {
		w, err := decide(t, "return settings() if "+condition+" else dense")
		require.NoError(t, err, condition)
		require.NotNil(t, w, condition)
	}
}

func TestSettings(t *testing.T) {
	for body, want := range map[string]*prune.Wish{
		"return dense":      nil,
		"return settings()": {Patterns: 8, Entries: 4, Connectivity: 3.6, Share: 1},
		"return settings(connectivity = 2, share = 16)":                                              {Patterns: 8, Entries: 4, Connectivity: 2, Share: 16},
		"return settings(patterns = 0)":                                                              {Connectivity: 3.6, Share: 1},
		"return settings(packed = not layer.packed)":                                                 {Patterns: 8, Entries: 4, Connectivity: 3.6, Share: 1, Packed: true},
		"x = 1\nfor i in range(3):\n  x += i\nreturn settings(6, x)":                                 {Patterns: 6, Entries: 4, Connectivity: 3.6, Share: 1},
		"rates = {}\nrates[layer.kernel] = 1.5\nreturn settings(connectivity = rates[layer.kernel])": {Patterns: 8, Entries: 4, Connectivity: 1.5, Share: 1},
	} {
		got, err := decide(t, body)
		require.NoError(t, err, body)
		require.Equal(t, want, got, body)
	}
}

// TestMistakes: each is an error with file and line.
func TestMistakes(t *testing.T) {
	for body, want := range map[string]string{
		"return settings(":                    "p.star:3:1: got outdent, want primary expression",
		"\nreturn layr":                       "p.star:3:12: undefined: layr",
		"return layer.sise":                   "p.star:2:18: policies have no attribute or method sise",
		"return 8":                            `p.star:1:1: policy returned int for the layer "conv1.weight"; want settings(...) or dense`,
		"pass":                                "policy returned NoneType",
		"return settings(conectivity = 2)":    `p.star:2:20: in policy: settings: unexpected keyword argument "conectivity" (did you mean connectivity?) (layer "conv1.weight")`,
		`return settings(connectivity = "2")`: "in policy: settings: connectivity is string",
		`return settings(patterns = 2.5)`:     "p.star:2:20: in policy: settings: for parameter \"patterns\": got float, want int",
		"return settings(packed = 1)":         "p.star:2:20: in policy: settings: for parameter \"packed\": got int, want bool",
		"return settings(share = 3)":          `p.star:2:20: in policy: settings: share = 3; want one of [1 4 8 16] (layer "conv1.weight")`,
		"return settings(patterns = 300)":     "p.star:2:20: in policy: settings: patterns = 300; want 1 to 255",
		"return settings(-1)":                 "p.star:2:20: in policy: settings: patterns = -1; want 1 to 255",
		"return settings(entries = 10)":       "p.star:2:20: in policy: settings: entries = 10; want 1 to 9, the kernel's taps",
		"return settings(entries = 0)":        "p.star:2:20: in policy: settings: want both patterns and entries, or neither",
		"x = 0.5\nreturn settings(8, 4, x)":   "p.star:3:20: in policy: settings: connectivity = 0.5; want a number N of 1 or more: 1 of N kernels is kept",
		`return settings(8, 4, float("nan"))`: "p.star:2:20: in policy: settings: connectivity = NaN",
		`return settings(8, 4, float("inf"))`: "p.star:2:20: in policy: settings: connectivity = +Inf",
		`fail("no", 3)`:                       "p.star:2:9: in policy: no 3",
		"return 1 // 0":                       "p.star:2:14: in policy: floored division by zero",
		"return [1][5]":                       "p.star:2:15: in policy: list index 5 out of range",
		"return policy(layer)":                "p.star:2:12: in policy: function policy called recursively",
		"while True:\n  pass":                 "while",
		"x = layer\nx.name = 1":               "can't assign to .name field of struct",
		"return print(1)":                     "policies do not have this function",
		"return {1: 2}.items()":               "p.star:2:19: policies have no attribute or method items",
	} {
		_, err := decide(t, body)
		assert.ErrorContains(t, err, want, body)
		assert.ErrorContains(t, err, "p.star:", body)
	}
	for source, want := range map[string]string{
		`load("x.star", "y")`:            "p.star:1:1: policies cannot load files",
		"x = 1":                          "p.star: want a function called policy",
		"def policy():\n  return 1":      "p.star:1:1: policy takes 0 parameters; want one",
		"policy = 3":                     "want a function called policy",
		"x = settings()":                 "p.star:1:13: in <toplevel>: settings() is called outside policy(layer); call it within",
		strings.Repeat("#", 1<<16) + "#": "at most 65536",
	} {
		_, err := Parse("p.star", []byte(source))
		assert.ErrorContains(t, err, want)
	}
}

// TestBounds: whatever a policy does, it ends soon and takes little memory.
func TestBounds(t *testing.T) {
	nested := "x = 0\n" + strings.Repeat("x = [x, x]\n", 60)
	for body, want := range map[string]string{
		"for i in range(4096):\n  for j in range(4096):\n    pass": "more than 32768 steps",
		"return [0] * 1000000000":                                  "policies compute only with numbers; found list",
		"return [0] + [1]":                                         "policies compute only with numbers; found list",
		"x = []\nx += [1]":                                         "found list",
		`return "a" * 1000000000`:                                  "policies compute only with numbers; found string",
		`return "%s" % 3`:                                          "found string",
		"x = \"abcd\"\nfor i in range(64):\n  x = x + x":           "a string of more than 1024 bytes",
		"x = 3\nfor i in range(64):\n  x = x * x":                  "an integer of more than 1024 bits",
		"x = 3\nfor i in range(4000):\n  x -= -x":                  "an integer of more than 1024 bits",
		"return range(1 << 62)":                                    "policies do not have the operator <<",
		"return range(4611686018427387904)":                        "want numbers from",
		"return list(range(9))":                                    "policies do not have this function",
		"return str([])":                                           "policies do not have this function",
		"return [1, 2][0:1]":                                       "policies have no slices",
		"return (lambda *a: a)(*[1])":                              "policies do not have the operator *",
		"return {1: 2} | {3: 4}":                                   "policies do not have the operator |",
		"x = {}\nx[1] = 1\nx[1] += 1":                              "write a plain assignment",
		nested + "return x == x":                                   "want None, a bool, a number or a string here; found list",
		nested + "return {(x, x): 1}":                              "found tuple",
		nested + "return {x: 1 for i in range(2)}":                 "found list",
		nested + "return x in [x]":                                 "found list",
		nested + "return {1: 1}[(x, x)]":                           "found tuple",
		nested + "return max(x, x)":                                "found list",
		nested + "fail(x)":                                         "found list",
		nested + "return sorted(x)":                                "policies do not have this function",
		nested + "return settings(x)":                              "got list, want int",
		nested + "return x":                                        "returned list",
		"return " + strings.Repeat("(", 20000) + "1" + strings.Repeat(")", 20000): "expressions and statements of policies are nested deeper than 500",
		"return " + strings.Repeat("-", 30000) + "1":                              "expressions and statements of policies are nested deeper than 500",
	} {
		start := time.Now()
		_, err := decide(t, body)
		require.Error(t, err)
		require.ErrorContains(t, err, want)
		require.Less(t, time.Since(start), 20*time.Second)
	}
	_, err := Parse("p.star", []byte("def f():\n  for i in range(4096):\n    for j in range(4096):\n      pass\nf()\n"))
	require.ErrorContains(t, err, "more than 131072 steps")
}

// TestAlone: a policy's layers do not see each other's.
func TestAlone(t *testing.T) {
	p, err := Parse("p.star", []byte("seen = []\ndef policy(layer):\n  seen.append(1)\n  return dense\n"))
	require.NoError(t, err)
	_, err = p(facts())
	require.ErrorContains(t, err, "p.star:3:14: in policy: append: cannot append to frozen list")
}

// FuzzParse: no text ends the program.
func FuzzParse(f *testing.F) {
	f.Add("def policy(layer):\n  return settings(connectivity = 2 * layer.position)\n")
	f.Add("x = {1: [2, 3]}\ndef policy(layer):\n  return dense if x[1][0] in x else fail(1)\n")
	f.Fuzz(func(t *testing.T, source string) {
		p, err := Parse("p.star", []byte(source))
		if err == nil {
			_, err = p(facts())
		}
		_ = fmt.Sprint(err)
	})
}

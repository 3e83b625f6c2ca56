package cppapi

import (
	"crypto/sha256"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
)

// fake is a model with what makes an API hard: names that are no identifiers, symbols,
// an expression as a dimension, a scalar, several types.
func fake() *Model {
	n, h := sym.Var("batch size"), sym.Var("H")
	half := sym.FloorDiv(sym.Add(h, sym.Const(1)), sym.Const(2), nil)
	return &Model{
		Api: "nets/fake.v1", Prefix: "app_fake", Namespace: "app::fake", Generator: "rules_dnn test",
		Inputs: []Tensor{
			{"image", ir.F32, ir.Shape{n, sym.Const(3), h}},
			{"*/ int x; \"", ir.I64, ir.Shape{}},
		},
		Outputs: []Tensor{
			{"image", ir.F32, ir.Shape{n, sym.Const(4)}},
			{"int", ir.U8, ir.Shape{half, n}},
		},
		Symbols: []Symbol{{Name: "batch size", Lo: 1, Hi: 64}, {Name: "H", Lo: 0, Hi: sym.MaxDim}},
		Arena:   []sym.Expr{sym.Scale(n, 16), sym.Mul(sym.Mul(n, half), sym.Mul(h, h))},
		Scratch: sym.Add(sym.Scale(h, 4), sym.Const(1)),
		Weights: Weights{Mode: Embed, Bytes: 16, Hash: [32]byte{1, 2, 3}},
		Variants: []Variant{{Name: anyChip, Prefix: "app_fake", Profile: Profile{Chip: anyChip, VectorBytes: 16, VectorRegisters: 16, Blocks: []Block{
			{Name: "Sum \"</script>*/\\\"", Kernel: "generic", FLOPs: sym.Mul(sym.Scale(n, 3), h), Products: sym.Const(0), Bytes: sym.Scale(n, 8)},
			{Name: "Add", Kernel: "window", FLOPs: sym.Const(-1), Products: half, Bytes: sym.Mul(half, n)},
		}}}},
	}
}

// anyChip is a chip's name that is no identifier.
const anyChip = "any \"chip\""

// computed has an output whose rows only the run knows, and checks of its dimension.
func computed() *Model {
	n, k := sym.Var("N"), sym.Var("found?")
	third := sym.FloorDiv(n, sym.Const(3), nil)
	return &Model{
		Api: "rows", Prefix: "rows", Namespace: "rows_ns", Generator: "rules_dnn test",
		Inputs:  []Tensor{{"x", ir.F32, ir.Shape{n}}},
		Outputs: []Tensor{{"where", ir.I64, ir.Shape{sym.Const(1), k}}},
		Symbols: []Symbol{{Name: "N", Lo: 0, Hi: 1000}, {Name: "found?", Lo: 0, Hi: sym.MaxDim, Computed: true, Max: n}},
		Checks: []Check{
			{Equal, sym.Mod(n, sym.Const(3), nil), sym.Const(0), `Reshape "*/ "a": threes`},
			{Broadcast, third, sym.Min(third, sym.Const(4), nil), "Add: dimensions must be equal or 1 to broadcast"},
			{AtLeast, sym.Const(900), n, "Slice: not more than 900"},
		},
		Arena:    []sym.Expr{sym.Scale(k, 8)},
		Weights:  Weights{Mode: File, Bytes: int64(len(rowsWeights)), Hash: sha256.Sum256([]byte(rowsWeights))},
		Variants: []Variant{{Name: "narrow", Prefix: "rows"}, {Name: "wide", Prefix: "rows", CPUFeatures: []string{"none"}}},
	}
}

// rowsWeights are of a length that needs two blocks for SHA-256's end.
var rowsWeights = "1" + strings.Repeat("a weight", 15)

// constant has no symbols, no weights and no inputs.
func constant() *Model {
	return &Model{
		Api: "constant", Prefix: "constant", Namespace: "constant_ns", Generator: "rules_dnn test",
		Outputs:  []Tensor{{"y", ir.F16, ir.Shape{sym.Const(2)}}},
		Weights:  Weights{Mode: File},
		Variants: []Variant{{Name: "any", Prefix: "constant"}},
	}
}

func TestRefusals(t *testing.T) {
	k, n := sym.Var("k"), sym.Var("N")
	withComputed := func(d sym.Expr) func(*Model) {
		return func(m *Model) {
			m.Symbols = []Symbol{{Name: "N", Hi: 9}, {Name: "k", Hi: 9, Computed: true, Max: n}}
			m.Inputs, m.Arena, m.Scratch, m.Variants[0].Profile = nil, nil, sym.Const(0), Profile{}
			m.Outputs = []Tensor{{"y", ir.F32, ir.Shape{d}}}
		}
	}
	for want, change := range map[string]func(*Model){
		"api \"a b\"":                                        func(m *Model) { m.Api = "a b" },
		"prefix \"1x\"":                                      func(m *Model) { m.Prefix = "1x" },
		"namespace \"a:b\"":                                  func(m *Model) { m.Namespace = "a:b" },
		"namespace \"int\": int is a keyword":                func(m *Model) { m.Namespace = "int" },
		"namespace \"a::new\": new is":                       func(m *Model) { m.Namespace = "a::new" },
		"namespace \"xor::b\": xor is":                       func(m *Model) { m.Namespace = "xor::b" },
		"namespace \"std\": std is":                          func(m *Model) { m.Namespace = "std" },
		"prefix \"dnn\": names of the runtime begin with it": func(m *Model) { m.Prefix = "dnn" },
		"CPU feature":                                        func(m *Model) { m.Variants[0].CPUFeatures = []string{"AVX\""} },
		"no chip":                                            func(m *Model) { m.Variants = nil },
		"profile has the prefix \"x\"":                       func(m *Model) { m.Variants[0].Prefix = "x" },
		"has no element type":                                func(m *Model) { m.Inputs[0].Type = ir.Invalid },
		"listed twice":                                       func(m *Model) { m.Symbols[1].Name = m.Symbols[0].Name },
		"want 0 <= lower":                                    func(m *Model) { m.Symbols[0].Lo = 65 },
		"follows computed":                                   func(m *Model) { m.Symbols[0].Computed = true },
		"dimension of -1":                                    func(m *Model) { m.Outputs[0].Shape[1] = sym.Const(-1) },
		"depends on \"Q\"":                                   func(m *Model) { m.Outputs[0].Shape[1] = sym.Var("Q") },
		"memory of the plan":                                 func(m *Model) { m.Arena[0] = sym.Var("Q") },
		"overflows 64 bits":                                  func(m *Model) { m.Scratch = sym.Mul(sym.Const(1<<62), sym.Const(4)) },
		"257 symbols":                                        func(m *Model) { m.Symbols = make([]Symbol, 257) },
		"the check \"few\"":                                  func(m *Model) { m.Checks = []Check{{Equal, sym.Var("Q"), n, "few"}} },
		"block Add: the size":                                func(m *Model) { m.Variants[0].Profile.Blocks[1].Bytes = sym.Var("Q") },
		"weights of -1":                                      func(m *Model) { m.Weights.Bytes = -1 },
		"may shrink":                                         withComputed(sym.Sub(n, k)),
		"((k) % (3)) may shrink":                             withComputed(sym.Mod(k, sym.Const(3), nil)),
		"((N) // (k)) may shrink":                            withComputed(sym.FloorDiv(n, k, sym.Facts{"k": {Lo: 1, Hi: 9}})),
	} {
		m := fake()
		change(m)
		_, err := Print(m)
		assert.ErrorContains(t, err, want)
	}
	for _, d := range []sym.Expr{k, sym.Mul(k, n), sym.FloorDiv(sym.Scale(k, 3), sym.Const(2), nil), sym.Min(k, n, nil)} {
		m := fake()
		withComputed(d)(m)
		_, err := Print(m)
		assert.NoError(t, err, "%s", d)
	}
}

// TestLarge: only 64 bits hold large weights, which the compiler of the sources says.
func TestLarge(t *testing.T) {
	for bytes, want := range map[int64]bool{1<<31 - 1: false, 1 << 31: true, 1 << 33: true} {
		m := computed()
		m.Weights.Bytes = bytes
		f, err := Print(m)
		require.NoError(t, err)
		assert.Equal(t, want, strings.Contains(f.Source, "static_assert(sizeof(size_t) >= 8"), "%d", bytes)
	}
}

func TestDeterministic(t *testing.T) {
	a, err := Print(fake())
	require.NoError(t, err)
	for range 5 {
		b, err := Print(fake())
		require.NoError(t, err)
		assert.Equal(t, a, b)
	}
}

func TestNames(t *testing.T) {
	m := fake()
	assert.Equal(t, "fake.v1.h", m.HeaderName())
	assert.Equal(t, "app_fake_internal.h", m.InternalName())
	assert.Equal(t, "app_fake_api.cc", m.SourceName())
	assert.Equal(t, "app_fake_profile.cc", m.ProfileName())
	assert.Equal(t, "c->sym[1]", m.symText("c->sym", "H"))
}

func TestWeightsAsmName(t *testing.T) {
	_, err := WeightsAsm(fake(), "a\"b")
	assert.ErrorContains(t, err, "weights file")
	text, err := WeightsAsm(fake(), "fake.weights")
	require.NoError(t, err)
	assert.Contains(t, text, `.incbin "fake.weights", 64`)
}

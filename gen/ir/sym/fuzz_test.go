package sym

import (
	"math/big"
	"math/rand"
	"testing"

	"github.com/stretchr/testify/require"
)

// exactly is an expression and its value as it was asked for, in numbers of any size.
type exactly struct {
	e     Expr
	value func(env map[string]int64) *big.Int
}

var bigNumbers = []int64{1 << 31, 1 << 40, 1 << 62, -1 << 62, -1 << 63, 1<<63 - 1, 3 << 60, -7 << 50}

func exactConst(c int64) exactly {
	return exactly{Const(c), func(map[string]int64) *big.Int { return big.NewInt(c) }}
}

func exactVar(name string) exactly {
	return exactly{Var(name), func(env map[string]int64) *big.Int { return big.NewInt(env[name]) }}
}

func joined(x, y exactly, e Expr, f func(z, a, b *big.Int) *big.Int) exactly {
	return exactly{e, func(env map[string]int64) *big.Int { return f(new(big.Int), x.value(env), y.value(env)) }}
}

// exactTree reads bytes in pairs: each pushes a number or a variable onto a stack, or joins what
// lies on it.
func exactTree(data []byte) exactly {
	stack := []exactly{exactConst(1)}
	pop := func() exactly {
		x := stack[len(stack)-1]
		if len(stack) > 1 {
			stack = stack[:len(stack)-1]
		}
		return x
	}
	for ; len(data) > 1; data = data[2:] {
		stack = append(stack, exactStep(data[0], data[1], pop))
	}
	return pop()
}

func exactStep(op, arg byte, pop func() exactly) exactly {
	switch op % 11 {
	case 0, 1:
		return exactConst(int64(int8(arg)))
	case 2:
		return exactConst(bigNumbers[int(arg)%len(bigNumbers)])
	case 3, 4:
		return exactVar(testVars[int(arg)%len(testVars)])
	}
	x := pop()
	switch op % 11 {
	case 5:
		y := divisor(arg)
		return joined(x, y, FloorDiv(x.e, y.e, testFacts), (*big.Int).Div)
	case 6:
		y := divisor(arg)
		return joined(x, y, Mod(x.e, y.e, testFacts), (*big.Int).Mod)
	}
	y := pop()
	switch op % 11 {
	case 7:
		return joined(x, y, Mul(x.e, y.e), (*big.Int).Mul)
	case 8:
		return joined(x, y, Sub(x.e, y.e), (*big.Int).Sub)
	case 9:
		return joined(x, y, Min(x.e, y.e, testFacts), func(_, a, b *big.Int) *big.Int {
			if a.Cmp(b) < 0 {
				return a
			}
			return b
		})
	}
	return joined(x, y, Add(x.e, y.e), (*big.Int).Add)
}

// divisor is above 0.
func divisor(arg byte) exactly {
	switch {
	case arg < 8:
		return exactVar("b")
	case arg < 12:
		return exactVar("d")
	case arg < 14:
		return exactConst(1 << 62)
	}
	return exactConst(int64(arg) - 13)
}

// FuzzSimplify compares simplified expressions with what was asked for: a value that they give is
// right, so are bounds and proofs, and the text reads back.
func FuzzSimplify(f *testing.F) {
	f.Add([]byte("choose from bytes"))
	f.Fuzz(func(t *testing.T, data []byte) {
		x := exactTree(data[:min(len(data), 400)])
		if !x.e.Overflow() {
			back, err := Parse(x.e.String())
			require.NoError(t, err)
			require.Equal(t, x.e.String(), back.String())
		}
		lo, hi := x.e.Bounds(testFacts)
		r := rand.New(rand.NewSource(int64(len(data))))
		for range 6 {
			env := randomEnv(r)
			want := x.value(env)
			if !want.IsInt64() {
				_, err := x.e.Eval(env)
				require.Error(t, err, "%s at %v is beyond 64 bits: %s", x.e, env, want)
				continue
			}
			v := want.Int64()
			require.True(t, (lo == -boundInf || lo <= v) && (hi == boundInf || v <= hi), "%s = %d at %v; bounds %d..%d", x.e, v, env, lo, hi)
			require.False(t, v > lo && AtMost(x.e, v-1, testFacts), "%s = %d at %v", x.e, v, env)
			require.False(t, v < hi && AtLeast(x.e, v+1, testFacts), "%s = %d at %v", x.e, v, env)
			if got, err := x.e.Eval(env); err == nil {
				require.Equal(t, v, got, "%s at %v", x.e, env)
			}
			m := map[string]Expr{}
			for name, value := range env {
				m[name] = Const(value)
			}
			if got, ok := x.e.Subst(m, testFacts).Const(); ok {
				require.Equal(t, v, got, "%s with %v", x.e, env)
			}
		}
	})
}

package loop_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"rules_dnn/gen/kernel/loop"
)

// sharedRows is a kernel whose items share two rows of eight: each has a part of a row's sum, some join several, one joins the rest.
const sharedRows = `kernel "test" {
  facts r 0..1, s 0..7, t 0..3, k 0..1, q 0..3
  operand x f32[32]
  result y f32[32]
  shared p f32[18]
  shared j f32[10]
  shared z f32[2]
  grid task < 2
  for r < 2 items {
    for s < 8 items {
      p[9*r + s] = x[16*task + 8*r + s]
    }
  }
  for r < 2 items {
    for t < 4 items {
      var a = f32:0
      for k < 2 {
        a = f32 add(a, p[9*r + 4*k + t])
      }
      j[5*r + t] = a
    }
  }
  for r < 2 items {
    var b = f32:0
    for q < 4 {
      b = f32 add(b, j[5*r + q])
    }
    z[r] = b
  }
  for r < 2 items {
    for s < 8 items {
      y[16*task + 8*r + s] = f32 mul(x[s], z[r])
    }
  }
}
`

// TestInSubGroups: what items share within sub-groups they exchange, and what goes beyond one they go on sharing.
func TestInSubGroups(t *testing.T) {
	k, err := loop.Parse(sharedRows)
	require.NoError(t, err)
	require.NoError(t, loop.Verify(k))
	for _, c := range []struct {
		n                  int64
		exchanged, waiting []string
	}{
		{2, []string{"z"}, []string{"p", "j"}},
		{4, []string{"j", "z"}, []string{"p"}},
		{8, []string{"p", "j", "z"}, nil},
		{16, []string{"p", "j", "z"}, nil},
	} {
		near := k.InSubGroups(c.n)
		require.NotNil(t, near, c.n)
		require.NoError(t, loop.Verify(near), "%s", near)
		text := near.String()
		again, err := loop.Parse(text)
		require.NoError(t, err, text)
		require.Equal(t, text, again.String())
		for _, b := range c.exchanged {
			require.Contains(t, text, "  array "+b+" f32[16]\n", c.n)
		}
		for _, b := range c.waiting {
			require.Contains(t, text, "  shared "+b+" f32", c.n)
		}
		items, err := near.ByItems()
		require.NoError(t, err)
		require.Equal(t, len(c.waiting), strings.Count(items.String(), "barrier\n"), "%d\n%s", c.n, items)
		require.Equal(t, c.n >= 4, strings.Contains(text, "near(j["), c.n)
		require.Equal(t, c.n >= 8, strings.Contains(text, "near(p["), c.n)
	}
	for _, n := range []int64{0, 1, 3, 32} {
		require.Nil(t, k.InSubGroups(n), n)
	}
}

// TestNoSubGroups: kernels that are left as they are.
func TestNoSubGroups(t *testing.T) {
	for name, c := range map[string][2]string{
		"what an item reads of the next row":      {"x[s], z[r])", "x[s], z[1 - r])"},
		"a nest of other rows":                    {"r < 2 items {\n    for s < 8 items {\n      y", "r < 1 items {\n    for s < 8 items {\n      y"},
		"a store between the nests":               {"  grid task < 2\n", "  grid task < 2\n  array extra f32[4]\n"},
		"what is stored twice":                    {"z[r] = b\n", "z[r] = b\n    z[r] = f32 add(b, b)\n"},
		"what is stored under a condition":        {"z[r] = b\n", "if 0 <= r < 1 {\n      z[r] = b\n    }\n"},
		"what is read before it is there":         {"var b = f32:0", "var b = z[r]"},
		"what lies apart, and no item's own part": {"z[r] = b\n", "z[r*r] = b\n"},
	} {
		t.Run(name, func(t *testing.T) {
			text := strings.Replace(sharedRows, c[0], c[1], 1)
			require.NotEqual(t, sharedRows, text)
			k, err := loop.Parse(text)
			require.NoError(t, err)
			if near := k.InSubGroups(2); near != nil {
				require.NotContains(t, near.String(), "array z f32")
			}
		})
	}
	for name, c := range map[string][2]string{
		"a choice":          {"f32 add(b, j[5*r + q])", "f32 add(b, (j[5*r + q] if 0 <= q < 3 else f32:0))"},
		"a condition":       {"b = f32 add(b, j[5*r + q])\n", "if 0 <= q < 3 {\n        b = f32 add(b, j[5*r + q])\n      }\n"},
		"who is no such":    {"j[5*r + q]", "j[5*r + q - 1]"},
		"items far apart":   {"j[5*r + t] = a", "j[r + 2*t] = a"},
		"what none stores":  {"j[5*r + t] = a\n", "\n"},
		"others' neighbour": {"j[5*r + q]", "j[5*q]"},
	} {
		t.Run("exchange in "+name, func(t *testing.T) {
			text := strings.Replace(sharedRows, c[0], c[1], 1)
			require.NotEqual(t, sharedRows, text)
			k, err := loop.Parse(text)
			require.NoError(t, err)
			near := k.InSubGroups(8)
			require.NotNil(t, near)
			require.Contains(t, near.String(), "shared j f32")
		})
	}
}

package loop_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"rules_dnn/gen/kernel/loop"
)

// TestByItems: what one item of a group does, and where it waits.
func TestByItems(t *testing.T) {
	for _, c := range []struct{ name, body, want, err string }{
		{"a copy that other items read, again and again", `array a f32[8]
for i < 8 items {
  a[i] = f32:0
}
for k < 4 {
  for i < 8 items {
    s[i] = x[8*k + i]
  }
  for i < 4 items {
    for j < 2 items {
      y[task*8 + 2*i + j] = s[7 - 2*i - j]
    }
  }
  for i < 8 items {
    a[i] = f32 add(a[i], x[i])
  }
}
`, `array a f32[1]
if 0 <= item < 8 {
  index i = item
  a[0] = f32:0
}
for k < 4 {
  barrier
  if 0 <= item < 8 {
    index i = item
    s[i] = x[i + 8*k]
  }
  barrier
  if 0 <= item < 8 {
    index j = ((item) % (2))
    index i = ((item) // (2))
    y[2*i + j + 8*task] = s[-2*i - j + 7]
  }
  if 0 <= item < 8 {
    index i = item
    a[0] = f32 add(a[0], x[i])
  }
}
`, ""},
		{"what a loop reads alone, before it is overwritten", `for i < 8 items {
  s[i] = x[i]
}
for k < 4 {
  for i < 4 items {
    y[task*4 + i] = s[i + k]
  }
}
for i < 8 items {
  s[i] = x[8 + i]
}
`, `if 0 <= item < 8 {
  index i = item
  s[i] = x[i]
}
barrier
for k < 4 {
  if 0 <= item < 4 {
    index i = item
    y[i + 4*task] = s[i + k]
  }
}
barrier
if 0 <= item < 8 {
  index i = item
  s[i] = x[i + 8]
}
`, ""},
		{"what is read, then overwritten under a condition", `for i < 4 items {
  s[i] = x[i]
}
for i < 4 items {
  y[task*4 + i] = s[3 - i]
}
if 0 <= task < 2 {
  for i < 2 items {
    s[i] = x[i]
  }
}
`, `if 0 <= item < 4 {
  index i = item
  s[i] = x[i]
}
barrier
if 0 <= item < 4 {
  index i = item
  y[i + 4*task] = s[-i + 3]
}
if 0 <= task < 2 {
  barrier
  if 0 <= item < 2 {
    index i = item
    s[i] = x[i]
  }
}
`, ""},
		{"rows of sums of each item", `array a f32[12]
for m < 2 items {
  for n < 2 items {
    for u < 3 {
      a[6*m + 3*n + u] = x[u]
    }
  }
}
for m < 2 items {
  for n < 2 items {
    y[task*4 + 2*m + n] = a[6*m + 3*n + 2]
  }
}
`, `array a f32[3]
if 0 <= item < 4 {
  index n = ((item) % (2))
  index m = ((item) // (2))
  for u < 3 {
    a[u] = x[u]
  }
}
if 0 <= item < 4 {
  index n = ((item) % (2))
  index m = ((item) // (2))
  y[2*m + n + 4*task] = a[2]
}
`, ""},
		{"an item's part that another one reads", `array a f32[8]
for i < 8 items {
  a[i] = f32:0
}
for i < 4 items {
  for j < 2 items {
    y[task*8 + 2*i + j] = a[2*j + i]
  }
}
`, "", `array "a" is split differently by loops over [8] items and over [4 2], so an item would read elements of another`},
		{"an array by a square", `array a f32[16]
for i < 4 items {
  a[i*i] = x[i]
  y[task*4 + i] = a[i*i]
}
`, "", `array "a" is read at i*i; want an index that splits it into a part for each item`},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := "kernel \"test\" {\n  facts u 0..2\n  operand x f32[64]\n  result y f32[64]\n  shared s f32[8]\n  grid task < 4\n" + c.body + "}\n"
			k, err := loop.Parse(text)
			require.NoError(t, err)
			require.NoError(t, loop.Verify(k))
			got, err := k.ByItems()
			if c.err != "" {
				require.ErrorContains(t, err, c.err)
				return
			}
			require.NoError(t, err)
			_, body, _ := strings.Cut(got.String(), "grid task < 4\n")
			body = strings.TrimSuffix(body, "}\n")
			require.Equal(t, c.want, strings.ReplaceAll(body, "\n  ", "\n")[2:])
		})
	}
}

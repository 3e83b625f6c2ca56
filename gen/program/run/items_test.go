package run

import (
	"testing"

	"github.com/stretchr/testify/require"

	"rules_dnn/gen/kernel/loop"
)

// TestItems: items of a group leave alone what others store, until all have ended their loops.
func TestItems(t *testing.T) {
	for _, c := range []struct{ name, body, want string }{
		{"items that wait", `for i < 4 items {
  s[i] = x[4*task + i]
}
for i < 2 items {
  for j < 2 items {
    array a f32[2]
    a[0] = s[3 - 2*i - j]
    y[4*task + 2*i + j] = a[0]
  }
}
`, ""},
		{"an item that reads what another one writes", `for i < 4 items {
  s[i] = x[4*task + i]
  y[4*task + i] = s[0]
}
`, "item 1 reads element 0 of s, which item 0 writes, and nothing lets them wait for each other"},
		{"an item that writes what another one has read", `for i < 4 items {
  s[i] = x[i]
}
for i < 3 items {
  y[4*task + i] = s[i + 1]
  s[i] = x[0]
}
`, "item 1 writes element 1 of s, which item 0 reads, and nothing lets them wait for each other"},
		{"an item that writes what several have read", `for i < 4 items {
  s[i] = x[i]
}
for i < 4 items {
  y[4*task + i] = s[3]
  if 3 <= i < 4 {
    s[i] = x[0]
  }
}
`, "item 3 writes element 3 of s, which several others read, and nothing lets them wait for each other"},
		{"items that write one element", `for i < 2 items {
  for j < 2 items {
    s[i] = x[j]
  }
}
`, "item 1 writes element 0 of s, which item 0 writes, and nothing lets them wait for each other"},
		{"an array around that items share", `array a f32[4]
for i < 4 items {
  a[0] = x[i]
}
`, "item 1 writes element 0 of a, which item 0 writes, and nothing lets them wait for each other"},
		{"what another task's items stored", `if 0 <= task < 1 {
  for i < 4 items {
    s[i] = x[i]
  }
}
for i < 4 items {
  y[4*task + i] = s[i]
}
`, "task 1, i = 0: element 0 of s is read before it is written"},
	} {
		t.Run(c.name, func(t *testing.T) {
			k, err := loop.Parse("kernel \"test\" {\n  operand x f32[8]\n  result y f32[8]\n  shared s f32[4]\n  grid task < 2\n" + c.body + "}\n")
			require.NoError(t, err)
			p, err := Compile(k, nil)
			require.NoError(t, err)
			require.NoError(t, p.Start(make([]byte, 32), make([]byte, 32)))
			err = p.Run(0, 2)
			if c.want == "" {
				require.NoError(t, err)
				require.NoError(t, p.Finish())
				return
			}
			require.ErrorContains(t, err, c.want)
		})
	}
}

package loop

import (
	"fmt"
	"strings"
)

// Listing is kernels for dumps: each once, in the order in which they are added, under comments that name what runs it.
type Listing struct {
	order []*Kernel
	users map[*Kernel][]string
}

// Add appends a kernel, or what else runs one that is there.
func (l *Listing) Add(k *Kernel, user string) {
	if l.users == nil {
		l.users = map[*Kernel][]string{}
	}
	if len(l.users[k]) == 0 {
		l.order = append(l.order, k)
	}
	l.users[k] = append(l.users[k], user)
}

// String is the kernels' text forms, which Parse reads one by one.
func (l *Listing) String() string {
	var out strings.Builder
	for _, k := range l.order {
		out.WriteString("\n")
		for _, u := range l.users[k] {
			fmt.Fprintf(&out, "# %s\n", u)
		}
		out.WriteString(k.String())
	}
	return out.String()
}

package main

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// budget is how many findings of the style rules each file may have. A file that is not listed may
// have none.
type budget map[string]int

// parseBudget reads lines of a number, a space and a file's name. Lines that begin with # are
// comments.
func parseBudget(text string) (budget, error) {
	b := budget{}
	for i, line := range strings.Split(text, "\n") {
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		number, name, ok := strings.Cut(line, " ")
		n, err := strconv.Atoi(number)
		if !ok || err != nil || n <= 0 || name == "" {
			return nil, fmt.Errorf("line %d: want a positive number, a space and a file, found %q", i+1, line)
		}
		b[name] = n
	}
	return b, nil
}

const budgetHead = `# How many findings of tools/lint/style.txt and of lengths each file may have: the rest may have none.
# 'go run ./tools/words -update' writes lower numbers; it never writes higher ones.
`

func (b budget) String() string {
	var out strings.Builder
	out.WriteString(budgetHead)
	for _, name := range slices.Sorted(maps.Keys(b)) {
		if b[name] > 0 {
			fmt.Fprintf(&out, "%d %s\n", b[name], name)
		}
	}
	return out.String()
}

// lowered returns the budget that holds no more than what was found. Files that were not found go.
func (b budget) lowered(found map[string]int) budget {
	out := budget{}
	for name, n := range b {
		if n = min(n, found[name]); n > 0 {
			out[name] = n
		}
	}
	return out
}

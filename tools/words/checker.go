package main

import (
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
)

// checker holds the rules of tools/lint.
type checker struct {
	words, style []rule
	allowed      budget
}

func newChecker() (*checker, error) {
	c := &checker{}
	for _, l := range []struct {
		name  string
		parse func(string) error
	}{
		{list, func(text string) (err error) { c.words, err = parseRules("(?i)", text); return }},
		{styleList, func(text string) (err error) { c.style, err = parseRules("", text); return }},
		{budgetList, func(text string) (err error) { c.allowed, err = parseBudget(text); return }},
	} {
		data, err := os.ReadFile(l.name)
		if err == nil {
			err = l.parse(string(data))
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", l.name, err)
		}
	}
	return c, nil
}

// budgets prints words to avoid, and the style findings of files that exceed their budget.
func (c *checker) budgets(files []string, out io.Writer, o options) (int, error) {
	n, all := 0, 0
	found := map[string]int{}
	for _, name := range files {
		data, err := text(name)
		if err != nil {
			return n, err
		}
		for _, f := range check(c.words, data) {
			printFinding(out, name, f)
			n++
		}
		style := styleOf(c.style, name, data, false)
		found[name] = len(style)
		all += len(style)
		if o.reset || len(style) <= c.allowed[name] {
			continue
		}
		n++
		for _, f := range style {
			printFinding(out, name, f)
		}
		fmt.Fprintf(out, "%s: %d findings of style, and its budget in %s is %d: mend what you added\n", name, len(style), budgetList, c.allowed[name])
	}
	lower := c.allowed.lowered(found)
	switch {
	case o.reset:
		return n, os.WriteFile(budgetList, []byte(budget(found).String()), 0o644)
	case o.update:
		return n, os.WriteFile(budgetList, []byte(lower.String()), 0o644)
	case o.count:
		fmt.Fprintf(out, "%d findings of style\n", all)
	case !maps.Equal(lower, c.allowed):
		fmt.Fprintln(out, "some files have fewer findings than their budget: run 'go run ./tools/words -update'")
	}
	return n, nil
}

// show prints all findings of files, or how many there are of each kind.
func (c *checker) show(files []string, out io.Writer, count, messages bool) (int, error) {
	n := 0
	kinds := map[string]int{}
	for _, name := range files {
		data, err := text(name)
		if err != nil {
			return n, err
		}
		for _, f := range append(check(c.words, data), styleOf(c.style, name, data, messages)...) {
			n++
			kinds[f.write]++
			if !count {
				printFinding(out, name, f)
			}
		}
	}
	if count {
		for _, kind := range slices.Sorted(maps.Keys(kinds)) {
			fmt.Fprintf(out, "%6d %s\n", kinds[kind], kind)
		}
		fmt.Fprintf(out, "%6d in all\n", n)
		return 0, nil
	}
	return n, nil
}

func printFinding(out io.Writer, name string, f finding) {
	fmt.Fprintf(out, "%s:%d: found %q, write: %s\n", name, f.line, f.found, f.write)
}

// within returns the files that are named, or below a folder that is. Paths are relative to the
// folder prefix.
func within(files []string, prefix string, paths []string) []string {
	var out []string
	for _, name := range files {
		if slices.ContainsFunc(paths, func(p string) bool {
			p = path.Join(prefix, p)
			return p == "." || name == p || strings.HasPrefix(name, p+"/")
		}) {
			out = append(out, name)
		}
	}
	return out
}

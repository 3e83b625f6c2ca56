package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
)

// How much more than its ceiling a count may be.
const (
	mostGrowth     = 0.0005 // of instructions
	mostCodeGrowth = 0.005
)

// report prints the counts that differ from the ceilings. It returns an error if any exceeds its
// ceiling.
func report(out io.Writer, keys []key, old, now record) error {
	broken, lower := 0, 0
	for _, k := range keys {
		before, known := old.entries[k]
		if !known {
			broken++
			fmt.Fprintf(out, "%s for %s has no ceiling\n", k.network, k.chip)
			continue
		}
		e := now.entries[k]
		growth, code := share(before.total, e.total), share(before.code, e.code)
		if growth > mostGrowth || code > mostCodeGrowth {
			broken++
		} else if e.total < before.total || e.code < before.code {
			lower++
		}
		if e.total != before.total {
			fmt.Fprintf(out, "%s for %s: %s instructions, ceiling %s (%+.2f %%)\n", k.network, k.chip, grouped(e.total), grouped(before.total), 100*growth)
		}
		if e.code != before.code {
			fmt.Fprintf(out, "%s for %s: %s bytes of code, ceiling %s (%+.2f %%)\n", k.network, k.chip, grouped(e.code), grouped(before.code), 100*code)
		}
		if growth > mostGrowth {
			if err := printChanges(out, changes(before, e)); err != nil {
				return err
			}
		}
	}
	if broken > 0 {
		return fmt.Errorf("%d of %d ceilings are exceeded or missing; if the growth is worth it, run with --update", broken, len(keys))
	}
	fmt.Fprintf(out, "%d ceilings hold\n", len(keys))
	if lower > 0 {
		fmt.Fprintf(out, "%d counts fell: --update lowers their ceilings\n", lower)
	}
	return nil
}

// share returns by which share of the first number the second is greater.
func share(before, now int64) float64 { return float64(now-before) / float64(max(before, 1)) }

// change is a function whose count changed. A count of 0 means that the function has no line.
type change struct {
	before, now int64
	name, nodes string
}

func (c change) growth() int64 { return c.now - c.before }

// changes returns the functions whose counts changed, greatest growth first.
func changes(before, now entry) []change {
	var out []change
	rest := change{before: before.total, now: now.total, name: "other functions"}
	for _, p := range pairs(before, now) {
		rest.before -= p.before
		rest.now -= p.now
		out = append(out, p)
	}
	out = slices.DeleteFunc(append(out, rest), func(c change) bool { return c.growth() == 0 })
	slices.SortStableFunc(out, func(a, b change) int { return cmp.Compare(b.growth(), a.growth()) })
	return out
}

// pairs returns all functions that have a line before or now. A kernel whose text changed has
// another name, so functions without a partner of their name are paired by kind and nodes.
func pairs(before, now entry) []change {
	var out []change
	left := slices.Clone(before.functions)
	take := func(same func(function) bool) (function, bool) {
		i := slices.IndexFunc(left, same)
		if i < 0 {
			return function{}, false
		}
		f := left[i]
		left = slices.Delete(left, i, i+1)
		return f, true
	}
	var unpaired []function
	for _, f := range now.functions {
		if old, ok := take(func(g function) bool { return g.name == f.name }); ok {
			out = append(out, change{old.count, f.count, f.name, f.nodes})
		} else {
			unpaired = append(unpaired, f)
		}
	}
	for _, f := range unpaired {
		old, ok := take(func(g function) bool { return f.nodes != "" && g.nodes == f.nodes && kind(g.name) == kind(f.name) })
		switch {
		case ok:
			out = append(out, change{old.count, f.count, old.name + " -> " + f.name, f.nodes})
		case now.large(f):
			out = append(out, change{0, f.count, f.name, f.nodes})
		}
	}
	for _, f := range left {
		out = append(out, change{f.count, 0, f.name, f.nodes})
	}
	return out
}

// kind returns the first word of a function's name, which differs between kernels and
// micro-kernels.
func kind(name string) string {
	word, _, _ := strings.Cut(name, "_")
	return word
}

// printChanges prints the functions whose counts rose, and the sum of the others.
func printChanges(out io.Writer, list []change) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "growth\twas\tis\t  function; its blocks")
	fell, gone := int64(0), 0
	for _, c := range list {
		if c.growth() < 0 {
			fell -= c.growth()
			gone++
			continue
		}
		before := grouped(c.before)
		if c.before == 0 {
			before = "new"
		}
		fmt.Fprintf(w, "+%s\t%s\t%s\t  %s\n", grouped(c.growth()), before, grouped(c.now), strings.TrimSuffix(c.name+"; "+c.nodes, "; "))
	}
	if gone > 0 {
		fmt.Fprintf(w, "-%s\t\t\t  %d functions that fell or are gone\n", grouped(fell), gone)
	}
	return w.Flush()
}

// grouped prints a number with commas between thousands.
func grouped(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

package main

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
)

// ratios returns the quartiles and the median of a peer's time divided by ours, over all rounds.
func (c *contest) ratios(peer *entrant) (low, median, upper float64) {
	var out []float64
	for i, ms := range c.entrants[0].ms {
		out = append(out, peer.ms[i]/ms)
	}
	return quartiles(out)
}

// fastest returns the peer with the smallest median time, or nil if none ran.
func (c *contest) fastest() *entrant {
	var best *entrant
	for _, e := range c.entrants[1:] {
		if e.failure == "" && e.name != denseName && (best == nil || e.median() < best.median()) {
			best = e
		}
	}
	return best
}

func (e *entrant) median() float64 {
	_, m, _ := quartiles(e.ms)
	return m
}

// print prints a contest for people.
func (c *contest) print(log io.Writer) {
	for i, e := range c.entrants {
		switch {
		case e.failure != "":
			fmt.Fprintf(log, "  %-12s left out: %.300s\n", e.name, e.failure)
			continue
		case i == 0:
			fmt.Fprintf(log, "  %-12s %9.4g ms %s", e.name, e.median(), strings.Repeat(" ", 20))
		case c.entrants[0].failure == "":
			low, median, upper := c.ratios(e)
			fmt.Fprintf(log, "  %-12s %9.4g ms  %.2f (%.2f, %.2f)  ", e.name, e.median(), median, low, upper)
		}
		if e.rel >= 0 {
			fmt.Fprintf(log, " error %.2g", e.rel)
		}
		fmt.Fprintf(log, "  %s\n", e.version)
	}
}

// peerHead begins the table in Markdown.
func peerHead(table io.Writer, peers []string) {
	more, line := "", ""
	if slices.Contains(peers, denseName) {
		more, line = " dense over ours (quartiles) |", " --- |"
	}
	fmt.Fprintf(table, "| model | threads | ours | %s | fastest peer | its time over ours (quartiles) |%s\n", strings.Join(peers, " | "), more)
	fmt.Fprintf(table, "| --- | --- | --- |%s --- | --- |%s\n", strings.Repeat(" --- |", len(peers)), line)
}

// peerRow prints the medians of the rounds' least times, in milliseconds.
func peerRow(table io.Writer, peers []string, c *contest) {
	fmt.Fprintf(table, "| %s | %d | %.4g |", c.model, c.threads, c.entrants[0].median())
	for _, name := range peers {
		i := slices.IndexFunc(c.entrants, func(e *entrant) bool { return e.name == name && e.failure == "" })
		if i < 0 {
			fmt.Fprint(table, " - |")
			continue
		}
		fmt.Fprintf(table, " %.4g |", c.entrants[i].median())
	}
	if best := c.fastest(); best != nil {
		low, median, upper := c.ratios(best)
		fmt.Fprintf(table, " %s | %.2f (%.2f, %.2f) |", best.name, median, low, upper)
	} else {
		fmt.Fprint(table, " - | - |")
	}
	if i := slices.IndexFunc(c.entrants, func(e *entrant) bool { return e.name == denseName && e.failure == "" }); i >= 0 {
		low, median, upper := c.ratios(c.entrants[i])
		fmt.Fprintf(table, " %.2f (%.2f, %.2f) |", median, low, upper)
	} else if slices.Contains(peers, denseName) {
		fmt.Fprint(table, " - |")
	}
	fmt.Fprintln(table)
}

// peerMeans prints, for each number of threads, the geometric mean of the medians in the table's
// last column.
func peerMeans(table io.Writer, peers []string, all []*contest) {
	type sum struct {
		logs   float64
		models int
	}
	sums, order := map[int]*sum{}, []int{}
	for _, c := range all {
		best := c.fastest()
		if best == nil {
			continue
		}
		if sums[c.threads] == nil {
			sums[c.threads] = &sum{}
			order = append(order, c.threads)
		}
		_, median, _ := c.ratios(best)
		sums[c.threads].logs += math.Log(median)
		sums[c.threads].models++
	}
	for _, threads := range order {
		s := sums[threads]
		fmt.Fprintf(table, "| geometric mean of %d | %d | |%s | %.2f |\n", s.models, threads, strings.Repeat(" |", len(peers)), math.Exp(s.logs/float64(s.models)))
	}
}

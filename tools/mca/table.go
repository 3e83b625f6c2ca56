package main

import (
	"fmt"
	"io"
	"strings"
)

// limit is the cycles, by processor, of a kind of instruction in a loop of nothing else.
type limit struct {
	of     *multiply
	cycles []float64
}

// printTable prints the limits, a row for each block, and how many reach what share.
func printTable(out io.Writer, o *options, limits []limit, blocks []*block) {
	for _, l := range limits {
		fmt.Fprintf(out, "cycles of %s at the limit:", l.of.name)
		for i, cpu := range o.cpus {
			fmt.Fprintf(out, " %s %.3g", cpu, l.cycles[i])
		}
		fmt.Fprintln(out)
	}
	fmt.Fprint(out, "\n    #  channels in, out      MFLOP  kernel                   tiles")
	for _, cpu := range o.cpus {
		fmt.Fprintf(out, "  %20s", cpu)
	}
	fmt.Fprintln(out, "  block")
	for _, b := range blocks {
		fmt.Fprintf(out, "%5d  %16s %10s  %-16s %13s", b.number, fmt.Sprintf("%d, %d", b.in, b.out), millions(b.flops), b.kernel, b.tiles)
		for i := range o.cpus {
			fmt.Fprintf(out, "  %20s", b.cell(i))
		}
		fmt.Fprintf(out, "  %s\n", b.name)
	}
	fmt.Fprintln(out)
	for i, cpu := range o.cpus {
		summary(out, cpu, i, blocks)
	}
	fmt.Fprintln(out, "\nEach number is the cycles of a multiply-add instruction in the innermost loops. Brackets contain the share of the limit.\nThe last number is the minimum for the loops' instructions in any order, because a processor also starts loads and counting.")
}

func millions(flops int64) string {
	if flops < 0 {
		return "-"
	}
	return fmt.Sprintf("%.2f", float64(flops)/1e6)
}

// cell returns text such as "0.55 (91 %) 0.52", or - for a block without such loops.
func (b *block) cell(i int) string {
	if b.cycles == nil {
		return "-"
	}
	return fmt.Sprintf("%.3f (%3.0f %%) %.3f", b.cycles[i].taken, b.share(i), b.cycles[i].least)
}

// share returns the percentage of a processor's limit that the block reaches.
func (b *block) share(i int) float64 { return 100 * b.limits[i] / b.cycles[i].taken }

// summary weighs blocks by their operations: what of the limit all of them reach together.
func summary(out io.Writer, cpu string, i int, blocks []*block) {
	least, time := 0.0, 0.0
	lowest := (*block)(nil)
	for _, b := range blocks {
		if b.cycles == nil || b.flops <= 0 {
			continue
		}
		least += float64(b.flops) * b.limits[i]
		time += float64(b.flops) * b.cycles[i].taken
		if lowest == nil || b.share(i) < lowest.share(i) {
			lowest = b
		}
	}
	if lowest != nil {
		fmt.Fprintf(out, "%s: %.0f %% of the limit over all these blocks; least %.0f %%, block %d\n", cpu, 100*least/time, lowest.share(i), lowest.number)
	}
}

// failures returns an error if a block does not reach the wanted share of a limit.
func failures(o *options, blocks []*block) error {
	var short []string
	for _, b := range blocks {
		for i, cpu := range o.cpus {
			if b.cycles != nil && b.share(i) < o.atLeast {
				short = append(short, fmt.Sprintf("block %d on %s: %.0f %%", b.number, cpu, b.share(i)))
			}
		}
	}
	if short == nil {
		return nil
	}
	return fmt.Errorf("less than %g %% of the limit:\n  %s", o.atLeast, strings.Join(short, "\n  "))
}

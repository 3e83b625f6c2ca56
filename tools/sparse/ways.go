package main

import (
	"fmt"
)

// way is how a layer is computed: a column of the table.
type way struct {
	name    string
	pruning pruning
	disable string // switches of dnnc
	tuned   bool   // takes the kernels that measure best, not those with the best estimates
	threads int
	// precision is the type in which the network is stored.
	precision string
}

// single is the precision of the models.
const single = "fp32"

// ways returns the requested ways; the dense ones, direct and with Winograd, are first.
func (o *options) ways() []way {
	var out []way
	add := func(name string, p pruning, disable string, tuned bool) {
		for _, n := range o.threads {
			own := name
			if len(o.threads) > 1 {
				own += fmt.Sprintf(", threads: %d", n)
			}
			out = append(out, way{own, p, disable, tuned, n, single})
		}
	}
	addStored := func(name string, p pruning) {
		for _, precision := range o.precisions {
			first := len(out)
			if precision == single {
				add(name, p, "", false)
				continue
			}
			add(name+", "+precision, p, "", false)
			for i := range out[first:] {
				out[first+i].precision = precision
			}
		}
	}
	add("dense, direct", pruning{}, "winograd", false)
	add("dense", pruning{}, "", false)
	for _, share := range o.shares {
		for _, n := range o.patterns {
			p := pruning{n, o.connectivity, share}
			name := "own patterns"
			if share > 1 {
				name = fmt.Sprintf("shared by %d", share)
			}
			if len(o.patterns) > 1 {
				name += fmt.Sprintf(", %d", n)
			}
			if !o.ablation {
				addStored(name, p)
				continue
			}
			if share == 1 { // PatDNN Figure 2.13
				add(name+", as given", p, "reorder,reuse", false)
				add(name+", reordered", p, "reuse", false)
			}
			add(name, p, "", false)
			if share == 1 {
				add(name+", tuned", p, "", true)
			}
			add(name+", poolings by themselves", p, "pooled", false)
		}
	}
	return out
}

package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// variantOptions selects the networks with variants; nil selects none.
type variantOptions struct {
	// without are parts that `dnnc compile --disable` switches off, one at a time, for the networks
	// of of.
	without []string
	of      *regexp.Regexp
	half    *regexp.Regexp // stored in 16 bits
	pruned  *regexp.Regexp // with PatDNN's rates
}

// parse reads flags.
func (o *variantOptions) parse(without, of, half, pruned string) error {
	if without != "" {
		o.without = strings.Split(without, ",")
	}
	for _, x := range []struct {
		to   **regexp.Regexp
		text string
	}{{&o.of, of}, {&o.half, half}, {&o.pruned, pruned}} {
		r, err := regexp.Compile(x.text)
		if err != nil {
			return err
		}
		*x.to = r
	}
	return nil
}

// shares are how many filters of a pruned network share what they keep, 1 for patterns of their
// own.
var shares = []int{16, 1}

// variants returns a network and its variants.
func (o *variantOptions) variants(n *network) []*network {
	all := []*network{n}
	add := func(variant, torch string, change func(*network)) {
		v := *n
		v.Variant, v.Type, v.Options = variant, torch, slices.Clone(n.Options)
		v.Program = n.Program + "_" + strings.NewReplacer(", ", "_", " ", "_").Replace(variant)
		change(&v)
		all = append(all, &v)
	}
	for _, part := range o.without {
		if matches(o.of, n.Program) {
			add("without "+part, "", func(v *network) { v.Options = append(v.Options, "--disable="+part) })
		}
	}
	if matches(o.half, n.Program) {
		add("fp16", "half", func(v *network) { v.Options = append(v.Options, "--precision=fp16") })
	}
	if matches(o.pruned, n.Program) {
		for _, share := range shares {
			// 8 patterns of 4 taps, and 3.6 times fewer kernels, as PatDNN's VGG-16 (2.6). A
			// network of one layer has no first one.
			settings := fmt.Sprintf(`{"patterns": 8, "connectivity": 3.6, "share": %d, "exempt_first": %t}`, share, !layer.MatchString(n.Name))
			add(fmt.Sprintf("pruned, share %d", share), "", func(v *network) { v.Pruning = settings })
			// Tiles of work-groups leave out what groups of filters share; without them each
			// work-item sums over what is stored.
			add(fmt.Sprintf("pruned, share %d, without shared", share), "", func(v *network) {
				v.Pruning, v.Options = settings, append(v.Options, "--disable=shared")
			})
		}
	}
	return all
}

// layer is the name of a network that is one layer of another one.
var layer = regexp.MustCompile(`_L[0-9]+$`)

func matches(r *regexp.Regexp, name string) bool { return r != nil && r.MatchString(name) }

package fuse

import (
	"math"
	"slices"

	"rules_dnn/gen/fusion/block"
)

// Estimator prices blocks, in any unit. A price is +Inf if no kernel is known.
type Estimator interface {
	// Alone returns the price of a block whose values are row-major.
	Alone(*block.Block) float64
	// Shared returns the price of a block by kernels whose workers share what they read or sum.
	Shared(*block.Block) float64
	// Together returns the price of blocks in turn, in the layouts that suit them best.
	Together([]*block.Block) float64
	// Memory returns the price of bytes that are stored and read again, beyond what estimates of
	// blocks count: 0 if caches hold them.
	Memory(bytes float64) float64
	// Queued returns the part of a launch's price that passes while the device computes the kernel
	// before.
	Queued() float64
	// Splits returns the ways to compute a block as several blocks.
	Splits(*block.Block) [][]*block.Block
}

// Unpriced knows no kernel.
type Unpriced struct{}

// Alone returns +Inf.
func (Unpriced) Alone(*block.Block) float64 { return math.Inf(1) }

// Shared returns +Inf.
func (Unpriced) Shared(*block.Block) float64 { return math.Inf(1) }

// Together returns +Inf.
func (Unpriced) Together([]*block.Block) float64 { return math.Inf(1) }

// Memory returns 0.
func (Unpriced) Memory(float64) float64 { return 0 }

// Queued returns 0.
func (Unpriced) Queued() float64 { return 0 }

// Splits returns nil.
func (Unpriced) Splits(*block.Block) [][]*block.Block { return nil }

// Rule is a way to rewrite blocks. It has one of pair, graph and block.
type Rule struct {
	// Name disables the rule in Options.Off. Doc describes it for people.
	Name, Doc string
	// Needs are names of parts of the compiler without which the rule is off.
	Needs []string
	// pair fuses two blocks. All rules with pairs are applied to a fixed point.
	pair *composition
	// graph rewrites a graph. It returns the number of rewrites.
	graph func(*fuser) int
	// block returns the blocks that replace one, or nil. A block is replaced by the first such
	// rule.
	block func(*fuser, *block.Block) []*block.Block
}

// Applied is how often a rule was applied.
type Applied struct {
	Name  string
	Times int
}

// composition is a way to fuse a first block into a second one. DNNFusion's table 3.3 decides which
// pairs pay.
type composition struct {
	// despite reports that it is an exception to the table, which pays whatever the colour.
	despite bool
	// places reports that the first block's stages stay stages that the second one loads from.
	places bool
	// legal reports that the pair can be fused without repeating work.
	legal func(f *fuser, p pair) bool
	// fuse is the two as one; nil where an index of it would be too long to write.
	fuse func(f *fuser, p pair) *block.Block
}

// rules in the order in which they are applied.
var rules = []Rule{
	{
		Name: "spread", Doc: "data movement repeated for each data movement that reads it", Needs: []string{"moves"},
		graph: spread,
	},
	{
		Name: "unpacked", Doc: "weights of 4 bits unpacked by the products that read them",
		pair: &composition{despite: true, legal: weightsLegal, fuse: inlineProducer},
	},
	{
		Name: "inlined", Doc: "operators computed where their only reader loads them",
		pair: &composition{legal: producerLegal, fuse: inlineProducer},
	},
	{
		Name: "appended", Doc: "operators computed where what they read is stored",
		pair: &composition{legal: consumerLegal, fuse: appendConsumer},
	},
	{
		Name: "chains", Doc: "row-wise reduction fusion (softmax, normalisations) as one block", Needs: []string{"anchors"},
		pair: &composition{despite: true, places: true, legal: chainLegal, fuse: placeProducer},
	},
	{
		Name: "attention", Doc: "a softmax and the products around it as one kernel, with a running maximum and sum",
		Needs: []string{"anchors", "chains"}, graph: attend,
	},
	{
		Name: "transforms", Doc: "Winograd convolutions of devices as three kernels", Needs: []string{"anchors", "winograd"},
		block: (*fuser).split,
	},
	{
		Name: "repeated", Doc: "convolutions of several filters for each channel that read a copy with repeated channels",
		Needs: []string{"anchors", "windows"}, block: (*fuser).repeatChannels,
	},
	{Name: "parts", Doc: "long sums of few results in parts, which a second kernel joins", block: (*fuser).inParts},
	{
		Name: "productparts", Doc: "long sums of few products in parts, which a second kernel joins",
		block: (*fuser).productInParts,
	},
}

// Rules returns the rules in the order in which they are applied.
func Rules() []Rule { return rules }

// on reports whether a rule is enabled, by its place.
func (f *fuser) on(rule int) bool {
	off := f.o.Off
	return off == nil || !off(rules[rule].Name) && !slices.ContainsFunc(rules[rule].Needs, off)
}

// run applies all rules.
func (f *fuser) run() {
	pairs := slices.IndexFunc(rules, func(r Rule) bool { return r.pair != nil })
	blocks := slices.IndexFunc(rules, func(r Rule) bool { return r.block != nil })
	for i, r := range rules {
		switch {
		case i == pairs:
			f.compose()
		case i == blocks:
			f.replaceEach()
		case r.graph != nil && f.on(i):
			f.applied[i] += r.graph(f)
		}
	}
}

// replaceEach replaces blocks by the first rule that does.
func (f *fuser) replaceEach() {
	var out []*block.Block
	for _, b := range f.g.Blocks {
		out = append(out, f.replaced(b)...)
	}
	f.g.Blocks = out
}

func (f *fuser) replaced(b *block.Block) []*block.Block {
	for i, r := range rules {
		if r.block == nil || !f.on(i) {
			continue
		}
		if all := r.block(f, b); all != nil {
			f.applied[i]++
			return all
		}
	}
	return []*block.Block{b}
}

package quant

import (
	"errors"
	"math"
	"slices"

	"rules_dnn/gen/graph/passes/edit"
	"rules_dnn/gen/ir"
)

// rounds are how often all pairs are equalised: those of a chain change each other's ranges.
const rounds = 20

// pair are two products, of which the first computes what only the second reads, with nothing or a Relu between.
type pair struct{ first, second *ir.Node }

// Equalize makes the ranges of channels of neighbouring layers alike: what the weights of one are divided by, those of the next are multiplied by (Nagel et
// al., "Data-Free Quantization Through Weight Equalization and Bias Correction", 4.1). The network computes the same. It
// does nothing unless the settings ask for it.
func Equalize(g *ir.Graph, s Settings) error {
	if !s.Equalize {
		return nil
	}
	pairs := equalizable(g, s)
	constants := map[*ir.Value][]float64{}
	for _, p := range pairs {
		for _, n := range []*ir.Node{p.first, p.second} {
			for _, v := range []*ir.Value{n.Inputs[1], n.Input(2)} {
				if v == nil || constants[v] != nil {
					continue
				}
				xs, err := edit.Floats(v.Const)
				if err != nil {
					return n.Errorf("%w", err)
				}
				if slices.ContainsFunc(xs, func(x float64) bool { return math.IsNaN(x) || math.IsInf(x, 0) }) {
					return n.Errorf("%w", errors.New("its weights are not all finite: leave the node float"))
				}
				constants[v] = xs
			}
		}
	}
	for range rounds {
		for _, p := range pairs {
			p.equalize(constants)
		}
	}
	for v, xs := range constants {
		v.Const = edit.FloatTensor(ir.F32, xs, v.Const.Shape...)
	}
	return nil
}

// equalizable are the pairs of convolutions whose weights nothing else reads.
func equalizable(g *ir.Graph, s Settings) []pair {
	uses, reader := edit.Uses(g), map[*ir.Value]*ir.Node{}
	for _, n := range g.Nodes {
		for _, v := range n.Inputs {
			reader[v] = n
		}
	}
	own := func(n *ir.Node) bool {
		if n.Op != "Conv" || s.float(n) {
			return false
		}
		for i, v := range n.Inputs[1:] {
			if v != nil && (v.Const == nil || v.Type != ir.F32 || uses[v] != 1 || i > 1) {
				return false
			}
		}
		return true
	}
	var out []pair
	for _, n := range g.Nodes {
		if !own(n) || uses[n.Outputs[0]] != 1 {
			continue
		}
		next := reader[n.Outputs[0]]
		if next != nil && next.Op == "Relu" && uses[next.Outputs[0]] == 1 {
			next = reader[next.Outputs[0]]
		}
		if next == nil || !own(next) || next.Inputs[0].Const != nil {
			continue
		}
		filters, each := n.Inputs[1].Const.Shape[0], next.Inputs[1].Const.Shape[1]
		if groups := next.Int("group", 1); groups == 1 && each == filters || groups == filters && each == 1 && next.Inputs[1].Const.Shape[0] == filters {
			out = append(out, pair{n, next})
		}
	}
	return out
}

// equalize scales each channel between both layers by s = sqrt(r1/r2): both ranges become sqrt(r1*r2).
func (p pair) equalize(constants map[*ir.Value][]float64) {
	first, second := p.first.Inputs[1], p.second.Inputs[1]
	axis := 1
	if p.second.Int("group", 1) > 1 {
		axis = 0
	}
	channels := first.Const.Shape[0]
	a, b := channelOf(first.Const, 0), channelOf(second.Const, axis)
	r1, r2 := ranges(constants[first], channels, a), ranges(constants[second], channels, b)
	scales := make([]float64, channels)
	for c := range scales {
		if scales[c] = math.Sqrt(r1[c] / r2[c]); !(scales[c] > 1e-8 && scales[c] < 1e8) {
			scales[c] = 1 // of channels that are zero on a side there is nothing to gain
		}
	}
	for i := range constants[first] {
		constants[first][i] /= scales[a(int64(i))]
	}
	if bias := p.first.Input(2); bias != nil {
		for c := range constants[bias] {
			constants[bias][c] /= scales[c]
		}
	}
	for i := range constants[second] {
		constants[second][i] *= scales[b(int64(i))]
	}
}

// ranges are the greatest magnitudes by channel.
func ranges(xs []float64, channels int64, channel func(int64) int64) []float64 {
	out := make([]float64, channels)
	for i, x := range xs {
		c := channel(int64(i))
		out[c] = max(out[c], math.Abs(x))
	}
	return out
}

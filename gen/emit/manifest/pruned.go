package manifest

import (
	"fmt"
	"slices"
	"strings"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/kernel/fkw"
	"rules_dnn/gen/kernel/sched"
	"rules_dnn/gen/program/plan"
)

// Pruning describes the pruned layers of a network and their kernels.
type Pruning struct {
	Retrained   bool          `json:"retrained"`    // whether the weights were trained with the masks
	Layers      int           `json:"layers"`       // the number of pruned layers
	Weights     int64         `json:"weights"`      // the number of their weights before pruning
	KeptWeights int64         `json:"kept_weights"` // the number of weights that are kept
	MACs        int64         `json:"macs"`         // multiply-adds on one image before pruning; 0: not known
	KeptMACs    int64         `json:"kept_macs"`    // multiply-adds with the kept weights; 0: not known
	Kernels     string        `json:"kernels"`      // a description of the kernels that compute pruned layers
	Chosen      []PrunedLayer `json:"chosen"`       // the kernels of each pruned layer
}

// PrunedLayer is a pruned layer and the blocks that compute it; no blocks if another node replaced
// it.
type PrunedLayer struct {
	Weights string        `json:"weights"`          // the name of the layer's weights
	Node    string        `json:"node"`             // the node that reads them
	Packed  bool          `json:"packed,omitempty"` // whether packed storage was requested, even if other kernels are faster
	Blocks  []PrunedBlock `json:"blocks"`           // the blocks that compute the layer
}

// PrunedBlock is a block that computes a pruned layer.
type PrunedBlock struct {
	Kernel string `json:"kernel"` // the block's function
	// The condition under which this kernel runs, if there are several.
	Where string `json:"where,omitempty"`
	// Whether it runs on the device beside the chip.
	Device bool `json:"device,omitempty"`
	// The storage format of the weights; absent if they are stored like dense weights, zeros
	// included.
	Encoding string `json:"encoding,omitempty"`
	// Whether nodes of several pruned layers have the same label, so that the block's layer is not
	// known.
	Ambiguous bool  `json:"ambiguous,omitempty"`
	Cycles    int64 `json:"cycles"` // estimated cycles
}

// pruning is what a program says of it; nil: nothing.
func pruning(p *plan.Program) (*Pruning, error) {
	x := p.Pruning
	if x == nil {
		return nil, nil
	}
	chosen, err := Chosen(p)
	return &Pruning{x.Retrained, x.Layers, x.Weights, x.KeptWeights, x.MACs, x.KeptMACs, x.Kernels, chosen}, err
}

// Chosen are the pruned layers of a program and what computes them.
func Chosen(p *plan.Program) ([]PrunedLayer, error) {
	out, at := []PrunedLayer{}, map[string][]int{} // by the node's label, which several may have: names of nodes need not differ
	for i, l := range p.Pruning.Pruned {
		out = append(out, PrunedLayer{Weights: l.Weights, Node: l.Node, Packed: l.Packed, Blocks: []PrunedBlock{}})
		at[l.Node] = append(at[l.Node], i)
	}
	guards := p.Guards()
	add := func(c *plan.Call, device bool) error {
		for _, origin := range c.Block.Origins {
			layers := layersOf(c, out, at[origin])
			if len(layers) == 0 {
				continue
			}
			b, err := prunedBlock(c)
			if err != nil {
				return err
			}
			if g, some := guards[c]; some {
				b.Where = g.String()
			}
			b.Device, b.Ambiguous = device, len(layers) > 1
			for _, i := range layers {
				out[i].Blocks = append(out[i].Blocks, b)
			}
		}
		return nil
	}
	for _, c := range p.Calls() {
		if err := add(c, false); err != nil {
			return nil, err
		}
	}
	for _, l := range p.Launches() {
		if err := add(l.Call, true); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// layersOf returns which of several layers with the same label a call computes. These are the layers
// whose weights it reads, packed or not. If it reads no weights by their names, because passes
// renamed them, layersOf returns all.
func layersOf(c *plan.Call, layers []PrunedLayer, same []int) []int {
	if len(same) < 2 {
		return same
	}
	var out []int
	for _, i := range same {
		var names []string
		for _, stored := range []string{"", "." + ir.F16.String(), "." + ir.BF16.String()} { // in a precision of 16 bits
			name := layers[i].Weights + stored
			names = append(names, name, name+".packed", name+fkw.KeptPoints)
		}
		if slices.ContainsFunc(slices.Concat(c.Block.Operands, c.Args, c.Over), func(v *ir.Value) bool {
			return v.Const != nil && slices.Contains(names, v.Name)
		}) {
			out = append(out, i)
		}
	}
	if out == nil {
		return same
	}
	return out
}

func prunedBlock(c *plan.Call) (PrunedBlock, error) {
	b := PrunedBlock{Kernel: c.Function, Cycles: int64(c.Cycles)}
	if c.Schedule == "" {
		return b, nil
	}
	s, err := sched.Parse(c.Schedule)
	if err != nil {
		return b, err
	}
	var encodings []string
	for _, v := range s.Values {
		if v.Encoding != "" {
			encodings = append(encodings, v.Encoding)
		}
	}
	for _, v := range c.Args {
		dims, known := v.Static()
		if n := len(dims); known && n > 1 && v.Const != nil && strings.HasSuffix(v.Name, fkw.KeptPoints) { // networks give names of any kind
			encodings = append(encodings, fmt.Sprintf("%d points shared by %d", dims[n-2], dims[n-1]))
		}
	}
	b.Encoding = strings.Join(encodings, "; ")
	return b, nil
}

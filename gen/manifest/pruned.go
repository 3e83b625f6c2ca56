package manifest

import (
	"fmt"
	"slices"
	"strings"

	"rules_dnn/gen/fkw"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/plan"
	"rules_dnn/gen/sched"
)

// Pruning is how many weights and multiply-adds (on one image; 0: not known) of a pruned network are left, and what computes its layers.
type Pruning struct {
	Retrained   bool          `json:"retrained"`    // the weights were trained with the masks
	Layers      int           `json:"layers"`       // that are pruned
	Weights     int64         `json:"weights"`      // of these layers
	KeptWeights int64         `json:"kept_weights"` // that are left
	MACs        int64         `json:"macs"`         // on one image; 0: not known
	KeptMACs    int64         `json:"kept_macs"`    // that are left
	Kernels     string        `json:"kernels"`      // what computes pruned layers, for people
	Chosen      []PrunedLayer `json:"chosen"`       // what computes each of them
}

// PrunedLayer is a pruned layer, and the blocks that compute it: none where another node took its place.
type PrunedLayer struct {
	Weights string        `json:"weights"`          // their name
	Node    string        `json:"node"`             // that reads them
	Packed  bool          `json:"packed,omitempty"` // asked for, even if other kernels are faster
	Blocks  []PrunedBlock `json:"blocks"`           // that compute it
}

// PrunedBlock is one of the blocks that compute a layer.
type PrunedBlock struct {
	Kernel string `json:"kernel"` // its function
	// Where says in which runs, of several kernels.
	Where string `json:"where,omitempty"`
	// Device reports whether the device beside the chip computes it.
	Device bool `json:"device,omitempty"`
	// Encoding is how the weights are stored; left out where they are as the network has them, zeros too.
	Encoding string `json:"encoding,omitempty"`
	// Ambiguous reports that nodes of several pruned layers have the same label, and that it is not known whose the block is.
	Ambiguous bool  `json:"ambiguous,omitempty"`
	Cycles    int64 `json:"cycles"` // estimated
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

// layersOf are those of the layers of one label that a call computes: of several those whose weights it reads, as they are or packed, and all
// where it reads none by name, as other passes rename weights.
func layersOf(c *plan.Call, layers []PrunedLayer, same []int) []int {
	if len(same) < 2 {
		return same
	}
	var out []int
	for _, i := range same {
		name := layers[i].Weights
		if slices.ContainsFunc(slices.Concat(c.Block.Operands, c.Args, c.Over), func(v *ir.Value) bool {
			return v.Const != nil && (slices.Contains([]string{name, name + ".packed", name + fkw.KeptPoints}, v.Name))
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

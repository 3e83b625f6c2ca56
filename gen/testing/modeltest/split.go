package modeltest

import (
	"fmt"
	"math/rand/v2"

	"rules_dnn/gen/fusion/block"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/kernel/layout"
	"rules_dnn/gen/pipeline"
	"rules_dnn/gen/program/plan"
)

// Split is how the blocks of a program for two targets are divided.
type Split uint8

// Splits.
const (
	// Priced blocks run where estimates say.
	Priced Split = iota
	// Alternating blocks run on the device, the host, the device, ...
	Alternating
	// Scattered blocks run where a random number says.
	Scattered
	// Devoted blocks run on the device where that is possible.
	Devoted
)

// Splits are all.
var Splits = []Split{Priced, Alternating, Scattered, Devoted}

// String names the split in messages.
func (s Split) String() string {
	return []string{"priced", "alternating", "scattered", "devoted"}[s]
}

// elsewhere is more than any network takes, so that a block runs where it does not have this price.
const elsewhere = 1e15

// Price gives each block that may run anywhere a space.
func (s Split) Price(seed uint64) func(*block.Block, layout.Space) float64 {
	if s == Priced {
		return nil
	}
	r := rand.New(rand.NewPCG(seed, uint64(s)))
	at := map[*block.Block]layout.Space{}
	return func(b *block.Block, space layout.Space) float64 {
		if _, known := at[b]; !known {
			onDevice := s == Devoted || s == Alternating && len(at)%2 == 0 || s == Scattered && r.IntN(2) == 0
			if at[b] = layout.Host; onDevice {
				at[b] = layout.Device
			}
		}
		if at[b] == space {
			return 0
		}
		return elsewhere
	}
}

// CompileSplit runs all passes on a graph for a chip and a device beside it.
func CompileSplit(g *ir.Graph, c Config, device string, s Split, seed uint64) (*plan.Program, error) {
	host, err := Chip(c.Chip)
	if err != nil {
		return nil, err
	}
	beside, err := Chip(device)
	if err != nil {
		return nil, err
	}
	return compile(&pipeline.State{Graph: g, Target: host, Device: beside, Price: s.Price(seed)}, c.Disable)
}

// RunSplit compiles a graph for two targets and runs it on inputs by name.
func RunSplit(g *ir.Graph, c Config, device string, s Split, seed uint64, inputs map[string]*ir.Tensor) (*plan.Program, []*ir.Tensor, error) {
	p, err := CompileSplit(g, c, device, s, seed)
	if err != nil {
		return nil, nil, err
	}
	for _, v := range p.Inputs {
		if inputs[v.Name] == nil {
			return nil, nil, fmt.Errorf("no input %q", v.Name)
		}
	}
	out, err := runTexts(p, InputsOf(p, inputs))
	return p, out, err
}

// Package weights stores constant weights as kernels read them: packed in the order of tiles, in 16 bits, or without those that were pruned.
package weights

import "rules_dnn/gen/ir"

// Packing is how a contraction reads its constant weights: in groups of result channels, those of a point of the sum side by
// side. Kernels of equal packings read the same bytes, whatever their tiles are: a tile may have a part of a group's
// channels.
type Packing struct {
	Lanes, Groups int64 // channels of a group; groups of each of a convolution's groups
	// Type is the one that they are stored in: 16 bits where the processor widens them as it loads them.
	Type ir.DType
	// Winograd's: results of a transform along an axis, and parts of the groups that lie side by side at each point. 0 and 1 elsewhere.
	Results int
	Parts   int64
	// Kept is the encoding of weights of which only those are stored that were not pruned, "" of all others.
	Kept string
}

// Holds reports whether the weights' groups are made of whole tiles of so many channels.
func (p *Packing) Holds(lanes int64) bool { return p == nil || p.Lanes%lanes == 0 }

// Of reports whether the weights are of a type.
func (p *Packing) Of(t ir.DType) bool { return p == nil || p.Type == t }

// Apart reports whether the weights can be read as groups of one register each, so many of them.
func (p *Packing) Apart(lanes, groups int64) bool {
	return p == nil || p.Lanes == lanes && p.Groups == groups
}

// Transformed reports whether the weights are Winograd's.
func (p *Packing) Transformed() bool { return p != nil && p.Results > 0 }

// Packed reports whether of pruned weights nothing else is stored, as they are. Where they are transformed, a kernel of which one tap is kept takes as much
// as one that keeps all.
func (p *Packing) Packed() bool { return p != nil && p.Kept != "" && !p.Transformed() }

// Transforms reports whether the weights are transformed for so many results, 0 being not at all; nil may become either.
func (p *Packing) Transforms(results int) bool {
	return p == nil || p.Results == results && p.Kept == ""
}

package page

import (
	"fmt"

	"rules_dnn/gen/fkw"
	"rules_dnn/gen/winograd"
)

// Chosen is what computes a network's pruned layers on a chip.
type Chosen struct {
	Chip   string
	Layers map[string][]Block // by the name of the weights
}

// Block is one of the blocks that compute a layer.
type Block struct {
	Where    string // in which runs, of several kernels
	Device   bool   // beside the chip
	Encoding string // of the weights; "": as the network has them
	Cycles   int64  // estimated
}

// How says what a block makes of weights that were dropped.
func (b Block) How() string {
	e, err := fkw.Parse(b.Encoding)
	switch {
	case b.Encoding == "":
		return "dense"
	case winograd.Names(b.Encoding):
		return "dense, " + b.Encoding
	case err != nil: // two encodings, say
		return b.Encoding
	case e.Planes > 0:
		return fmt.Sprintf("Winograd at %d points, %d kernels that %d filters share", e.Planes, e.Kernels, e.Share)
	case e.Share > 1:
		return fmt.Sprintf("FKW, %d kernels that %d filters share", e.Kernels, e.Share)
	}
	return fmt.Sprintf("FKW, %d kernels", e.Kernels)
}

// sparse reports whether a block leaves weights out.
func (b Block) sparse() bool {
	_, err := fkw.Parse(b.Encoding)
	return err == nil
}

// Sparse is how many layers leave out weights that were dropped, in some runs at least.
func (c *Chosen) Sparse() int {
	n := 0
	for _, blocks := range c.Layers {
		for _, b := range blocks {
			if b.sparse() {
				n++
				break
			}
		}
	}
	return n
}

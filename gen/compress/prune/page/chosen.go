package page

import (
	"fmt"

	"rules_dnn/gen/kernel/fkw"
	"rules_dnn/gen/kernel/winograd"
)

// Chosen lists the blocks that compute a network's pruned layers on a chip.
type Chosen struct {
	Chip   string
	Layers map[string][]Block // by the name of the weights
}

// Block is a block that computes a layer.
type Block struct {
	Where    string // the condition, if there are several kernels
	Device   bool   // runs on the device beside the chip
	Encoding string // of the weights; "": stored like dense weights
	Cycles   int64  // estimated
}

// How describes how a block stores and computes with dropped weights.
func (b Block) How() string {
	e, err := fkw.Parse(b.Encoding)
	switch {
	case b.Encoding == "":
		return "dense"
	case winograd.Names(b.Encoding):
		return "dense, " + b.Encoding
	case err != nil: // for example two encodings
		return b.Encoding
	case e.Planes > 0:
		return fmt.Sprintf("Winograd at %d points, %d kernels that %d filters share", e.Planes, e.Kernels, e.Share)
	case e.Share > 1:
		return fmt.Sprintf("FKW, %d kernels that %d filters share", e.Kernels, e.Share)
	}
	return fmt.Sprintf("FKW, %d kernels", e.Kernels)
}

// sparse reports whether a block skips weights.
func (b Block) sparse() bool {
	_, err := fkw.Parse(b.Encoding)
	return err == nil
}

// Sparse returns the number of layers that skip dropped weights, at least in some runs.
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

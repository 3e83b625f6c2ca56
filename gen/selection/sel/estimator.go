package sel

import (
	"crypto/sha256"

	"rules_dnn/gen/fusion/block"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/target"
)

// Estimator estimates blocks while what is known of symbols stays as it is: blocks that are equal up to names are estimated once. A network has the same
// layer many times, and fusion asks for each pair that it looks at.
type Estimator struct {
	facts         sym.Facts
	t             *target.Target
	o             Options
	keys          *selector // which gives blocks' keys
	alone, shared map[[sha256.Size]byte]float64
}

// NewEstimator is one for a target.
func NewEstimator(f sym.Facts, t *target.Target, o Options) *Estimator {
	return &Estimator{facts: f, t: t, o: o, keys: newSelector(&block.Graph{Facts: f}, t, o), alone: map[[sha256.Size]byte]float64{}, shared: map[[sha256.Size]byte]float64{}}
}

// Alone is what Estimate gives.
func (e *Estimator) Alone(b *block.Block) float64 { return e.once(e.alone, b, Estimate) }

// Shared is what EstimateShared gives.
func (e *Estimator) Shared(b *block.Block) float64 { return e.once(e.shared, b, EstimateShared) }

func (e *Estimator) once(known map[[sha256.Size]byte]float64, b *block.Block, estimate func(*block.Block, sym.Facts, *target.Target, Options) float64) float64 {
	key, err := e.keys.key(b)
	if err != nil { // what is wrong with a constant is told by who makes the kernel
		return estimate(b, e.facts, e.t, e.o)
	}
	digest := sha256.Sum256([]byte(key))
	cycles, is := known[digest]
	if !is {
		cycles = estimate(b, e.facts, e.t, e.o)
		known[digest] = cycles
	}
	return cycles
}

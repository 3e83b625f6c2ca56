package sel

import (
	"crypto/sha256"
	"math"

	"rules_dnn/gen/fusion/block"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/kernel/cost"
	"rules_dnn/gen/propose"
	"rules_dnn/gen/propose/lower"
	"rules_dnn/gen/target"
)

// Estimator prices blocks for rules of fusion, in cycles. Blocks that are equal up to names are estimated once: a network has the same
// layer many times, and fusion asks for each pair that it looks at.
type Estimator struct {
	facts         sym.Facts
	t             *target.Target
	o             Options
	transforms    []int64
	keys          *selector // which gives blocks' keys
	alone, shared map[[sha256.Size]byte]float64
}

// NewEstimator returns an estimator for a target, while what is known of symbols stays as it is. transforms has the results along each axis of
// the transforms that blocks may be split by.
func NewEstimator(f sym.Facts, t *target.Target, o Options, transforms []int64) *Estimator {
	return &Estimator{facts: f, t: t, o: o, transforms: transforms, keys: newSelector(&block.Graph{Facts: f}, t, o),
		alone: map[[sha256.Size]byte]float64{}, shared: map[[sha256.Size]byte]float64{}}
}

// Alone returns what Estimate returns.
func (e *Estimator) Alone(b *block.Block) float64 { return e.once(e.alone, b, Estimate) }

// Shared returns what EstimateShared returns.
func (e *Estimator) Shared(b *block.Block) float64 { return e.once(e.shared, b, EstimateShared) }

// Together returns what EstimateTogether returns, or +Inf for devices.
func (e *Estimator) Together(all []*block.Block) float64 {
	if e.t.WorkItems() {
		return math.Inf(1)
	}
	return EstimateTogether(all, e.facts, e.t, e.o)
}

// Memory returns the cycles of bytes that are stored and read again and that no cache holds.
func (e *Estimator) Memory(bytes float64) float64 { return cost.Again(e.t, bytes) }

// Queued returns the cycles of a launch that pass while the device computes the kernel before.
func (e *Estimator) Queued() float64 { return cost.Queued(e.t) }

// Splits returns the ways to compute a block as several blocks.
func (e *Estimator) Splits(b *block.Block) [][]*block.Block {
	return propose.Splits(b, lower.NewEnv(e.t, e.facts, e.o.Options), e.transforms)
}

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

// Package sel chooses a layout for every value and a kernel for every block, together.
//
// Each block has candidates: an assignment of layouts to its operands and results, and the
// cheapest kernel for it. Each value may be stored in one layout or, by a conversion,
// in several. One solver minimises the sum of both (architecture: "one choice, not four passes").
package sel

import (
	"fmt"
	"math"

	"rules_dnn/gen/fusion/block"
	"rules_dnn/gen/fusion/tuning"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/kernel/layout"
	"rules_dnn/gen/kernel/params"
	"rules_dnn/gen/propose"
	"rules_dnn/gen/propose/lower"
	"rules_dnn/gen/propose/weights"
	"rules_dnn/gen/selection/pbqp"
	"rules_dnn/gen/selection/perf"
	"rules_dnn/gen/target"
)

// Options switch parts off so that their effect can be measured.
type Options struct {
	lower.Options
	// Layouts are storage orders besides row-major.
	Layouts bool
	// Pooled computes poolings where the contractions are whose results they read, and EveryPool wherever a kernel does so, whatever it gains, for
	// tests.
	Pooled, EveryPool bool
	// Others are the other chips of the library, which have kernels of the same blocks.
	Others []*target.Target
	// Packed are the nodes, by their labels, whose weights are stored packed where a kernel does so, whatever it takes.
	Packed map[string]bool
	// Times are what a tuning record has measured on the chip, DeviceTimes on the device; nil: there is no record.
	Times, DeviceTimes tuning.Times
	// History and DeviceHistory are what was measured before of blocks of which Candidate is to be measured: their candidates are what a search finds
	// next.
	History, DeviceHistory tuning.Times
	// Candidate, from 1, computes each block by its k-th kernel in the layouts that estimates choose, or by
	// the first where it has fewer; 0: by the best.
	Candidate int
	// EveryVersion gives blocks versions for all small sizes, whatever these gain, for tests.
	EveryVersion bool
	// Device, where it is not nil, is a second target: a block runs on it or on the host, whichever is estimated to take less
	// with the transfers of values between their memory spaces.
	Device *target.Target
	// Price, where it is not nil, is added to the estimated cycles of a block in a space, for programs that want it to run
	// somewhere.
	Price func(b *block.Block, space layout.Space) float64
	// Images says which values are in texture memory, of those that can be.
	Images ImageUse
	// Stored, where it is not nil, gives the layout in which a value is to be stored wherever a kernel can have it so, for
	// programs that want one.
	Stored func(v *ir.Value) (layout.Layout, bool)
}

// ImageUse says which values are images where a target has texture memory: those for which estimates say so or, to measure what that gains, none, or
// all that can be.
type ImageUse int

// The uses.
const (
	ChosenImages ImageUse = iota
	NoImages
	OnlyImages
)

// Views reports whether values may lie in others: what is concatenated in the result, parts in the whole.
func (o Options) Views(t *target.Target) bool { return o.Layouts && t.Views() }

// Choice is the result: layouts by value, and the kernel of each block that has a stage.
type Choice struct {
	Layouts map[*ir.Value]layout.Layout
	Kernels map[*block.Block]Kernel
	// Others are the kernels of a library's other variants, in their order, for the same layouts and views.
	Others []map[*block.Block]Kernel
	// Versions are what computes blocks where symbols are small, the smallest size first.
	Versions map[*block.Block][]*Version
	// Views are the blocks for which nothing is to be done: their operands lie in the result, or it lies in an operand.
	Views map[*block.Block][]View
	// Transfers are the blocks that copy a value to another space.
	Transfers map[*block.Block]bool
	// Conversions is how many of the blocks change a layout.
	Conversions int
	// Stale is what the tuning record says that is true no more, a line each.
	Stale []string
	// Learned is what the performance models of searches are, a line each.
	Learned []string
	// Solution tells the estimated cycles of all blocks, and their lower bound.
	Solution *pbqp.Solution
}

// Kernel is a block lowered, and its estimated cycles.
type Kernel struct {
	*lower.Lowered
	Cycles float64
	// on are those on each of several processors that may run it (target.Processors); nil: there is one.
	on []float64
	// Space is where it runs, and where its values lie.
	Space layout.Space
	// Tuning is nil where a block is neither in a record nor one of which candidates are asked for.
	Tuning *tuning.Choice
	// packable reports that a kernel of the block in these layouts packs its weights, this one or another.
	packable bool
	// given is what a tuning record proposes it from; nil: it is one that is proposed without.
	given *params.Point
	// SamePacking reports, of another variant's kernel, that it reads the constants as the choice's own kernel packs them.
	SamePacking bool
}

// Run chooses, and inserts conversions into the graph as blocks that copy.
func Run(g *block.Graph, t *target.Target, o Options) (*Choice, error) {
	s := newSelector(g, t, o)
	if o.Device != nil {
		if err := s.addDevice(o.Device); err != nil {
			return nil, err
		}
	}
	if err := s.enumerate(); err != nil {
		return nil, err
	}
	return s.solve()
}

func newSelector(g *block.Graph, t *target.Target, o Options) *selector {
	s := &selector{g: g, o: o, usual: Usual(g), costs: map[string]float64{}, copied: map[conversion]float64{}, classes: map[string]*class{}, classOf: map[*block.Block]*class{},
		runs: map[*ir.Value]float64{}, given: map[*ir.Value]bool{}, views: map[*block.Block]bool{},
		found: map[string]bool{}, stale: map[string]bool{}, next: map[string][]*params.Point{}}
	s.sides = []*side{s.newSide(layout.Host, t)}
	s.host().times, s.host().history = o.Times, o.History
	return s
}

// addDevice adds the second target.
func (s *selector) addDevice(t *target.Target) error {
	link, err := t.WorkGroups()
	if err != nil {
		return err
	}
	d := s.newSide(layout.Device, t)
	d.link, d.times, d.history = link, s.o.DeviceTimes, s.o.DeviceHistory
	s.sides = append(s.sides, d)
	return nil
}

// solve chooses among the candidates and applies the choice to the graph.
func (s *selector) solve() (*Choice, error) {
	solution, err := pbqp.Solve(s.problem(), pbqp.DefaultLimit)
	if err != nil {
		return nil, fmt.Errorf("choice of layouts: %w", err)
	}
	s.takeOut(solution)
	s.takeOver(solution)
	c := &Choice{Layouts: map[*ir.Value]layout.Layout{}, Kernels: map[*block.Block]Kernel{}, Views: map[*block.Block][]View{}, Transfers: map[*block.Block]bool{}, Solution: solution}
	if err := s.learn(func(add func(*block.Block, lower.Layouts) error) error {
		for i, b := range s.blocks {
			chosen := s.candidates[i][solution.Choice[i]]
			if chosen.view {
				continue
			}
			if err := add(b, chosen.layout); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		return nil, err
	}
	c.Learned = s.learned()
	s.apply(c, s.g, stored{})
	c.Stale = s.staleNotes()
	s.g.SyncOperands()
	if s.o.Pooled && s.o.Candidate == 0 && s.o.Device == nil {
		s.g.All(func(g *block.Graph) { s.pool(c, g) })
	}
	return c, nil
}

// Estimate is the cycles of a block whose values are all row-major; fusion compares with it. A block that no kernel computes
// so, or whose kernels cannot be made, takes forever: +Inf.
func Estimate(b *block.Block, f sym.Facts, t *target.Target, o Options) float64 {
	o.Times, o.History, o.Candidate, o.Device, o.Stored = nil, nil, 0, nil, nil // or what is measured would depend on what was
	s := newSelector(&block.Graph{Facts: f}, t, o)
	s.fusing = true
	if link, err := t.WorkGroups(); err == nil {
		s.host().link = link
	}
	k, err := s.cheapest(b, func(*ir.Value) layout.Layout { return layout.RowMajor })
	if err != nil || k.Lowered == nil {
		return math.Inf(1)
	}
	return k.Cycles
}

// EstimateTogether is the cycles of blocks one after the other in the layouts that suit them best, with conversions between them, whatever those are of what
// they read first and give last; +Inf where no kernels compute them.
func EstimateTogether(all []*block.Block, f sym.Facts, t *target.Target, o Options) float64 {
	o.Times, o.History, o.Candidate, o.Device, o.Stored = nil, nil, 0, nil, nil // as Estimate
	s := newSelector(&block.Graph{Facts: f, Blocks: all}, t, o)
	s.fusing = true
	if s.enumerate() != nil {
		return math.Inf(1)
	}
	solution, err := pbqp.Solve(s.problem(), pbqp.DefaultLimit)
	if err != nil {
		return math.Inf(1)
	}
	s.takeOver(solution)
	return solution.Cost
}

// EstimateShared is the cycles of a block whose values are all row-major by the work-groups of a device, whose items share what they read; +Inf where
// they compute no such block. Their own estimates know better than that of loops how few groups leave units without work.
func EstimateShared(b *block.Block, f sym.Facts, t *target.Target, o Options) float64 {
	link, err := t.WorkGroups()
	if err != nil {
		return estimateTasks(b, f, t, o)
	}
	d := &side{link: link}
	return d.cycles(propose.GroupCycles(b, lower.NewEnv(t, f, o.Options)))
}

// estimateTasks returns the cycles of the best kernel whose tasks share what they read: of attention.
// It returns +Inf if there is no such kernel.
func estimateTasks(b *block.Block, f sym.Facts, t *target.Target, o Options) float64 {
	least := math.Inf(1)
	all, err := propose.Sharing(b, lower.NewEnv(t, f, o.Options))
	if err != nil {
		return least // making the kernel reports the error
	}
	d := newSelector(&block.Graph{Facts: f}, t, o).host()
	for _, l := range all {
		if k, err := d.estimate(l); err == nil {
			least = min(least, k.Cycles)
		}
	}
	return least
}

// selector is the state of a run.
type selector struct {
	g     *block.Graph
	usual sym.Facts // as the symbols are for estimates
	o     Options
	sides []*side // by space: the host, then the device
	// blocks that have a stage, those of inner graphs included, and the candidates of each.
	blocks     []*block.Block
	candidates [][]candidate
	packing    *weights.Packing      // of the weights, where they are packed already
	space      *params.Space         // of point, where it is known
	point      *params.Point         // from which the only kernel is to be proposed, where it is given
	points     bool                  // kernels may read a part of the points of transformed weights
	fusing     bool                  // estimates decide what is fused
	placed     int                   // blocks that have been applied
	runs       map[*ir.Value]float64 // how often the graph runs that computes or gets a value, by an estimate
	interfaces []*ir.Value           // of graphs: stored row-major, besides blocked where given
	views      map[*block.Block]bool // such as may have nothing to do
	given      map[*ir.Value]bool    // interfaces that no block with a stage computes
	node       map[*ir.Value]int     // the value's node in the problem
	costs      map[string]float64    // of conversions, by what these depend on
	copied     map[conversion]float64
	classes    map[string]*class // by key
	classOf    map[*block.Block]*class
	model      *perf.Model                // of how long the host's kernels take; nil: estimates are
	found      map[string]bool            // keys of the tuning record, of any side, that blocks have
	stale      map[string]bool            // notes
	next       map[string][]*params.Point // to measure, by the blocks' keys in the record
}

// class is blocks that are equal up to names.
type class struct {
	best    []assigned        // of each assignment of layouts
	kernels map[string]Kernel // by layouts of the values
}

// candidate is a way to compute a block.
type candidate struct {
	layouts map[*ir.Value]layout.Layout // of operands and results that have more than one
	cycles  float64
	over    float64 // of the cycles those that it does not take, but counts
	kernel  string  // its name
	view    bool    // there is nothing to do
}

func (c candidate) layout(v *ir.Value) layout.Layout { return c.layouts[v] }

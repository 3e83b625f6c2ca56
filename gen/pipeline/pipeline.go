// Package pipeline is the list of passes, in order, with the reasons for the
// order. Dumping, stopping, timing and switching off hang on the list, never
// inside passes.
package pipeline

import (
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"rules_dnn/gen/fusion/block"
	"rules_dnn/gen/fusion/fuse"
	"rules_dnn/gen/fusion/tuning"
	"rules_dnn/gen/graph/passes/precision"
	"rules_dnn/gen/graph/samples"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/kernel/layout"
	"rules_dnn/gen/kernel/loop"
	"rules_dnn/gen/program/plan"
	"rules_dnn/gen/propose/weights"
	"rules_dnn/gen/selection/sel"
	"rules_dnn/gen/target"
)

// checkOrder reports where a list contradicts the order that its passes ask for.
func checkOrder(passes []Pass) error {
	at := map[string]int{}
	for i, p := range passes {
		if _, twice := at[p.Name]; twice {
			return fmt.Errorf("pass %s is listed twice", p.Name)
		}
		at[p.Name] = i
	}
	for i, p := range passes {
		for _, o := range p.After {
			k, known := at[o.Pass]
			switch {
			case !known:
				return fmt.Errorf("pass %s must run after %s, which is not in the list", p.Name, o.Pass)
			case k >= i:
				return fmt.Errorf("pass %s must run after %s: %s", p.Name, o.Pass, o.Why)
			case o.Why == "":
				return fmt.Errorf("pass %s runs after %s, but without a reason", p.Name, o.Pass)
			}
		}
	}
	return nil
}

// State is what passes work on: the graph, later its blocks, at last the program.
type State struct {
	Graph   *ir.Graph
	Blocks  *block.Graph
	Fused   []fuse.Applied // rules of fusion
	Choice  *sel.Choice
	Program *plan.Program
	Target  *target.Target
	// Others are the chips of the library's other variants: each block has a kernel for them, too, in the layouts that are best for Target,
	// the most capable one. OtherTimes are what the record says of them.
	Others     []*target.Target
	OtherTimes []tuning.Times
	// Device, where it is not nil, is a second target, which runs some of the blocks; Price and Stored are as in sel.Options.
	Device *target.Target
	Price  func(b *block.Block, space layout.Space) float64
	Stored func(v *ir.Value) (layout.Layout, bool)
	// Store is the type of 16 bits in which values and weights of f32 are stored, Invalid: as they are; Precision is what became of that. Where it is
	// bf16, instructions that sum products of bf16 in pairs may be used.
	Store ir.DType
	// SumHalves allows instructions that add products in f16 if values are stored in f16.
	SumHalves bool
	// Calibration are inputs that show which values leave the range of f16, if there are some.
	Calibration []samples.Input
	Precision   *precision.Report
	// Times and DeviceTimes are a tuning record's, and Candidate which of a block's kernels to take: see sel.Options.
	Times, DeviceTimes tuning.Times
	Candidate          int
	// Packed is as in sel.Options.
	Packed map[string]bool
	// SumParts is as in fuse.Options.
	SumParts int64
	// Winograd, where it is not 0, are the results along each axis of the transform by which a device computes all convolutions that it can, whatever
	// estimates say.
	Winograd int64
	// EveryVersion and EveryPool are as in sel.Options.
	EveryVersion, EveryPool bool
	off                     map[string]bool
	proofs                  loop.Proofs
	pruned                  *weights.Encodings
	sizes                   *weights.Magnitudes
}

// SetChips lets the library have kernels for several chips, the least capable first.
func (s *State) SetChips(all []*target.Target) error {
	all, err := target.Library(all)
	if err != nil {
		return err
	}
	s.Others, s.Target = all[:len(all)-1], all[len(all)-1]
	return nil
}

// Enabled reports whether a pass, or a part of one that can be switched off, is on.
func (s *State) Enabled(name string) bool { return !s.off[name] }

// Pass is a row of the list.
type Pass struct {
	Name string
	Doc  string
	// Required passes cannot be switched off.
	Required bool
	Run      func(*State) error
	// After are the passes that must stand before this one.
	After []Order
}

// Order is a pass that another one follows, and the reason.
type Order struct{ Pass, Why string }

// Run runs the passes in order. It returns false when StopAfter ended it early.
func Run(passes []Pass, s *State, o Options) (bool, error) {
	if err := o.Check(); err != nil {
		return false, err
	}
	if err := checkOrder(passes); err != nil {
		panic(err)
	}
	s.off = map[string]bool{}
	for _, d := range o.Disable {
		s.off[d] = true
	}
	if !s.Enabled("shared") {
		s.Target, s.Device = s.Target.Unshared(), s.Device.Unshared()
	}
	for i, p := range passes {
		if s.off[p.Name] {
			continue
		}
		if err := runOne(p, s, o.Time); err != nil {
			return false, err
		}
		if slices.Contains(o.Dump, p.Name) || slices.Contains(o.Dump, all) {
			if err := o.Emit(i, p.Name, s.text()); err != nil {
				return false, err
			}
		}
		if p.Name == o.StopAfter {
			return false, nil
		}
	}
	return true, nil
}

// Bug is what a bug of ours makes a pass panic with.
type Bug struct {
	Pass  string
	Value any
	Stack []byte
}

func (b *Bug) Error() string { return fmt.Sprintf("pass %s: %v", b.Pass, b.Value) }

// runOne names the pass in what a bug of ours makes it panic with.
func runOne(p Pass, s *State, w io.Writer) (err error) {
	defer func() {
		if x := recover(); x != nil {
			panic(&Bug{p.Name, x, debug.Stack()})
		}
	}()
	start := time.Now()
	if err := p.Run(s); err != nil {
		return fmt.Errorf("pass %s: %w", p.Name, err)
	}
	if err := s.verify(); err != nil {
		return fmt.Errorf("after pass %s: %w", p.Name, err)
	}
	if w != nil {
		fmt.Fprintf(w, "%-12s %8.1f ms\n", p.Name, float64(time.Since(start).Microseconds())/1e3)
	}
	return nil
}

// verify checks the last form that there is: the graph, its blocks, the choice of their kernels, or the program.
func (s *State) verify() error {
	if s.proofs == nil {
		s.proofs = loop.Proofs{}
	}
	switch {
	case s.Program != nil:
		return errors.Join(s.Program.Verify(s.proofs), s.room())
	case s.Choice != nil:
		return errors.Join(s.Blocks.Verify(), s.Choice.Verify(s.Blocks, s.proofs), s.room())
	case s.Blocks != nil:
		return s.Blocks.Verify()
	case s.Graph != nil:
		return ir.Verify(s.Graph)
	}
	return nil
}

func (s *State) text() string {
	var b strings.Builder
	switch {
	case s.Program != nil:
		b.WriteString(s.Program.String())
		b.WriteString(s.Program.KernelTexts())
	case s.Blocks != nil:
		for _, r := range s.Fused {
			fmt.Fprintf(&b, "rule %s: %d\n", r.Name, r.Times)
		}
		b.WriteString(s.Blocks.String())
		if s.Choice != nil {
			b.WriteString(s.Choice.Text(s.Blocks))
			b.WriteString(s.Choice.KernelTexts(s.Blocks))
		}
	case s.Graph != nil:
		if err := ir.Dump(&b, s.Graph); err != nil {
			return err.Error()
		}
	}
	return b.String()
}

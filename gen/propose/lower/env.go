// Package lower has what all proposers of kernels share: what lowering a block depends on (Env), what they propose (Proposal), and a
// kernel that is made when it is chosen (Lowered). Each kind of algorithm is a package below it, and package propose has the table of them.
package lower

import (
	"fmt"
	"strings"
	"sync"

	"rules_dnn/gen/fusion/block"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/kernel/follow"
	"rules_dnn/gen/kernel/layout"
	"rules_dnn/gen/kernel/loop"
	"rules_dnn/gen/kernel/params"
	"rules_dnn/gen/kernel/sched"
	"rules_dnn/gen/propose/micro"
	"rules_dnn/gen/propose/tidy"
	"rules_dnn/gen/propose/weights"
	"rules_dnn/gen/target"
)

// Options switch parts of the compiler off, and have what is looked for once in a run.
type Options struct {
	// Contractions are matrix products and convolutions in register tiles. Windows are depthwise convolutions in
	// register tiles, and pools whose guards bound their loops. Winograd is convolutions by Winograd's
	// algorithm. Vectors runs loops in vectors.
	Contractions, Windows, Winograd, Vectors bool
	// Pruned finds weights that were pruned; nil: none are looked for.
	Pruned *weights.Encodings
	// Magnitudes are the greatest ones of weights of 16 bits, as far as they were looked for; nil: none are kept.
	Magnitudes *weights.Magnitudes
}

// Env is what lowering a block depends on besides the block.
type Env struct {
	Options
	Layouts Layouts
	Symbols sym.Facts // ranges of dimension symbols
	Target  *target.Target
	// Tiles is how many register tiles of each width a contraction is lowered with, of those that differ by a tenth the
	// best by estimate; 0: only the best of all.
	Tiles int
	// Only, where it is given, is the name of the only kernel to lower, of all tiles, or the name without its digest of the only ones.
	Only string
	// Given, where it is not nil, is the point of an anchor's parameters from which the only kernel is proposed. Points that are none of the
	// block's are a *params.Error.
	Given *params.Point
	// Space, where it is not nil, is the one that Given is of, so that it need not be found again.
	Space *params.Space
	// Fusing: estimates decide what is fused. Long products are none then: attention as one kernel takes less time than they do with the kernels before them,
	// whose scores of symbolic columns are estimated to take less than they do.
	Fusing bool
	// Packing, where it is given, is the only one that contractions may read their weights in: that of another chip's kernel.
	Packing *weights.Packing
	// Points lets kernels read some points of the weights' Packing only, where they are transformed.
	Points bool
	// Pooling are how many rows and columns of results a pooling reads for each of its own (Pooled), which tasks and tiles have whole; of none 0.
	Pooling [2]int64
	// Borders cuts loops at the ends of what their conditions hold at, in the kernels that are made.
	Borders bool
}

// NewEnv returns the surroundings of blocks whose values are all row-major. Items that run in step
// compute no windows: a point is an item's, and its neighbours' are read together.
func NewEnv(t *target.Target, symbols sym.Facts, o Options) *Env {
	o.Windows = o.Windows && !t.InStep()
	return &Env{Options: o, Layouts: rowMajor, Symbols: symbols, Target: t}
}

func rowMajor(*ir.Value) layout.Layout { return layout.RowMajor }

// InRows returns the same surroundings with all values row-major.
func (e *Env) InRows() *Env {
	rows := *e
	rows.Layouts = rowMajor
	return &rows
}

// Wants reports whether kernels whose names begin so are of interest.
func (e *Env) Wants(anchor string) bool {
	if e.Given != nil {
		return strings.HasPrefix(e.Given.Algorithm, anchor)
	}
	return e.Only == "" || strings.HasPrefix(e.Only, anchor)
}

// Lanes are how many floats a vector has; 1 where loops do not run in vectors.
func (e *Env) Lanes() int64 {
	n := int64(e.Target.Lanes(ir.F32))
	if !e.Vectors || n < 4 {
		return 1
	}
	return n
}

// Lowered is a kernel and the values of its buffers: operands, then results.
type Lowered struct {
	// Name distinguishes the kernel from others that compute the block in the same layouts, whatever their estimates are. Those
	// of a Family differ in little.
	Name, Family string
	// Point is what the kernel was proposed from, of its anchor's parameters, and the space of these: a nil point where the space has it not. Nil
	// where the anchor has no parameters.
	Point func() (*params.Point, *params.Space)
	// Kernel is nil until Make, where it follows a schedule.
	Kernel *loop.Kernel
	make   func() (*loop.Kernel, error)
	// Packing is how the kernel reads constant weights; nil where they are as the network has them, or its own.
	Packing *weights.Packing
	// Schedule is what the kernel is made of, of the stages of Work, and Tiles are its micro-kernels by stage; nil where it was made without one.
	Schedule *sched.Schedule
	Work     *sched.Work
	Tiles    []*loop.MicroKernel
	// Check proves that the schedule is one for the block and the chip; nil where there is none.
	Check func() error
	// Args packs constants for the kernel, which takes a while: only what is chosen is packed.
	Args func() ([]*ir.Value, error)
	// ArgsOf are those of another block that is equal up to names and the elements of what is packed; nil where it wants a kernel of its own.
	ArgsOf func(b *block.Block) func() ([]*ir.Value, error)
}

// Make makes the kernel of a schedule: what is estimated need not be made, unless it is chosen.
func (l *Lowered) Make() error {
	if l.Kernel != nil {
		return nil
	}
	k, err := l.make()
	l.Kernel = k
	return err
}

// Vectors are what a target's language computes in vectors.
func Vectors(t *target.Target) loop.Vectors {
	v := loop.Vectors{Types: t.VectorTypes(), Tables: t.ReadsTables(), Halves: t.Halves() != nil}
	if t.LoadsApart() {
		v.Apart = loop.MostApart
	}
	return v
}

// Done finishes a kernel.
func (e *Env) Done(k *loop.Kernel, args func() ([]*ir.Value, error)) *Lowered {
	e.finish(k)
	return &Lowered{Name: k.Anchor, Family: k.Anchor, Kernel: k, Args: args}
}

// finish makes texels of what is stored to images, one function of what quantizes or is a sigmoid, and vectors of loops.
func (e *Env) finish(k *loop.Kernel) {
	k.Body = loop.Texels(k.Body, k.Facts)
	if e.Target.Quantizes() {
		k.Body = tidy.Quantized(k.Body)
	}
	if e.Target.Logistic() {
		k.Body = tidy.Logistic(k.Body)
	}
	if e.Target.Halves() != nil {
		k.Body = tidy.Halves(k.Body)
	}
	if e.Borders {
		k.Body = tidy.Borders(k.Body, k.Facts)
	}
	if lanes := e.Lanes(); lanes > 1 {
		k.Body = tidy.Wholes(k.Body, k.Facts)
		k.Body = loop.Vectorise(k.Body, lanes, Vectors(e.Target), k.Facts)
	}
}

// Scheduled follows a schedule that an anchor proposes under a name. The kernel's name has a digest of the schedule, too: where another one
// is proposed, what was measured is of another kernel.
func (e *Env) Scheduled(anchor, name, family string, b *block.Block, w *sched.Work, s *sched.Schedule, args func() ([]*ir.Value, error)) (*Lowered, error) {
	if err := e.says(b, w, s); err != nil {
		return nil, fmt.Errorf("%s: %w", anchor, err)
	}
	l, err := e.followed(anchor, w, s, args)
	if err != nil {
		return nil, err
	}
	l.Name, l.Family = name+DigestMark+s.Digest(), family
	return l, nil
}

// followed is the kernel of a schedule that an anchor proposes, which Make makes.
func (e *Env) followed(anchor string, w *sched.Work, s *sched.Schedule, args func() ([]*ir.Value, error)) (*Lowered, error) {
	tiles, err := follow.Tiles(w, s, e.Target)
	if err != nil {
		return nil, err
	}
	return &Lowered{Name: anchor, Family: anchor, Args: args, Schedule: s, Work: w, Tiles: tiles,
		Check: sync.OnceValue(func() error { return s.Verify(w, e.Target) }),
		make: func() (*loop.Kernel, error) {
			k, err := follow.Unverified(w, s, e.Target)
			if err != nil {
				return nil, err
			}
			k.Anchor = anchor
			e.finish(k)
			return k, nil
		}}, nil
}

// DigestMark is between what the name of a kernel says of its anchor and tile, and its schedule's digest.
const DigestMark = " #"

// TiledName is what the names of an anchor's kernels with a tile begin with.
func TiledName(anchor string, t micro.Tile) string { return fmt.Sprintf("%s %s", anchor, t) }

// TiledFamily are those of as many vectors.
func TiledFamily(anchor string, t micro.Tile) string { return fmt.Sprintf("%s x%d", anchor, t.Vectors) }

// Unhashed is the name of a kernel without its schedule's digest: that of kernels, too, that read constants in another packing.
func Unhashed(name string) string {
	name, _, _ = strings.Cut(name, DigestMark)
	return name
}

// Named reports whether the kernel is one that Env.Only asks for.
func (l *Lowered) Named(only string) bool {
	return only == "" || l.Name == only || Unhashed(l.Name) == only
}

// Values are the block's own values.
func Values(b *block.Block) func() ([]*ir.Value, error) {
	return func() ([]*ir.Value, error) { return append(append([]*ir.Value{}, b.Operands...), b.Results...), nil }
}

// Varies reports whether a kernel's parameters are given.
func (e *Env) Varies() bool { return e.Given != nil }

// SpaceOr is the space of the given parameters, where it is known to be an algorithm's, or what finds it.
func (e *Env) SpaceOr(algorithm string, find func() *params.Space) *params.Space {
	if e.Space != nil && e.Space.Algorithm == algorithm {
		return e.Space
	}
	return find()
}

// Pools reports whether a kernel is one of Pooled's, and no row by row computation of the block.
func (l *Lowered) Pools() bool { return strings.HasSuffix(Unhashed(l.Name), PooledMark) }

// PooledMark ends the names of kernels whose results a pooling reads where they are computed.
const PooledMark = " pooled"

const WindowAnchor = "window"

package loop

import (
	"fmt"
	"hash/fnv"
	"slices"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/target/instr"
)

// Kept is the sum of a micro-kernel over the kernels that are stored of pruned weights (package fkw), in place of K loops: for each run
// r, kernel n of those from Ends[r] to Ends[r+1], and tap t of pattern p = r % patterns, with the channel c = Index[n]:
//
//	acc[r][v][l] += X[RowAt(r) + At(c) + Taps[p][t]] * W[((n*taps + t)*Vectors + v)*Lanes + l]
//
// Where X is a Vector, lanes are neighbours in X, and a weight is one element for all accumulators, which take taps in the order of Columns:
//
//	acc[r][v][l] += X[RowAt(r) + v*Lanes + l + At(c) + Taps[p][t]] * W[n*taps + t]
type Kept struct {
	Taps   [][]int64 // of each pattern, what its taps add to X's offset; all patterns have as many
	Blocks int64     // of channels: each has a run of kernels for each pattern
	// Channels is how many X has. Each Group of them lie Step apart, and the groups GroupStep apart.
	Channels, Group, Step, GroupStep int64
	// Kernels is how many a call walks on average, in tenths of one.
	Kernels int64
	// Part, where it is not 0, is how many channels' kernels a call walks, of one block of them: the first is kernel Ends[0], which is 0 otherwise.
	Part int64
	// Held, where it is not 0, is how many of a kernel's weights stay in registers, where lanes are in X; products read the others where they lie.
	Held int64
	// Alone: each tap loads what it reads by itself, where lanes are in X. It is there to measure what others gain.
	Alone bool
	// Early: what a product reads of X is loaded before the products before it, where lanes are in X, for processors that would wait for it.
	Early bool
	// Given: kernels are in the order of their channels, and Index[n] is p*Channels + c, of one run. It is there to measure what their reorder gains.
	Given bool
}

// Name tells sums over stored kernels apart: their taps by a digest.
func (k *Kept) Name() string {
	h := fnv.New32a()
	fmt.Fprint(h, k.Taps)
	name := fmt.Sprintf("_kept%dx%d_%d_%d_%d_%08x", k.Blocks, len(k.Taps), k.Group, k.Step, k.GroupStep, h.Sum32())
	if k.Part > 0 {
		name += "_part"
	}
	if k.Held > 0 {
		name += fmt.Sprintf("_held%d", k.Held)
	}
	if k.Alone {
		name += "_alone"
	}
	if k.Early {
		name += "_early"
	}
	if k.Given {
		name += "_given"
	}
	return name
}

// Walked is of how many channels a call's kernels are.
func (k *Kept) Walked() int64 {
	if k.Part > 0 {
		return k.Part
	}
	return k.Channels
}

// Entries is how many taps a kernel keeps.
func (k *Kept) Entries() int64 { return int64(len(k.Taps[0])) }

// At is where a channel begins in X.
func (k *Kept) At(channel int64) int64 {
	return channel/k.Group*k.GroupStep + channel%k.Group*k.Step
}

// Runs are those of all blocks and patterns.
func (k *Kept) Runs() int64 {
	if k.Given {
		return k.Blocks
	}
	return k.Blocks * int64(len(k.Taps))
}

// Of is the channel and the pattern of a kernel, by its index and the run that it is of.
func (k *Kept) Of(index, run int64) (channel, pattern int64) {
	if k.Given {
		return index % k.Channels, index / k.Channels
	}
	return index, run % int64(len(k.Taps))
}

// steps is the number of points of the sum, on average.
func (k *Kept) steps() int64 { return max(1, (k.Kernels*k.Entries()+5)/10) }

// check says what is wrong with it in a micro-kernel, or "".
func (m *MicroKernel) checkKept() string {
	k := m.Kept
	switch {
	case len(m.K) > 0 || m.VecStep != 0 || m.Fetch != 0:
		return "a sum over stored kernels cannot have other loops, separate registers or prefetched lines"
	case m.X == instr.Lane || m.Instr.Group != 1:
		return fmt.Sprintf("instruction %s takes X of kind %s in groups of %d in a sum over stored kernels; want one element of X for all lanes or for each lane", m.Instr.Name, m.X, m.Instr.Group)
	case !m.Broadcast() && m.Rows < 1:
		return fmt.Sprintf("a sum over stored kernels of %d rows", m.Rows)
	case len(k.Taps) == 0 || len(k.Taps[0]) == 0 || k.Blocks < 1 || k.Channels < 1 || k.Group < 1:
		return "a sum over stored kernels without patterns, taps, blocks or channels"
	case k.Part < 0 || k.Part > k.Channels || k.Part > 0 && k.Blocks > 1:
		return fmt.Sprintf("a partial sum over stored kernels, with %d channels from %d in %d blocks; want one block", k.Part, k.Channels, k.Blocks)
	case k.Held < 0 || k.Held >= k.Entries() || k.Held > 0 && m.Broadcast():
		return fmt.Sprintf("%d weights of a kernel of %d stay in registers; want fewer than the kernel has, and lanes in X", k.Held, k.Entries())
	case k.Held > 0 && m.Stored != ir.Invalid:
		return fmt.Sprintf("%d weights of a kernel stay in registers, and products read others of type %s where they lie; want W in the instruction's type", k.Held, m.Stored)
	case slices.ContainsFunc(k.Taps, func(taps []int64) bool { return len(taps) != len(k.Taps[0]) }):
		return "the patterns of a sum over stored kernels have different numbers of taps"
	}
	return ""
}

// keptArrays checks what a tile reads besides X and W: 16-bit integers, of as many runs as there are.
func (v *verifier) keptArrays(x Tile) {
	if x.Micro.Kept == nil {
		if x.Index != nil || x.Ends != nil {
			v.fail("a tile has indices of stored kernels, but its micro-kernel has none")
		}
		return
	}
	for _, b := range []*Buffer{x.Index, x.Ends} {
		if v.flat(b, false); v.err != nil {
			return
		}
		if b.Type != ir.U16 {
			v.fail("a tile of stored kernels reads %q of type %s; want u16", b.Name, b.Type)
		}
	}
	v.indices(x.IndexAt, x.EndsAt)
}

// spread is what stored kernels add to X's offset, at least and at most.
func (k *Kept) spread() (least, most int64) {
	last := k.Channels - 1
	for _, c := range []int64{0, min(k.Group-1, last), last, last / k.Group * k.Group} {
		for _, taps := range k.Taps {
			least, most = min(least, k.At(c)+slices.Min(taps)), max(most, k.At(c)+slices.Max(taps))
		}
	}
	return least, most
}

// reachKept checks that the runs lie in their buffer; which kernels a call reads is in the arrays.
func (v *verifier) reachKept(x Tile) {
	v.inside(x.Ends, x.EndsAt)
	v.inside(x.Ends, sym.Add(x.EndsAt, sym.Const(x.Micro.Kept.Runs())))
}

// text is a sum over stored kernels: "kept 5 blocks of 40 channels 16 by 1, 324, 93 kernels [0 1 18] [1 2 19]".
func (k *Kept) text() string {
	out := fmt.Sprintf(" kept %d blocks of %d channels %d by %d, %d, %d kernels", k.Blocks, k.Channels, k.Group, k.Step, k.GroupStep, k.Kernels)
	for _, taps := range k.Taps {
		out += fmt.Sprintf(" %d", taps)
	}
	if k.Part > 0 {
		out += fmt.Sprintf(" part %d", k.Part)
	}
	if k.Held > 0 {
		out += fmt.Sprintf(" held %d", k.Held)
	}
	if k.Alone {
		out += " alone"
	}
	if k.Early {
		out += " early"
	}
	if k.Given {
		out += " given"
	}
	return out
}

// kept reads it, after its first word.
func (p *parser) kept() (*Kept, error) {
	k := &Kept{}
	for _, x := range []struct {
		to    *int64
		words []string
	}{
		{&k.Blocks, []string{"blocks", "of"}}, {&k.Channels, []string{"channels"}}, {&k.Group, []string{"by"}},
		{&k.Step, []string{","}}, {&k.GroupStep, []string{","}}, {&k.Kernels, []string{"kernels"}},
	} {
		var err error
		if *x.to, err = p.Int(); err != nil {
			return nil, err
		}
		for _, w := range x.words {
			if err := p.Expect(w); err != nil {
				return nil, err
			}
		}
	}
	for p.Accept("[") {
		var taps []int64
		for !p.Accept("]") {
			n, err := p.Int()
			if err != nil {
				return nil, err
			}
			taps = append(taps, n)
		}
		k.Taps = append(k.Taps, taps)
	}
	for _, x := range []struct {
		to   *int64
		word string
	}{{&k.Part, "part"}, {&k.Held, "held"}} {
		var err error
		if p.Accept(x.word) {
			if *x.to, err = p.Int(); err != nil {
				return nil, err
			}
		}
	}
	k.Alone = p.Accept("alone")
	k.Early = p.Accept("early")
	k.Given = p.Accept("given")
	return k, nil
}

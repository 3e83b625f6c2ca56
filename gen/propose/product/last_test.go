package product

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/kernel/layout"
	"rules_dnn/gen/kernel/sched"
	"rules_dnn/gen/propose/lower"
	"rules_dnn/gen/propose/lower/lowertest"
	"rules_dnn/gen/propose/vars"
)

// lastEnv has results channels last, and X if it is said.
func lastEnv(t *testing.T, name string, x layout.Layout) *lower.Env {
	return &lower.Env{Options: lower.Options{Contractions: true, Windows: true, Vectors: true}, Layouts: func(v *ir.Value) layout.Layout {
		switch {
		case v.Const != nil:
			return layout.RowMajor
		case v.Name == "x":
			return x
		}
		return lower.ChannelsLast
	}, Target: lowertest.Chip(t, name)}
}

// loopOf is the loop of a stage by the name of its variable, or nil.
func loopOf(s *sched.Schedule, stage int, name string) *sched.Loop {
	for i := range s.Stages[stage].Loops {
		if l := &s.Stages[stage].Loops[i]; l.Var == name {
			return l
		}
	}
	return nil
}

// TestChannelsLast: how sums of bytes whose results have channels last are computed, and that their schedules are proven.
func TestChannelsLast(t *testing.T) {
	for _, c := range []struct {
		name, chip, graph string
		x                 layout.Layout
		stages            []string // but for the last one
		sets              bool     // tasks share the columns of a block of rows
		reach             []int64  // of the first stage, along its axes
	}{
		{name: "pixels that lie apart have few blocks of rows", chip: "x86_64_v4_vnni", x: lower.ChannelsLast, sets: true,
			graph: "  input %x u8[1, 80, 14, 14]\n  input %w i8[200, 80, 1, 1]\n  const @z u8[] = {7}\n  %y ?[*] = ConvInteger.10(%x, %w, @z)\n  output %y\n"},
		{name: "windows overlap in lines", chip: "x86_64_v4_vnni", x: lower.ChannelsLast, stages: []string{"lines"}, reach: []int64{30, 30, 64},
			graph: "  input %x u8[1, 64, 28, 28]\n  input %w i8[64, 64, 3, 3]\n  const @z u8[] = {7}\n  %y ?[*] = ConvInteger.10(%x, %w, @z) {pads = [1, 1, 1, 1]}\n  output %y\n"},
		{name: "taps are neighbours where channels are few", chip: "x86_64_v4_vnni", x: layout.RowMajor, stages: []string{"lines"}, reach: []int64{3, 229, 230},
			graph: "  input %x u8[1, 3, 224, 224]\n  input %w i8[64, 3, 7, 7]\n  const @z u8[] = {7}\n  %y ?[*] = ConvInteger.10(%x, %w, @z) {pads = [3, 3, 3, 3], strides = [2, 2]}\n  output %y\n"},
		{name: "weights that are a stream are read once for all lines", chip: "x86_64_v4_vnni", x: lower.ChannelsLast, stages: []string{"lines"}, sets: true, reach: []int64{9, 9, 512},
			graph: "  input %x u8[1, 512, 7, 7]\n  input %w i8[512, 512, 3, 3]\n  const @z u8[] = {7}\n  %y ?[*] = ConvInteger.10(%x, %w, @z) {pads = [1, 1, 1, 1]}\n  output %y\n"},
		{name: "taps of a channel beside each other", chip: "x86_64_v4_vnni", x: lower.ChannelsLast, stages: []string{"lines", "taps beside each other"}, reach: []int64{31, 30, 96},
			graph: "  input %x u8[1, 96, 28, 28]\n  input %w i8[96, 1, 3, 3]\n  const @z u8[] = {7}\n  %y ?[*] = ConvInteger.10(%x, %w, @z) {group = 96, pads = [1, 1, 1, 1]}\n  output %y\n"},
		{name: "pairs of taps", chip: "x86_64_v3", x: lower.ChannelsLast, stages: []string{"lines", "taps beside each other"}, reach: []int64{33, 32, 40},
			graph: "  input %x u8[1, 36, 28, 28]\n  input %w i8[36, 1, 5, 5]\n  const @z u8[] = {7}\n  %y ?[*] = ConvInteger.10(%x, %w, @z) {group = 36, pads = [2, 2, 2, 2]}\n  output %y\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := lowertest.Formed(t, c.graph)
			for _, v := range b.Operands {
				if dims, _ := v.Static(); v.Name == "w" {
					v.Const = ir.NewTensor(v.Type, dims...)
				}
			}
			all, err := Propose(b, lastEnv(t, c.chip, c.x))
			require.NoError(t, err)
			require.NotEmpty(t, all)
			l := all[0]
			require.NoError(t, l.Check())
			require.NoError(t, l.Make())
			var names []string
			for _, s := range l.Work.Stages[:len(l.Work.Stages)-1] {
				names = append(names, s.Name)
			}
			assert.Equal(t, c.stages, names)
			last := len(l.Work.Stages) - 1
			assert.Equal(t, c.sets, loopOf(l.Schedule, last, vars.Set) != nil)
			if c.reach != nil {
				var reach []int64
				for _, a := range l.Work.Stages[0].Axes {
					n, _ := a.Extent.Const()
					reach = append(reach, n)
				}
				assert.Equal(t, c.reach, reach)
			}
		})
	}
}

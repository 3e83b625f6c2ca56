package pruned

import (
	"slices"

	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/kernel/sched"
	"rules_dnn/gen/propose/contract/tiled"
	"rules_dnn/gen/propose/lower"
	"rules_dnn/gen/propose/micro"
	"rules_dnn/gen/propose/vars"
	"rules_dnn/gen/propose/vary"
)

// dealtVar numbers the tasks among which the filters of a band are dealt out, as they are stored: one each in turns. They are in the order of how many
// kernels they keep, so that all tasks have nearly as many.
const dealtVar = vars.Chunk

// filterTasks is how many tasks share the filters of each band where an image has so many bands: what is copied of a band is copied once by
// each thread, and read again by each task, so there are no more than threads want.
func (c *sparse) filterTasks(bands int64) int64 {
	best := int64(1)
	if c.Pooling[0] > 0 || c.Target.WorkItems() { // a pooling is computed where all of a band are, and work-items have copies of their own alone
		return best
	}
	for _, n := range vary.Divisors(c.Channels, micro.FewTasks) {
		if tasks := bands * best; (tasks < micro.FewTasks || tasks%2 != 0 && tasks < micro.MinTasks) && c.Channels/n >= fewFilters {
			best = n
		}
	}
	return best
}

// fewFilters is how many a task has at least: they read the same pixels.
const fewFilters = 8

// deal gives the filters of a band to so many tasks.
func (c *sparse) deal(s sched.Stage, sets int64) sched.Stage {
	channel := c.Block.Stage.Axes[c.Channel].Var
	s.Splits = append(s.Splits, sched.Split{Axis: channel, Outer: tiled.GroupPart, Inner: tiled.ChannelPart, Size: sets})
	var all lower.LoopList
	for i, l := range s.Loops {
		if l.Axis == channel {
			l.Axis = tiled.GroupPart
			if l.Size > 0 { // of a set, which has whole ones
				l.Size = sym.GCD(l.Size, c.Channels/sets)
			}
		}
		all = append(all, l)
		if l.Kind == sched.Task && (i+1 == len(s.Loops) || s.Loops[i+1].Kind != sched.Task) {
			all.Add(sched.Task, dealtVar, tiled.ChannelPart, 0, sched.Exact)
		}
	}
	s.Loops = slices.Clip(all)
	return s
}

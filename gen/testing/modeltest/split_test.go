package modeltest

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"

	"rules_dnn/gen/graph/interp"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/program/plan"
	"rules_dnn/gen/program/run"
)

// splitRun is what programs of two targets had.
type splitRun struct{ calls, launches, transfers, both int }

func (s *splitRun) add(p *plan.Program) {
	calls, launches := len(p.Calls()), len(p.Launches())
	s.calls, s.launches, s.transfers = s.calls+calls, s.launches+launches, s.transfers+len(p.Transfers())
	if calls > 0 && launches > 0 {
		s.both++
	}
}

// TestSplit compiles random graphs for a processor and a device beside it, the blocks divided in every way, and compares what the
// program gives, run in two memory spaces, with the interpreter of stages.
func TestSplit(t *testing.T) {
	to := *seeds
	if testing.Short() {
		to = 30
	}
	runs := map[Split]*splitRun{}
	for s := uint64(1); s <= to; s++ {
		r := newRandom(s)
		if len(r.g.Outputs) == 0 {
			continue
		}
		want, refused := interp.Graph(r.g, r.inputs)
		for i, split := range Splits {
			if runs[split] == nil {
				runs[split] = &splitRun{}
			}
			device := Devices[(int(s)+i)%len(Devices)]
			if err := splitDiffers(newRandom(s), device, split, s, want, refused, runs[split]); err != nil {
				t.Errorf("seed %d, %s, %s: %v\n%s", s, device, split, err, text(newRandom(s).g))
			}
		}
	}
	for _, split := range Splits[1:] {
		assert.Greater(t, runs[split].transfers, 0, split)
		assert.Greater(t, runs[split].launches, 0, split)
		t.Logf("%s: %+v", split, *runs[split])
	}
	assert.Greater(t, runs[Alternating].both, 10, "programs with kernels on both")
	assert.Greater(t, runs[Scattered].both, 10, "programs with kernels on both")
}

func splitDiffers(r *random, device string, split Split, seed uint64, want []*ir.Tensor, refused error, ran *splitRun) (err error) {
	defer func() {
		if x := recover(); x != nil {
			err = fmt.Errorf("panic: %v", x)
		}
	}()
	p, got, err := RunSplit(r.g, Config{Chip: "x86_64_v3"}, device, split, seed, r.inputs)
	if p != nil {
		ran.add(p)
	}
	var dims *run.DimsError
	switch {
	case refused != nil && errors.As(err, &dims):
		return nil
	case err != nil:
		if p != nil {
			err = fmt.Errorf("%w\n%s", err, p)
		}
		return err
	case refused != nil:
		return fmt.Errorf("no error, want %w", refused)
	}
	for i, w := range want {
		if err := compare(got[i], w); err != nil {
			return fmt.Errorf("output %d: %w\n%s", i, err, p)
		}
	}
	return nil
}

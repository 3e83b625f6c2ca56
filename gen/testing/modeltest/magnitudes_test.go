package modeltest

import (
	"encoding/binary"
	"flag"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"rules_dnn/gen/graph/interp"
	"rules_dnn/gen/graph/samples"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/pipeline"
	"rules_dnn/gen/program/run"
)

var magnitudes = flag.Uint64("magnitudes", 60, "how many seeds TestMagnitudes tries")

// enlarged is the graph of a seed on inputs that are up to 20000 in magnitude. Steps that bound what grows are made for small inputs, so
// numbers leave f16's range on the way.
func enlarged(seed uint64) *random {
	r := newRandom(seed)
	by := float32(math.Ldexp(1, int(seed%14)+1))
	for _, x := range r.inputs {
		if x.Type != ir.F32 {
			continue
		}
		for i := 0; i < len(x.Data); i += 4 {
			v := math.Float32frombits(binary.LittleEndian.Uint32(x.Data[i:]))
			binary.LittleEndian.PutUint32(x.Data[i:], math.Float32bits(v*by))
		}
	}
	return r
}

// TestMagnitudes: stored in 16 bits, random graphs have no infinity and no NaN where those of f32 have numbers, on every chip and device, with
// samples and without.
func TestMagnitudes(t *testing.T) {
	tried, beyond, kept := 0, 0, 0
	for s := uint64(1); s <= *magnitudes; s++ {
		r := enlarged(s)
		if len(r.g.Outputs) == 0 {
			continue
		}
		exact, err := interp.Graph(r.g, r.inputs)
		if err != nil {
			continue // of other inputs its dimensions are none
		}
		for k, chip := range slices.Concat(Chips, Devices) {
			if (int(s)+k)%3 != 0 {
				continue
			}
			r, c := enlarged(s), overflowChip(t, chip)
			st := &pipeline.State{Graph: r.g, Target: c, Store: ir.F16}
			if s%2 == 0 {
				st.Calibration = []samples.Input{r.inputs}
			}
			p, err := compile(st, nil)
			if err != nil {
				require.ErrorContains(t, err, "leave the precision out", "seed %d", s)
				continue
			}
			got, err := run.Program(p, InputsOf(p, r.inputs))
			require.NoError(t, err, "seed %d %s", s, chip)
			tried++
			kept += len(st.Precision.Far)
			for i := range exact {
				n, err := notHeld(exact[i], got[i])
				require.NoError(t, err, "seed %d (reproduce: go test ./gen/testing/modeltest -run TestMagnitudes -magnitudes %d), %s, output %d\n%s", s, s, chip, i, text(enlarged(s).g))
				beyond += n
			}
		}
	}
	t.Logf("%d programs, %d numbers beyond the range of f16, %d values kept f32 by samples or bounds", tried, beyond, kept)
	require.Positive(t, beyond)
	require.Positive(t, kept)
}

// notHeld is an error if an element is infinite or NaN that is a number in f32; n counts numbers that are beyond the range there.
func notHeld(exact, got *ir.Tensor) (n int, err error) {
	if exact.Type != ir.F32 {
		return 0, nil
	}
	for i := range exact.Len() {
		x, y := elementAt(exact, i), elementAt(got, i)
		if math.IsInf(x, 0) || math.IsNaN(x) {
			continue
		}
		if math.Abs(x) > 65504 {
			n++
		}
		if math.IsInf(y, 0) || math.IsNaN(y) {
			return n, fmt.Errorf("element %d is %v, in f32 %v", i, y, x)
		}
	}
	return n, nil
}

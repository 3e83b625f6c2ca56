package modeltest

import (
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"rules_dnn/gen/graph/interp"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/program/run"
)

var (
	seed  = flag.Uint64("seed", 0, "the only seed of TestRandomGraphs; 0: from 1 on")
	seeds = flag.Uint64("seeds", 60, "how many seeds TestRandomGraphs tries")
)

// tolerance of an element, relative to the greatest magnitude of its tensor, or to 1: sums of
// a few hundred products in another order, and what follows them.
const tolerance = 1e-3

// TestRandomGraphs compiles random graphs in all ways and compares with the interpreter of stages.
func TestRandomGraphs(t *testing.T) {
	from, to := uint64(1), *seeds
	if testing.Short() {
		to = 20
	}
	if *seed != 0 {
		from, to = *seed, *seed
	}
	ops, nodes := map[string]int{}, 0
	for s := from; s <= to; s++ {
		r := newRandom(s)
		if len(r.g.Outputs) == 0 {
			continue
		}
		for _, n := range r.g.Nodes {
			ops[n.Op]++
			nodes++
		}
		want, refused := interp.Graph(r.g, r.inputs)
		if len(r.g.Symbols) == 0 {
			require.NoError(t, refused, "seed %d\n%s", s, text(r.g))
		}
		var wrong []string
		var first error
		var at Config
		for _, c := range Configs(int(s)) {
			err := differs(newRandom(s), c, want)
			var dims *run.DimsError
			if refused != nil && errors.As(err, &dims) {
				continue // the dimensions suit no shape of the network: told, as in generated code
			}
			if refused != nil && err == nil {
				err = fmt.Errorf("no error, want %w", refused)
			}
			if err != nil {
				wrong = append(wrong, c.String())
				if first == nil {
					first, at = err, c
				}
			}
		}
		if first != nil {
			t.Errorf("seed %d (reproduce: go test ./gen/testing/modeltest -run TestRandomGraphs -seed %d) is wrong with\n%s\nfirst: %v\n%s\n%s",
				s, s, strings.Join(wrong, "\n"), first, blame(s, at), text(r.g))
		}
	}
	t.Logf("%d nodes of %d operators: %v", nodes, len(ops), ops)
}

// blame compiles the graph of a seed up to each node in turn and names the first that is wrong.
func blame(s uint64, c Config) string {
	for i := range newRandom(s).g.Nodes {
		r := newRandom(s)
		n := r.g.Nodes[i]
		r.g.Nodes, r.g.Outputs = r.g.Nodes[:i+1], slices.Clone(n.Outputs)
		want, err := interp.Graph(r.g, r.inputs)
		if err == nil {
			err = differs(r, c, want)
		}
		if err != nil {
			return fmt.Sprintf("up to %s alone: %v", n.Label(), err)
		}
	}
	return "each node alone is right"
}

func text(g *ir.Graph) string {
	var b strings.Builder
	if err := ir.Dump(&b, g); err != nil {
		return err.Error()
	}
	return b.String()
}

// differs compiles and runs the graph and reports how its outputs differ.
func differs(r *random, c Config, want []*ir.Tensor) (err error) {
	defer func() {
		if x := recover(); x != nil {
			err = fmt.Errorf("panic: %v", x)
		}
	}()
	got, err := Run(r.g, c, r.inputs)
	if err != nil {
		return err
	}
	for i, w := range want {
		if err := compare(got[i], w); err != nil {
			return fmt.Errorf("output %d: %w", i, err)
		}
	}
	return nil
}

func compare(got, want *ir.Tensor) error {
	if got.Type != want.Type || fmt.Sprint(got.Shape) != fmt.Sprint(want.Shape) {
		return fmt.Errorf("%s%v, want %s%v", got.Type, got.Shape, want.Type, want.Shape)
	}
	if want.Type != ir.F32 {
		for i := range want.Data {
			if got.Data[i] != want.Data[i] {
				return fmt.Errorf("byte %d is %d, want %d", i, got.Data[i], want.Data[i])
			}
		}
		return nil
	}
	at := func(t *ir.Tensor, i int) float64 {
		return float64(math.Float32frombits(binary.LittleEndian.Uint32(t.Data[4*i:])))
	}
	scale, n := 1.0, len(want.Data)/4
	for i := range n {
		if x := math.Abs(at(want, i)); !math.IsInf(x, 0) && !math.IsNaN(x) { // these would leave no scale
			scale = max(scale, x)
		}
	}
	for i := range n {
		x, y := at(got, i), at(want, i)
		if x != y && !(math.Abs(x-y) <= tolerance*scale) && !(math.IsNaN(x) && math.IsNaN(y)) {
			return fmt.Errorf("element %d is %v, want %v", i, x, y)
		}
	}
	return nil
}

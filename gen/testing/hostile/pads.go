package hostile

import (
	"fmt"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/onnx/onnxpb"
	"rules_dnn/gen/onnx/onnxtest"
)

// padCases are Pads by amounts that only the run knows, negative ones too: these crop the axis first, as in ONNX
// Runtime, and padding repeats what is left.
func padCases(m *maker) error {
	for _, mode := range []string{"constant", "edge", "reflect", "wrap"} {
		for _, n := range []int64{0, 1, 2, 4} {
			c := m.add(Right, fmt.Sprintf("Pad %s of %d by the run's amounts", mode, n), padModel(mode, n))
			c.with("--dim=p_symbols_0=-9..9", "--dim=p_symbols_1=-9..9")
			m.padRuns(c, mode, n)
		}
		c := m.add(Right, fmt.Sprintf("Pad %s of N by the run's amounts", mode), padModel(mode, "N"))
		c.with("--dim=N=0..5", "--dim=p_symbols_0=-9..9", "--dim=p_symbols_1=-9..9")
		for n := range int64(6) {
			m.padRuns(c, mode, n)
		}
		for _, p := range [][2]int64{{-1, 1}, {1, -1}, {-1, -1}, {-4, 0}, {-2, 5}, {3, -3}} {
			model, in := padModel(mode, 4), seq(4)
			model.Graph.Input = model.Graph.Input[:1]
			onnxtest.With(model, onnxtest.Tensor("p", i64(p[0], p[1])))
			name := fmt.Sprintf("Pad %s of 4 by %v", mode, p)
			if y, ok := padded(mode, 4, p[0], p[1]); ok {
				m.right(name, model, run(is(f32(y...)), "x", in))
			} else {
				m.refused(name, model, `Pad "n_y"`)
			}
		}
	}
	return nil
}

func padModel(mode string, n any) *onnxpb.ModelProto {
	m := onnxtest.Model(onnxtest.Floats("x", n), onnxtest.Op("Pad", "x p", "y", "mode", mode))
	m.Graph.Input = append(m.Graph.Input, onnxtest.Input("p", onnxpb.TensorProto_INT64, 2))
	m.OpsetImport[0].Version = ptr(int64(19))
	return m
}

// padRuns are runs of amounts around what an axis of n elements allows.
func (m *maker) padRuns(c *Case, mode string, n int64) {
	amounts := []int64{-n - 1, -n, 1 - n, -1, 0, 1, n, n + 3}
	for i, before := range amounts {
		for k, after := range amounts {
			if (i+k)%2 == 1 && n != 4 {
				continue // half of them tell as much
			}
			in := values("x", seq(n), "p", i64(before, after))
			if y, ok := padded(mode, n, before, after); ok {
				c.then(Run{Inputs: in, Want: []Want{is(tensor(ir.F32, []int64{int64(len(y))}, y...))}})
			} else {
				c.then(Run{Inputs: in, Status: BadValue, Words: []string{`Pad "n_y"`}})
			}
		}
	}
}

// seq is 1 to n.
func seq(n int64) *ir.Tensor {
	xs := make([]float64, n)
	for i := range xs {
		xs[i] = float64(i + 1)
	}
	return tensor(ir.F32, []int64{n}, xs...)
}

// padded is 1 to n, cropped by negative amounts and then padded; false where that cannot be.
func padded(mode string, n, before, after int64) ([]float64, bool) {
	first, left := max(-before, 0), n-max(-before, 0)-max(-after, 0)
	pads := before > 0 || after > 0
	to := n + before + after
	if to < 0 || to > 0 && mode != "constant" && pads && left < 1 {
		return nil, false
	}
	y := []float64{}
	for i := range to {
		at := i - max(before, 0)
		switch {
		case mode == "edge":
			at = min(max(at, 0), left-1)
		case mode == "wrap":
			at = ((at % left) + left) % left
		case mode == "reflect" && left == 1:
			at = 0
		case mode == "reflect":
			period := 2 * (left - 1)
			at = ((at % period) + period) % period
			at = min(at, period-at)
		case at < 0 || at >= left:
			y = append(y, 0)
			continue
		}
		y = append(y, float64(first+at+1))
	}
	return y, true
}

package page

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"rules_dnn/gen/compress/prune"
)

func report() *prune.Report {
	return &prune.Report{Model: "net<script>.onnx", Changed: 12, Kernels: prune.Computed,
		Total:    prune.Sum{Weights: 90, KeptWeights: 40, MACs: 900, KeptMACs: 400, Bytes: 360, KeptBytes: 160, FKWBytes: 200, Sparsity: 5.0 / 9},
		Patterns: []prune.Frequency{{Pattern: "1b", Kernel: "3x3", Kernels: 7}, {Pattern: "1b0", Kernel: "3x3", Kernels: 3}},
		Layers: []prune.LayerReport{{Name: "conv\"&", Node: "c", Op: "Conv", Shape: []int64{5, 2, 3, 3}, Kernel: "3x3", Share: 1, Kernels: 10, KeptKernels: 10,
			Patterns: []prune.Frequency{{Pattern: "1b", Kernel: "3x3", Kernels: 7}, {Pattern: "1b0", Kernel: "3x3", Kernels: 3}}}},
		Dense: []string{"first"}, Skipped: []prune.Skipped{{Name: "w", Node: "lstm", Op: "LSTM", Reason: "not pruned"}}}
}

// TestPage checks that the page has the report's content as text, and loads nothing.
func TestPage(t *testing.T) {
	b, err := HTML(report(), nil, nil)
	require.NoError(t, err)
	text := string(b)
	for _, want := range []string{"net&lt;script&gt;.onnx", "12 of 90 weights were dropped without retraining", "skip dropped weights", "2.2x", "1.8x", "5 x 2 x 3 x 3",
		"70.0 %", "30.0 %", "first", "w (LSTM lstm): not pruned", `<title>... .xx .xx</title>`, ">4 of 9<"} {
		require.Contains(t, text, want)
	}
	for _, not := range []string{"<script", "http:", "https:", "src=", "href="} {
		require.NotContains(t, text, not)
	}
	require.Equal(t, 4*4, strings.Count(text, `class="tap"`), "each pattern twice")
	require.Equal(t, 4*5, strings.Count(text, `class="gap"`))
	again, err := HTML(report(), nil, nil)
	require.NoError(t, err)
	require.Equal(t, text, string(again))
}

// TestSensitivity checks that the page has the measurements of layers pruned alone, and nothing for
// unmeasured layers.
func TestSensitivity(t *testing.T) {
	r := report()
	r.Sensitivity = &prune.Sensitivity{Inputs: 256, Loss: 0.0844, Accuracy: 0.98828125, Layers: []prune.Alone{{Name: r.Layers[0].Name, Lost: 0.1765, Loss: 0.26086, Accuracy: 0.92578125}}}
	other := r.Layers[0]
	other.Name = "unmeasured"
	r.Layers = append(r.Layers, other)
	b, err := HTML(r, nil, nil)
	require.NoError(t, err)
	wellFormed(t, b)
	for _, want := range []string{"On 256 labelled inputs the network has a loss of 0.0844 and an accuracy of 98.83 % before pruning.", `<td class="n">0.2609</td><td class="n">92.58 %</td>`} {
		require.Contains(t, string(b), want)
	}
	require.Equal(t, 1, strings.Count(string(b), "0.2609"))
	without, err := HTML(report(), nil, nil)
	require.NoError(t, err)
	require.NotContains(t, string(without), "alone")
}

// TestWellFormed checks that all elements are closed.
func TestWellFormed(t *testing.T) {
	b, err := HTML(report(), training(), nil)
	require.NoError(t, err)
	wellFormed(t, b)
}

func wellFormed(t *testing.T, b []byte) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(strings.Replace(string(b), `<meta charset="utf-8">`, "", 1)))
	d.Strict = true
	d.Entity = xml.HTMLEntity
	for {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else {
			require.NoError(t, err)
		}
	}
}

func chosen() *Chosen {
	return &Chosen{Chip: "chip<", Layers: map[string][]Block{"conv\"&": {
		{Where: "where 32 >= H", Encoding: "fkw of 10 kernels shared by 16 1b 1b0", Cycles: 1234}, {Encoding: "winograd F(4,3)", Cycles: 5678},
		{Encoding: "fkw of 9 kernels by 36 planes shared by 16 1", Cycles: 8},
		{Cycles: 9}, {Encoding: "fkw of 10 kernels 1b 1b0", Device: true, Cycles: 77},
	}}}
}

// TestChosen compares the page of a compiled network with testdata/chosen.html; it states for each
// layer whether its kernels skip dropped weights.
func TestChosen(t *testing.T) {
	r := report()
	r.Layers[0].Packed = true
	r.Layers = append(r.Layers, prune.LayerReport{Name: "gone", Op: "Gemm", Shape: []int64{2, 3}, Kernel: "1"})
	b, err := HTML(r, nil, chosen())
	require.NoError(t, err)
	golden(t, "testdata/chosen.html", b)
	for _, want := range []string{"On chip&lt;, kernels of 1 of 2 pruned layers skip", "FKW, 10 kernels that 16 filters share where 32 &gt;= H<br/>", ">1234<br/>5678<br/>8<br/>9<br/>77<br/>",
		"dense, winograd F(4,3)<br/>Winograd at 36 points, 9 kernels that 16 filters share<br/>dense<br/>FKW, 10 kernels, on the device<br/>(packed was requested)</td>", "<td>-</td>"} {
		require.Contains(t, string(b), want)
	}
	wellFormed(t, b)
}

// TestNothingGained checks the advice of the page if no kernel skips weights.
func TestNothingGained(t *testing.T) {
	b, err := HTML(report(), nil, &Chosen{Chip: "chip", Layers: map[string][]Block{"conv\"&": {{Cycles: 9}}}})
	require.NoError(t, err)
	wellFormed(t, b)
	require.Contains(t, string(b), "no kernel skips dropped weights")
	require.NotContains(t, string(b), "kernels of 0 of")
}

// TestBars checks that a size with many kernels does not shrink the bars of other sizes.
func TestBars(t *testing.T) {
	r := report()
	r.Patterns = append([]prune.Frequency{{Pattern: "1", Kernel: "1x1", Kernels: 100000}}, r.Patterns...)
	b, err := HTML(r, nil, nil)
	require.NoError(t, err)
	for _, width := range []string{`<rect width="200"`, `<rect width="140"`, `<rect width="60"`} {
		require.Contains(t, string(b), width)
	}
}

func golden(t *testing.T, path string, b []byte) {
	t.Helper()
	if os.Getenv("UPDATE") != "" {
		require.NoError(t, os.WriteFile(path, b, 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), string(b), "UPDATE=1 go test ./gen/compress/prune/page rewrites it")
}

// TestDraw checks the positions of a pattern's squares.
func TestDraw(t *testing.T) {
	p, err := draw(prune.Frequency{Pattern: "12", Kernel: "2x3"})
	require.NoError(t, err)
	require.Equal(t, []int{27, 18}, []int{p.Width, p.Height})
	require.Equal(t, []square{{0, 0, false}, {9, 0, true}, {18, 0, false}, {0, 9, false}, {9, 9, true}, {18, 9, false}}, p.Squares)
	for _, kernel := range []string{"1", "3", "1x1", "2x2x2", "8x8"} {
		_, err := draw(prune.Frequency{Pattern: "1", Kernel: kernel})
		require.NoError(t, err)
	}
	for _, f := range []prune.Frequency{{Pattern: "x", Kernel: "3x3"}, {Pattern: "1", Kernel: "9x9"}, {Pattern: "1", Kernel: "0"}, {Pattern: "1", Kernel: ""}} {
		_, err := draw(f)
		require.Error(t, err)
	}
}

func training() *Training {
	return &Training{
		Before: Metrics{Accuracy: 0.93}, Projected: Metrics{Accuracy: 0.5}, After: Metrics{Accuracy: 0.925},
		Residuals: []Residual{{1, "a", 0.001, 0.5, 0.25}, {1, "b<", 0.001, 0.4, 0}, {2, "a", 0.01, 0.1, 0.125}, {2, "b<", 0.01, 0.2, 0}},
		Trained:   []Trained{{"iteration001", []Metrics{{1, 2, 0.8}, {2, 1, 0.9}}}, {"retrained", []Metrics{{1, 0.5, 0.925}}}},
	}
}

// TestTraining compares the page of a trained network with testdata/page.html.
func TestTraining(t *testing.T) {
	b, err := HTML(report(), training(), nil)
	require.NoError(t, err)
	golden(t, "testdata/page.html", b)
	for _, want := range []string{"93.00 %", "50.00 %", "92.50 %", `points="0,0 320,80 640,120"`, `points="0,0 640,128"`, "b&lt;: 0.2 at the end", ">retrained</text>"} {
		require.Contains(t, string(b), want)
	}
	for _, not := range []string{"<script", "http:", "https:", "src=", "href="} {
		require.NotContains(t, string(b), not)
	}
}

// TestParseTraining checks that logs are parsed and other files rejected.
func TestParseTraining(t *testing.T) {
	x, err := ParseTraining([]byte(`{"pruning": {}, "after": {"accuracy": 0.5}, "residuals": [{"iteration": 1, "layer": "a", "patterns": 0.5}]}`))
	require.NoError(t, err)
	require.InDelta(t, 0.5, x.After.Accuracy, 0)
	require.Len(t, x.ResidualCharts(), 2)
	require.Nil(t, x.LossChart())
	for _, text := range []string{`[]`, `{"residuals": [{"iteration": 0}]}`, `{"residuals": [{"iteration": 1000000000}]}`, `{"residuals": [{"iteration": 1, "patterns": -1}]}`} {
		_, err := ParseTraining([]byte(text))
		require.ErrorContains(t, err, "the log of training", text)
	}
}

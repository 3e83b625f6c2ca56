package prune

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"rules_dnn/gen/base/jsonfile"
	"rules_dnn/gen/compress/masks"
	"rules_dnn/gen/kernel/fkw"
)

// Report describes the result of pruning a network.
type Report struct {
	Model string `json:"model"` // the model's name
	// Whether the weights already had zeros wherever the masks do, as after training with the masks.
	Retrained bool `json:"retrained"`
	// The number of nonzero weights that pruning set to zero.
	Changed int64 `json:"changed_weights"`
	// The number of channels that were removed from the network.
	Channels int `json:"channels_taken_out"`
	// The number of BatchNormalizations whose statistics were measured again.
	Recalibrated int `json:"recalibrated"`
	// A description of the kernels that compute pruned layers.
	Kernels string `json:"kernels"`
	// The options; absent if masks were passed instead.
	Options *Options `json:"options,omitempty"`
	// The loss and accuracy with each layer pruned alone; absent if not measured.
	Sensitivity *Sensitivity  `json:"sensitivity,omitempty"`
	Total       Sum           `json:"total"`    // the sums over all layers
	Patterns    []Frequency   `json:"patterns"` // the patterns of all layers, the most frequent first
	Layers      []LayerReport `json:"layers"`   // the pruned layers
	Dense       []string      `json:"dense"`    // the weights of layers that stay dense
	Skipped     []Skipped     `json:"skipped"`  // the weights that cannot be pruned
}

// Computed is the report's Kernels of this version.
const Computed = "kernels for processors skip dropped weights, unless another kernel is estimated to be faster by 10 % (with packed, always). Convolutions of stride 1 along rows skip them in each filter; other convolutions and products skip weights that all of 8 or 16 consecutive filters drop (share = 16 suits all chips, and lets Winograd's algorithm skip 3x3 kernels that all of them drop)"

// Sum counts the weights and operations of layers, before and after pruning.
type Sum struct {
	Weights     int64   `json:"weights"`      // the number of weights before pruning
	KeptWeights int64   `json:"kept_weights"` // the number of weights that are kept
	MACs        int64   `json:"macs"`         // multiply-adds on one image before pruning; 0: not known
	KeptMACs    int64   `json:"kept_macs"`    // multiply-adds with the kept weights; 0: not known
	Bytes       int64   `json:"bytes"`        // bytes of the dense weights
	KeptBytes   int64   `json:"kept_bytes"`   // bytes of the kept weights, without their positions
	FKWBytes    int64   `json:"fkw_bytes"`    // bytes in PatDNN's FKW format: kept weights and their positions
	Sparsity    float64 `json:"sparsity"`     // the fraction of weights that are pruned
}

// Frequency counts the kept kernels with a pattern.
type Frequency struct {
	Pattern string `json:"pattern"` // the pattern's taps as bits, in hexadecimal
	Kernel  string `json:"kernel"`  // the size of the kernels
	Kernels int64  `json:"kernels"` // the number of kernels with this pattern
}

// LayerReport describes a pruned layer.
type LayerReport struct {
	Name         string      `json:"name"`             // the name of the layer's weights
	Node         string      `json:"node"`             // the first node that reads the weights
	Label        string      `json:"label"`            // that node's label, as in manifests
	Also         []string    `json:"also,omitempty"`   // the labels of other nodes that read the weights
	Op           string      `json:"op"`               // the node's ONNX operator
	Shape        []int64     `json:"shape"`            // the shape of the weights
	Groups       int         `json:"groups"`           // the number of groups of the convolution
	Kernel       string      `json:"kernel"`           // the size of the kernels
	Share        int         `json:"share"`            // the number of consecutive filters with the same kernels
	Packed       bool        `json:"packed,omitempty"` // whether packed storage of the kept weights was requested
	Kernels      int64       `json:"kernels"`          // the number of kernels before pruning
	KeptKernels  int64       `json:"kept_kernels"`     // the number of kernels that are kept
	EmptyFilters int         `json:"empty_filters"`    // the number of filters without kernels
	Unread       int         `json:"unread_channels"`  // the number of channels that no filter reads
	Patterns     []Frequency `json:"patterns"`         // the layer's patterns
	Sum
}

// Sensitivity describes the loss on labelled inputs with one layer pruned at a time, without training.
type Sensitivity struct {
	Inputs   int64   `json:"inputs"`   // the number of labelled inputs
	Loss     float64 `json:"loss"`     // the mean cross entropy of the network before pruning
	Accuracy float64 `json:"accuracy"` // the accuracy of the network before pruning, 0 to 1
	Layers   []Alone `json:"layers"`   // the network with each layer pruned alone
}

// Alone describes the network with only one layer pruned.
type Alone struct {
	Name     string  `json:"name"`     // the name of the layer's weights
	Lost     float64 `json:"lost"`     // the increase of the loss, which policies read as the layer's sensitivity
	Loss     float64 `json:"loss"`     // the mean cross entropy
	Accuracy float64 `json:"accuracy"` // the accuracy, 0 to 1
}

// Layer is what was measured of a layer; nil where nothing was.
func (s *Sensitivity) Layer(name string) *Alone {
	if s == nil {
		return nil
	}
	i := slices.IndexFunc(s.Layers, func(a Alone) bool { return a.Name == name })
	if i < 0 {
		return nil
	}
	return &s.Layers[i]
}

// Report makes the report. Options are nil where masks were given.
func (n *Network) Report(model string, o *Options) *Report {
	r := &Report{Model: model, Retrained: n.Changed == 0, Changed: n.Changed, Kernels: Computed, Options: o,
		Patterns: []Frequency{}, Layers: []LayerReport{}, Dense: []string{}, Skipped: n.Skipped}
	if r.Skipped == nil {
		r.Skipped = []Skipped{}
	}
	counts := map[Frequency]int64{}
	for _, l := range n.Layers {
		m := n.Masks.Layer(l.Name)
		if m == nil {
			r.Dense = append(r.Dense, l.Name)
			r.Total.add(l.dense())
			continue
		}
		x := l.report(m)
		for _, f := range x.Patterns {
			counts[Frequency{f.Pattern, f.Kernel, 0}] += f.Kernels
		}
		r.Layers = append(r.Layers, x)
		r.Total.add(x.Sum)
	}
	for f, k := range counts {
		r.Patterns = append(r.Patterns, Frequency{f.Pattern, f.Kernel, k})
	}
	slices.SortFunc(r.Patterns, func(a, b Frequency) int {
		return cmp.Or(cmp.Compare(a.Kernel, b.Kernel), cmp.Compare(b.Kernels, a.Kernels), cmp.Compare(a.Pattern, b.Pattern))
	})
	r.Total.finish()
	return r
}

// dense is the sum of a layer that stays as it was.
func (l *Layer) dense() Sum {
	w := l.Weights.Len()
	b := w * int64(l.Weights.Type.Size())
	return Sum{Weights: w, KeptWeights: w, MACs: l.MACs, KeptMACs: l.MACs, Bytes: b, KeptBytes: b, FKWBytes: b}
}

func (l *Layer) report(m *masks.Layer) LayerReport {
	x := LayerReport{Name: l.Name, Node: l.Node, Label: l.Label, Also: l.Also, Op: l.Op, Shape: l.Shape, Groups: l.Groups, Kernel: KernelSize(l), Share: m.Share, Packed: m.Packed, Patterns: []Frequency{}}
	x.Sum = l.dense()
	x.Kernels, _ = m.Total()
	x.KeptKernels, x.KeptWeights = m.Kept()
	size := int64(l.Weights.Type.Size())
	x.KeptBytes = x.KeptWeights * size
	x.FKWBytes = x.KeptBytes + fkw.StructureBytes(int64(m.Filters()), x.KeptKernels, int64(len(m.Patterns)))
	if x.Weights > 0 {
		x.KeptMACs = int64(float64(x.MACs) * float64(x.KeptWeights) / float64(x.Weights))
	}
	x.EmptyFilters, x.Unread = empty(m)
	counts := make([]int64, len(m.Patterns)+1)
	for _, p := range m.Kernels {
		counts[p]++
	}
	for i, p := range m.Patterns {
		x.Patterns = append(x.Patterns, Frequency{strconv.FormatUint(uint64(p), 16), x.Kernel, counts[i+1]})
	}
	x.finish()
	return x
}

// empty counts filters without kernels, and channels that no filter of their group reads.
func empty(m *masks.Layer) (filters, channels int) {
	each, n := m.Filters()/m.Groups, m.Channels()
	read := make([]bool, m.Groups*n)
	for f := range m.Filters() {
		row := m.Kernels[f*n : (f+1)*n]
		if slices.Max(append(row[:n:n], 0)) == 0 {
			filters++
		}
		for c, p := range row {
			read[f/each*n+c] = read[f/each*n+c] || p != 0
		}
	}
	for _, r := range read {
		if !r {
			channels++
		}
	}
	return filters, channels
}

func (s *Sum) add(x Sum) {
	s.Weights += x.Weights
	s.KeptWeights += x.KeptWeights
	s.MACs += x.MACs
	s.KeptMACs += x.KeptMACs
	s.Bytes += x.Bytes
	s.KeptBytes += x.KeptBytes
	s.FKWBytes += x.FKWBytes
}

// In16Bits returns the report with the bytes of weights that are stored in 16 bits, except weights
// of the nodes, by their labels, that stay f32.
func (r *Report) In16Bits(wide map[string]bool) *Report {
	out := *r
	out.Layers = slices.Clone(r.Layers)
	out.Total.in16Bits()
	for i := range out.Layers {
		l := &out.Layers[i]
		before := l.Sum
		l.in16Bits()
		if wide[l.Label] {
			out.Total.Bytes += before.Bytes - l.Bytes
			out.Total.KeptBytes += before.KeptBytes - l.KeptBytes
			out.Total.FKWBytes += before.FKWBytes - l.FKWBytes
			l.Sum = before
		}
	}
	return &out
}

func (s *Sum) in16Bits() {
	const size = 2
	s.FKWBytes -= s.KeptBytes - size*s.KeptWeights
	s.Bytes, s.KeptBytes = size*s.Weights, size*s.KeptWeights
}

func (s *Sum) finish() {
	if s.Weights > 0 {
		s.Sparsity = 1 - float64(s.KeptWeights)/float64(s.Weights)
	}
}

// Warning is what users should know who did not retrain; "" otherwise.
func (r *Report) Warning() string {
	if r.Retrained {
		return ""
	}
	return fmt.Sprintf("%d of %d weights were dropped without retraining, so the accuracy is probably lower; train with the masks, or measure the accuracy and accept this warning",
		r.Changed, r.Total.Weights)
}

// JSON prints the report.
func (r *Report) JSON() ([]byte, error) {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	err := e.Encode(r)
	// The same JSON, in which no name ends the script of a page that holds it.
	return bytes.ReplaceAll(out.Bytes(), []byte("</"), []byte(`<\/`)), err
}

// ParseReport reads what JSON prints.
func ParseReport(text []byte) (*Report, error) {
	r := &Report{}
	if err := jsonfile.Parse(text, r); err != nil {
		return nil, fmt.Errorf("report of pruning: %w", err)
	}
	if r.Kernels == "" { // which every report has
		return nil, errors.New("report of pruning: it does not list the kernels of pruned layers; want the file from 'dnnc prune --out-report'")
	}
	return r, nil
}

package pipeline

import (
	"fmt"
	"slices"

	"rules_dnn/gen/fusion/block"
	"rules_dnn/gen/fusion/exact"
	"rules_dnn/gen/fusion/fuse"
	"rules_dnn/gen/graph/passes/bnfold"
	"rules_dnn/gen/graph/passes/islands"
	"rules_dnn/gen/graph/passes/nest"
	"rules_dnn/gen/graph/passes/precision"
	"rules_dnn/gen/graph/passes/rewrite"
	"rules_dnn/gen/graph/passes/simplify"
	"rules_dnn/gen/graph/passes/subpixel"
	"rules_dnn/gen/graph/passes/unpack"
	"rules_dnn/gen/graph/shape"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/program/plan"
	"rules_dnn/gen/selection/sel"
	"rules_dnn/gen/target"
)

// GraphPasses make up `dnnc graph`: nothing of the target is known.
var GraphPasses = []Pass{
	{Name: "simplify", Doc: "infers types and symbolic shapes, folds constants and drops dead nodes, to a fixed point", Required: true, Run: simplifyGraph},
	{Name: "islands", Doc: "replaces operators between DequantizeLinear and QuantizeLinear by integer operators", After: []Order{
		{"simplify", "scales and zero points may be computed by nodes"},
	}, Run: func(s *State) error {
		if islands.Run(s.Graph) {
			return simplify.RunBut(s.Graph, islands.Keeps)
		}
		return nil
	}},
	{Name: "unpack", Doc: "keeps weights of products in 4 bits if they are quantized in blocks along the sum", Run: unpackWeights, After: []Order{
		{"islands", "it creates integer operators, which read quantized weights"},
	}},
	{Name: "weights", Doc: "converts quantized constants to floats if no integer operator reads them", Required: true, After: []Order{
		{"islands", "it creates operators that read them quantized"},
		{"unpack", "it leaves products packed weights"},
	}, Run: func(s *State) error {
		if islands.Kept(s.Graph) {
			return simplify.Run(s.Graph)
		}
		return nil
	}},
	{Name: "bnfold", Doc: "folds BatchNormalization into the weights before it", Run: foldBatchNorm, After: []Order{
		{"simplify", "a BatchNormalization's parameters may be computed by nodes"},
		{"weights", "float weights may be quantized in the model"},
	}},
	{Name: "subpixel", Doc: "replaces transposed convolutions by convolutions that compute all phases of the stride", Run: convolvePhases, After: []Order{
		{"bnfold", "it folds into the weights of the transposed convolution"},
	}},
	{Name: "rewrite", Doc: "replaces nodes by operators that need fewer operations", After: []Order{
		{"simplify", "a pattern's numbers may be computed by nodes"},
	}, Run: func(s *State) error {
		if rewrite.Run(s.Graph) {
			return simplify.Run(s.Graph)
		}
		return nil
	}},
	{Name: "nest", Doc: "reuses the results of earlier concatenations, and whole values instead of all their parts, in concatenations", After: []Order{
		{"simplify", "it removes empty operands"},
	}, Run: func(s *State) error {
		if nest.Run(s.Graph) {
			return simplify.Run(s.Graph)
		}
		return nil
	}},
}

// CompilePasses make up `dnnc compile`.
var CompilePasses = []Pass{
	{Name: "infer", Doc: "infers shapes of the graph after it is read", Required: true, Run: inferShapes},
	{Name: "precision", Doc: "stores values and weights of f32 in 16 bits if --precision asks for it, and allows instructions for pairs of bf16, or those that add f16", Required: true, Run: narrowFloats, After: []Order{
		{"infer", "the stages of an operator show which results fit 16 bits, and are built for the shapes of its operands"},
	}},
	{Name: "blocks", Doc: "makes a block for each stage", Required: true, Run: formBlocks, After: []Order{
		{"infer", "an operator's stages are built for the shapes of its operands"},
		{"precision", "it sets the types of nodes, and stages contain the conversions"},
	}},
	{Name: "sweep", Doc: "drops blocks and operands that nothing reads", Run: sweepBlocks, After: []Order{
		{"blocks", "nodes that only compute shapes become unread blocks"},
	}},
	{Name: "fuse", Doc: "composes blocks (DNNFusion)", Run: fuseBlocks, After: []Order{
		{"blocks", "it composes blocks"},
		{"sweep", "a dead reader of a value prevents composing its producer with another reader"},
	}},
	{Name: "exact", Doc: "replaces divisions of quantization by products if a proof over all integers shows equal results", Run: func(s *State) error {
		exact.Run(s.Blocks)
		return nil
	}, After: []Order{
		{"fuse", "quantized values are computed by fused stages of several operators"},
	}},
	{Name: "select", Doc: "chooses layouts and kernels together", Required: true, Run: selectKernels, After: []Order{
		{"blocks", "a kernel computes a block"},
		{"fuse", "layouts are chosen for values in memory between fused blocks"},
		{"exact", "estimates count the operations of the kernels"},
	}},
	{Name: "lower", Doc: "packs constants for the chosen kernels", Required: true, Run: lowerBlocks, After: []Order{
		{"select", "the chosen kernel determines how a constant is packed"},
	}},
	{Name: "inplace", Doc: "lets results overwrite operands at their last read", Run: placeOver, After: []Order{
		{"lower", "the decision depends on the loads and stores of kernels, and on values within others"},
	}},
	{Name: "plan", Doc: "places values in memory", Required: true, Run: planProgram, After: []Order{
		{"lower", "the layout determines a value's size, and equal packed constants share memory"},
		{"inplace", "a value within another one's memory needs none"},
	}},
}

func planProgram(s *State) error {
	if err := plan.Run(s.Program); err != nil {
		return err
	}
	return s.Program.Fits()
}

// Switch is a part of a pass that can be switched off to measure what it gains.
type Switch struct{ Name, Doc string }

// Switches for -disable.
var Switches = slices.Concat([]Switch{
	{"anchors", "contractions, windows, chains and layouts together; without: every block is a generic loop nest"},
	{"contractions", "register tiles for contractions: convolutions, Gemm, MatMul"},
	{"windows", "register tiles for depthwise convolutions; guards of pools as bounds of their loops"},
	{"winograd", "Winograd convolutions: fewer products of transformed inputs and weights, which need up to four times the memory; on devices, only if their facts list transforms"},
	{"pooled", "pooling fused with the convolution before it"},
	{"moves", "data movement folded into the indices of its readers and producers; without: each is a kernel of its own"},
}, fusionRules(), []Switch{
	{"pruned", "kernels of convolutions and products that skip weights that are 0"},
	{"reuse", "loads shared by rows of pixels, in convolutions that skip weights"},
	{"reorder", "kernels sorted by their patterns, in convolutions that skip weights; without: each kernel is a branch, in the given order"},
	{"vectors", "vectorized loops of generic nests"},
	{"layouts", "blocked layouts; without: every value is row-major"},
	{"shared", "memory shared by a device's work-items; without: each computes on its own"},
	{"images", "values in a device's texture memory"},
	{"buffers", "values in a device's buffers; without: those that can be are in texture memory"},
	{"processor", "blocks on the processor that the device can compute, too"},
	{"versions", "extra kernels for small dimensions, if estimates are lower than for the usual ones"},
})

// fusionRules are the rules of fusion.
func fusionRules() (out []Switch) {
	for _, r := range fuse.Rules() {
		out = append(out, Switch{r.Name, r.Doc})
	}
	return out
}

// placeOver leaves devices alone on which each value is an object of its own.
func placeOver(s *State) error {
	if s.Target.Views() {
		plan.InPlace(s.Program)
	}
	return nil
}

func unpackWeights(s *State) error {
	if changed, err := unpack.Run(s.Graph); err != nil || !changed {
		return err
	}
	return simplify.RunBut(s.Graph, islands.Keeps)
}

func foldBatchNorm(s *State) error {
	if _, err := bnfold.Run(s.Graph); err != nil {
		return err
	}
	return simplify.Run(s.Graph)
}

func convolvePhases(s *State) error {
	if changed, err := subpixel.Run(s.Graph); err != nil || !changed {
		return err
	}
	return simplify.Run(s.Graph)
}

func narrowFloats(s *State) (err error) {
	if s.Store == ir.Invalid {
		return nil
	}
	if s.Precision, err = precision.Run(s.Graph, s.Store, s.Calibration); err != nil {
		return err
	}
	switch {
	case s.Store == ir.BF16:
		s.sumInPairs()
	case s.SumHalves:
		if err := s.sumInHalves(); err != nil {
			return err
		}
	case s.Precision.Nodes == 0: // the network is f16 already, and its sums stay f32
		return precision.ErrNothing
	}
	return shape.Infer(s.Graph)
}

// sumInHalves lets kernels add products of f16 in f16 on chips with instructions for it. Kernels of
// other chips add in f32.
func (s *State) sumInHalves() error {
	all := append(slices.Clone(s.Others), s.Target)
	can := false
	for i, t := range all {
		all[i] = t.InHalves()
		can = can || all[i].Halves() != nil
	}
	if !can {
		return fmt.Errorf("accumulation in fp16: the chip %s has no instruction that adds f16; name a chip that has one, such as arm64_cortex_a76, or leave the accumulation out", s.Target.Name)
	}
	s.Others, s.Target = all[:len(all)-1], all[len(all)-1]
	return nil
}

// sumInPairs lets kernels sum products of bf16 in pairs, if all chips of the library have instructions for that: values lie as these read them, which others
// would walk element by element.
func (s *State) sumInPairs() {
	all := append(slices.Clone(s.Others), s.Target)
	for i, t := range all {
		if all[i] = t.InPairs(); len(all[i].Pairs(ir.F32)) == 0 {
			return
		}
	}
	s.Others, s.Target = all[:len(all)-1], all[len(all)-1]
}

func formBlocks(s *State) (err error) {
	if s.Blocks, err = block.Form(s.Graph); err != nil {
		return err
	}
	return block.Literals(s.Blocks)
}

func sweepBlocks(s *State) error {
	block.Sweep(s.Blocks)
	return nil
}

// fuseBlocks sweeps again where the sweep is on: composing may leave operands behind that
// nothing reads.
func fuseBlocks(s *State) error {
	t := s.Target
	if s.Device != nil { // which runs what it can
		t = s.Device
	}
	o := fuse.NewOptions(t)
	o.Off = func(name string) bool { return !s.Enabled(name) }
	o.Views = s.selectOptions().Views(s.Target)
	o.Moves = o.Moves && s.Enabled("moves")
	o.Apart = !s.Enabled("moves")
	o.SumParts, o.SplitAll = s.SumParts, s.Winograd > 0
	o.Estimator = sel.NewEstimator(s.Blocks.Facts, t, s.selectOptions(), s.transforms(t))
	s.Fused = fuse.Run(s.Blocks, o)
	if s.Enabled("sweep") {
		block.Sweep(s.Blocks)
	}
	return nil
}

// transforms are the results along each axis of the transforms by which a device may compute convolutions.
func (s *State) transforms(t *target.Target) []int64 {
	switch g, err := t.WorkGroups(); {
	case err != nil || g.LocalBytes == 0:
		return nil
	case s.Winograd > 0:
		return []int64{s.Winograd}
	default:
		return g.Winograd
	}
}

// anchor reports whether one of the anchors is on.
func (s *State) anchor(name string) bool { return s.Enabled("anchors") && s.Enabled(name) }

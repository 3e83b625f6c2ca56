package pipeline

import (
	"rules_dnn/gen/block"
	"rules_dnn/gen/fuse"
	"rules_dnn/gen/passes/bnfold"
	"rules_dnn/gen/passes/simplify"
	"rules_dnn/gen/plan"
	"rules_dnn/gen/sel"
	"rules_dnn/gen/shape"
)

// GraphPasses make up `dnnc graph`: nothing of the target is known.
var GraphPasses = []Pass{
	{Name: "simplify", Doc: "infers types and symbolic shapes, folds constants and drops dead nodes, to a fixed point", Required: true,
		Run: func(s *State) error { return simplify.Run(s.Graph) }},
	// After simplify: a BatchNormalization's parameters may be computed by nodes.
	{Name: "bnfold", Doc: "folds BatchNormalization into the weights before it", Run: foldBatchNorm},
}

// CompilePasses make up `dnnc compile`.
var CompilePasses = []Pass{
	{Name: "infer", Doc: "infers shapes of the graph as read back", Required: true,
		Run: func(s *State) error { return shape.Infer(s.Graph) }},
	{Name: "blocks", Doc: "makes a block of each stage", Required: true, Run: formBlocks},
	{Name: "fuse", Doc: "composes blocks (DNNFusion)", Run: func(s *State) error { return fuse.Run(s.Blocks) }},
	{Name: "lower", Doc: "chooses layouts and kernels, and makes loop nests", Required: true, Run: lowerBlocks},
	{Name: "plan", Doc: "places values in memory", Required: true, Run: func(s *State) error { return plan.Run(s.Program) }},
}

// Switch is a part of a pass that can be switched off to measure what it gains.
type Switch struct{ Name, Doc string }

// Switches for -disable.
var Switches = []Switch{
	{"anchors", "register-tiled kernels; every block then runs as a generic loop nest"},
	{"layouts", "blocked layouts; every value is then row-major"},
}

func foldBatchNorm(s *State) error {
	if _, err := bnfold.Run(s.Graph); err != nil {
		return err
	}
	return simplify.Run(s.Graph)
}

func formBlocks(s *State) (err error) {
	if s.Blocks, err = block.Form(s.Graph); err != nil {
		return err
	}
	return block.Literals(s.Blocks)
}

func lowerBlocks(s *State) error {
	g := s.Blocks
	choice, err := sel.Run(g, s.Target, sel.Options{Anchors: s.Enabled("anchors"), Layouts: s.Enabled("layouts")})
	if err != nil {
		return err
	}
	p := &plan.Program{Name: g.Name, Inputs: g.Inputs, Outputs: g.Outputs, Symbols: g.Symbols, Facts: g.Facts, Layouts: choice.Layouts}
	for _, b := range g.Blocks {
		k, args, err := choice.Lower(b, g.Facts)
		if err != nil {
			return err
		}
		p.Steps = append(p.Steps, plan.Step{Kernel: k, Args: args, Block: b})
	}
	s.Program = p
	return nil
}

package fuse

import "rules_dnn/gen/fusion/block"

// prices has the functions that a test sets. The others return what Unpriced does.
type prices struct {
	Unpriced
	alone, shared func(*block.Block) float64
	together      func([]*block.Block) float64
}

func (p prices) Alone(b *block.Block) float64 {
	if p.alone == nil {
		return p.Unpriced.Alone(b)
	}
	return p.alone(b)
}

func (p prices) Shared(b *block.Block) float64 {
	if p.shared == nil {
		return p.Unpriced.Shared(b)
	}
	return p.shared(b)
}

func (p prices) Together(all []*block.Block) float64 {
	if p.together == nil {
		return p.Unpriced.Together(all)
	}
	return p.together(all)
}

// off disables a rule.
func off(rule string) func(string) bool { return func(name string) bool { return name == rule } }

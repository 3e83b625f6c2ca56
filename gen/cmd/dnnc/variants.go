package main

import (
	"path/filepath"
	"slices"

	"rules_dnn/gen/base/files"
	"rules_dnn/gen/emit/cpp"
	"rules_dnn/gen/emit/cppapi"
	"rules_dnn/gen/pipeline"
	"rules_dnn/gen/target"
)

// chipsOf are the chips that the library has kernels for, the least capable first.
func chipsOf(s *pipeline.State) []*target.Target { return append(slices.Clone(s.Others), s.Target) }

// variantsOf are the chips as printers of kernels know them.
func variantsOf(chips []*target.Target) []cpp.Variant {
	var names []string
	for _, t := range chips {
		names = append(names, t.Name)
	}
	var out []cpp.Variant
	for i, ident := range cpp.Idents(names) {
		out = append(out, cpp.Variant{Ident: ident, VectorBits: chips[i].VectorBits})
	}
	return out
}

// addVariants tells the model of its variants, of which same are the numbers of the first ones that run the same.
func (f *compileFlags) addVariants(s *pipeline.State, m *cppapi.Model, variants []cpp.Variant, same []int) {
	for i, t := range chipsOf(s) {
		prefix := f.prefix
		if same[i] > 0 {
			prefix = cpp.VariantPrefix(f.prefix, variants[same[i]])
		}
		m.Variants = append(m.Variants, cppapi.Variant{Name: t.Name, CPUFeatures: t.CPUFeatures, Prefix: prefix, Profile: profile(s.Program.Variant(i), t)})
	}
}

// addVariantSources adds the sources of the variants after the first, of which those that run what an earlier one does have none.
func (f *compileFlags) addVariantSources(m *cppapi.Model, api *cppapi.Files, folders [][]cpp.File, out *files.Set) {
	for i, sources := range folders {
		if text := api.Variants[i]; text != "" {
			sources = append(sources, cpp.File{Name: m.Variants[i+1].ProfileName(), Text: text})
		}
		for _, x := range sources {
			out.Add(filepath.Join(f.variantKernels[i], x.Name), []byte(x.Text))
		}
		out.Owns(f.variantKernels[i], variantNames(f.prefix))
	}
}

package main

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"rules_dnn/gen/base/files"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/onnx"
)

// openFile opens a file that constants are read from; it stays open while dnnc runs.
func openFile(path, name string) (*ir.File, error) {
	f, size, err := files.Open(path)
	if err != nil {
		return nil, err
	}
	return &ir.File{Name: name, R: f, Size: size}, nil
}

// located is a file of external data: where the model says it is, and where it is.
type located struct{ location, path string }

// readLocated reads values LOCATION=PATH of an option. Locations are in the form in which graphs name files.
func readLocated(option string, pairs []string) ([]located, error) {
	var out []located
	for _, p := range pairs {
		location, path, ok := strings.Cut(p, "=")
		if !ok || location == "" || path == "" {
			return nil, fmt.Errorf("--%s=%s: want LOCATION=PATH", option, p)
		}
		clean, err := onnx.CleanLocation(location)
		if err != nil {
			return nil, fmt.Errorf("--%s=%s: %w", option, p, err)
		}
		if slices.ContainsFunc(out, func(l located) bool { return l.location == clean }) {
			return nil, fmt.Errorf("--%s=%s: the location is given twice", option, p)
		}
		out = append(out, located{clean, path})
	}
	return out, nil
}

// openExternal opens the declared files of external data, given as LOCATION=PATH. Keys are clean locations.
func openExternal(pairs []string) (map[string]*ir.File, error) {
	list, err := readLocated("external", pairs)
	if err != nil {
		return nil, err
	}
	out := map[string]*ir.File{}
	for _, l := range list {
		if out[l.location], err = openFile(l.path, l.location); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// inputs notes the files that a command reads, by their options; paths may be empty.
func inputs(p *files.Plan, external []string, options map[string]string) {
	for _, name := range slices.Sorted(maps.Keys(options)) {
		if path := options[name]; path != "" {
			p.Input("--"+name+"="+path, path)
		}
	}
	for _, e := range external {
		_, path, _ := strings.Cut(e, "=")
		p.Input("--external="+e, path)
	}
}

// outputs notes the files that a command writes, as inputs does.
func outputs(p *files.Plan, options map[string]string) {
	for _, name := range slices.Sorted(maps.Keys(options)) {
		if path := options[name]; path != "" {
			p.Output("--"+name+"="+path, path)
		}
	}
}

// dumpNames are the names of dumps.
var dumpNames = regexp.MustCompile(`^[0-9]+-.*\.txt$`)

// sourceNames are the names of the sources of a model, also of those that an earlier run with more files of kernels wrote.
func sourceNames(prefix string) *regexp.Regexp {
	return regexp.MustCompile(`^` + regexp.QuoteMeta(prefix) + `_(kernels\.h|internal\.h|api\.cc|device\.cc|skeleton\.cc|program\.cc|profile\.cc|kernels_([0-9]+\.(cc|c)|opaque\.cc))$`)
}

// variantNames are those of the sources of a variant.
func variantNames(prefix string) *regexp.Regexp {
	return regexp.MustCompile(`^` + regexp.QuoteMeta(prefix) + `_.*(kernels\.h|profile\.cc|kernels_[0-9]+\.cc)$`)
}

// shardNames are those of files of kernels, of which another number leaves some behind.
func shardNames(prefix string) *regexp.Regexp {
	return regexp.MustCompile(`^` + regexp.QuoteMeta(prefix) + `_((device|kernels_[0-9]+|kernels_opaque)\.cc|kernels_[0-9]+\.c)$`)
}

package main

import (
	"fmt"
	"io"
	"regexp"
	"strings"

	"rules_dnn/gen/emit/manifest"
)

// kernelName is a kernel's: what the names of its variant's files and functions begin with, and a
// digest.
var kernelName = regexp.MustCompile(`^(.*)_k_[0-9a-f]+$`)

// addMember notes the code of an object of a library.
func (r *report) addMember(name string, bytes int64) {
	if r.objects == nil {
		r.objects = map[string]int64{}
	}
	r.objects[name] += bytes
}

// printVariants prints what each chip of a library adds: its own kernels, and constants that only
// its kernels read.
func (r *report) printVariants(out io.Writer) {
	for _, v := range r.variants {
		fmt.Fprintf(out, "Kernels for %s: %d of %d are its own, of %d bytes; of %d bytes of constants %d are read by no other chip's.\n",
			v.Chip, len(v.OwnKernels), len(distinct(v.Kernels)), r.variantCode(v), v.WeightsBytes, v.OwnWeightsBytes)
	}
}

func distinct(names []string) map[string]bool {
	out := map[string]bool{}
	for _, n := range names {
		out[n] = true
	}
	return out
}

// variantCode returns the code size of a chip's own kernels: its objects in a library, including
// micro-kernels, or its functions if the objects are unknown.
func (r *report) variantCode(v manifest.Variant) int64 {
	objects, functions := int64(0), int64(0)
	for _, name := range v.OwnKernels {
		if f := r.functions[name]; f != nil {
			functions += f.bytes
		}
	}
	if len(v.OwnKernels) > 0 {
		if m := kernelName.FindStringSubmatch(v.OwnKernels[0]); m != nil {
			for name, bytes := range r.objects {
				if strings.HasPrefix(name, m[1]+"_kernels_") {
					objects += bytes
				}
			}
		}
	}
	return max(objects, functions)
}

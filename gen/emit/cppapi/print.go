package cppapi

import (
	"embed"
	"encoding/binary"
	"fmt"
	"strings"
	"sync"
	"text/template"

	"rules_dnn/gen/emit/ctext"
)

// Files are the printed texts.
type Files struct {
	Header   string // HeaderName, public
	Internal string // InternalName, beside the kernels
	Source   string // SourceName, beside the kernels
	Profile  string // ProfileName, beside the kernels
	Device   string // DeviceName, beside the kernels; "" without a device
	Skeleton string // SkeletonName, beside the kernels; "" of what is no skeleton
	// Variants are the profiles of the other variants, beside their kernels; "" of those that run what an earlier one does.
	Variants []string
}

//go:embed templates
var templateFiles embed.FS

var templates = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("").Funcs(template.FuncMap{
		"comment": ctext.Comment,
		"str":     ctext.String,
	}).ParseFS(templateFiles, "templates/*.tmpl"))
})

// Print prints the API of a model.
func Print(m *Model) (*Files, error) {
	if err := m.check(); err != nil {
		return nil, fmt.Errorf("the API of %s: %w", m.Api, err)
	}
	v := newView(m)
	var f Files
	for _, out := range []struct {
		name string
		to   *string
	}{{"header.h", &f.Header}, {"internal.h", &f.Internal}, {"source.cc", &f.Source}} {
		if err := execute(out.name, v, out.to); err != nil {
			return nil, err
		}
	}
	if m.Device != nil {
		if err := execute("device.cc", v, &f.Device); err != nil {
			return nil, err
		}
	}
	if m.Skeleton != nil {
		if err := execute("skeleton.cc", v, &f.Skeleton); err != nil {
			return nil, err
		}
	}
	for i := 1; i < len(m.Variants); i++ {
		var text string
		if m.first(i) == i {
			if err := execute("profile.cc", newProfileView(m, i), &text); err != nil {
				return nil, err
			}
		}
		f.Variants = append(f.Variants, text)
	}
	return &f, execute("profile.cc", newProfileView(m, 0), &f.Profile)
}

func execute(name string, v any, to *string) error {
	var b strings.Builder
	if err := templates().ExecuteTemplate(&b, name+".tmpl", v); err != nil {
		return fmt.Errorf("printing %s: %w", name, err)
	}
	*to = b.String()
	return nil
}

// usualAlignment is rules_dnn::kAlignment, but on chips of longer vectors.
const usualAlignment = 64

// align is the alignment of weights and the size of rules_dnn::WeightsHeader.
func (w Weights) align() int { return max(w.Align, usualAlignment) }

// WeightsHeader is how a weights file begins; the packed constants follow. The runtime
// compares it with what the code was generated for.
func WeightsHeader(w Weights) []byte {
	b := make([]byte, w.align())
	copy(b, "DNNWTS01")
	binary.LittleEndian.PutUint64(b[8:], uint64(w.Bytes))
	copy(b[16:], w.Hash[:])
	return b
}

// WeightsAsm prints the assembly that embeds the weights file of the given base name, which the
// assembler finds by its include path.
func WeightsAsm(m *Model, name string) (string, error) {
	if err := m.check(); err != nil {
		return "", fmt.Errorf("the API of %s: %w", m.Api, err)
	}
	if !apiName.MatchString(name) || strings.Contains(name, "/") {
		return "", fmt.Errorf("weights file %q: want a base name of letters, digits and _ . + -", name)
	}
	v := newView(m)
	v.WeightsName, v.WeightsSkip = name, m.Weights.align()
	var out string
	err := execute("weights.S", v, &out)
	return out, err
}

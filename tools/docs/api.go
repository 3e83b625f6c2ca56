package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"rules_dnn/gen/target/chips"
)

// apiModel is the network whose header is shown.
const apiModel = "app/resnet20_cifar10.onnx"

// header compiles apiModel as net, with further options of 'dnnc compile', and returns its public
// header.
func (r *repository) header(options ...string) (string, error) {
	dir, err := os.MkdirTemp("", "docs")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	in := func(name string) string { return filepath.Join(dir, name) }
	facts, err := chips.Facts("x86_64_v3")
	if err != nil {
		return "", err
	}
	if err := os.WriteFile(in("chip.json"), facts, 0o644); err != nil {
		return "", err
	}
	src := "--src=" + filepath.Join(r.root, apiModel)
	if _, err := r.output("dnnc", "graph", src, "--dim=N=1..64", "--out="+in("graph"), "--out-consts="+in("consts")); err != nil {
		return "", err
	}
	args := append([]string{
		"compile", src, "--graph=" + in("graph"), "--consts=" + in("consts"), "--chip=" + in("chip.json"), "--api=net", "--prefix=net", "--namespace=net",
		"--out-header=" + in("net.h"), "--out-kernels=" + in("kernels"), "--out-weights=" + in("net.weights"), "--out-manifest=" + in("manifest.json"), "--weights=file",
	}, options...)
	for i, a := range args {
		args[i] = strings.ReplaceAll(a, "OUT/", dir+"/")
	}
	if _, err := r.output("dnnc", args...); err != nil {
		return "", err
	}
	data, err := os.ReadFile(in("net.h"))
	return string(data), err
}

// backends are the kinds of headers, with the options of 'dnnc compile' that make them.
var backends = []struct {
	name    string
	options []string
}{
	{"cpu", nil},
	{"opencl", []string{"--device=platforms/devices/opencl_buffers.json", "--out-device-source=OUT/net.cl"}},
	{"hvx", []string{"--remote=v68"}},
}

// apiPages writes the pages of the C and C++ API and of statuses.
func apiPages(r *repository) (map[string]string, error) {
	var headers []string
	for _, b := range backends {
		options := make([]string, len(b.options))
		for i, o := range b.options {
			options[i] = strings.Replace(o, "=platforms/", "="+filepath.Join(r.root, "platforms")+"/", 1)
		}
		h, err := r.header(options...)
		if err != nil {
			return nil, fmt.Errorf("backend %s: %w", b.name, err)
		}
		headers = append(headers, h)
	}
	statuses, err := statusesPage(r.root, headers)
	if err != nil {
		return nil, err
	}
	return map[string]string{"api.md": apiPage(headers), "statuses.md": statuses}, nil
}

// apiPage shows the header of a model on a processor, and what other backends add.
func apiPage(headers []string) string {
	p := newPage("C and C++ API", "generated headers")
	p.text("Every model has a header with this API. Names begin with the prefix of the model (`c_prefix`), here `net`; "+
		"the example has an input `image` [N, 3, 32, 32], an output `logits` [N, 10] and `weights = \"file\"`.",
		"If all dimensions of a model are numbers, pass NULL for `dims` in C; the functions of the C++ wrapper take none. "+
			"With the weights in the library, `Create` takes an optional pointer to options; with `weights = \"file\"`, a reference, because options are required.",
		"The C++ wrapper owns a model and contexts. Its functions return the statuses of the C functions.")
	p.heading(2, "The header")
	p.text("With `backend = \"cpu\"`:")
	p.code("c skip=generated", headers[0])
	for i, b := range backends[1:] {
		p.heading(2, fmt.Sprintf("With backend = %q", b.name))
		p.text("The header has these declarations besides, or in another form:")
		p.code("c skip=generated", strings.Join(added(headers[0], headers[i+1]), "\n\n"))
	}
	return p.String()
}

// added returns the paragraphs of a header that another one does not have, without enumerators of
// statuses.
func added(base, other string) []string {
	have := map[string]bool{}
	for _, part := range strings.Split(base, "\n\n") {
		have[part] = true
	}
	var out []string
	for _, part := range strings.Split(other, "\n\n") {
		if !have[part] && !strings.Contains(part, "typedef enum") && !strings.Contains(part, "Code generated") {
			out = append(out, strings.TrimRight(part, "\n"))
		}
	}
	return out
}

var enumerator = regexp.MustCompile(`(?m)^  net_(\w+) = (\d+),  // (.*)$`)

var statusTable = regexp.MustCompile(`(?s)kStatusMessages\[\] = \{\n(.*?)\n\};`)

// statusesPage lists the statuses of all backends, with the messages of the runtime.
func statusesPage(root string, headers []string) (string, error) {
	source, err := os.ReadFile(filepath.Join(root, "runtime/dnn_status.cc"))
	if err != nil {
		return "", err
	}
	m := statusTable.FindSubmatch(source)
	if m == nil {
		return "", fmt.Errorf("runtime/dnn_status.cc has no kStatusMessages")
	}
	var sentences []string
	for _, s := range regexp.MustCompile(`"((?:[^"\\]|\\.)*)",?\n`).FindAllStringSubmatch(string(m[1])+"\n", -1) {
		sentences = append(sentences, s[1])
	}
	type status struct {
		name, comment string
		backends      []string
	}
	all := make([]*status, len(sentences))
	for i, h := range headers {
		for _, e := range enumerator.FindAllStringSubmatch(h, -1) {
			var n int
			fmt.Sscan(e[2], &n)
			if n >= len(all) {
				return "", fmt.Errorf("status %s has the number %d, and there are %d messages", e[1], n, len(all))
			}
			if all[n] == nil {
				all[n] = &status{name: e[1], comment: e[3]}
			}
			all[n].backends = append(all[n].backends, backends[i].name)
		}
	}
	p := newPage("Statuses", "generated headers and `runtime/dnn_status.cc`")
	p.text("Every function of the API returns one of these. `PREFIX_status_message` returns the sentence; " +
		"`PREFIX_explain_dims` and `PREFIX_explain_run` name the symbol, node or buffer.")
	var rows [][]string
	for n, s := range all {
		if s == nil {
			return "", fmt.Errorf("no header has the status %d (%s)", n, sentences[n])
		}
		rows = append(rows, []string{fmt.Sprint(n), quoted(s.name), s.comment, sentences[n], strings.Join(s.backends, ", ")})
	}
	p.table([]string{"number", "name", "meaning", "message", "backends"}, rows)
	return p.String(), nil
}

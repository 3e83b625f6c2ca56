package main

import (
	"cmp"
	"debug/elf"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"rules_dnn/gen/emit/manifest"
)

// report is what the files come to.
type report struct {
	files     []string
	machine   elf.Machine
	sections  [kinds]int64
	functions map[string]*function
	stripped  bool // a file has no symbols
	// nodes are the labels of what functions compute, as manifests say.
	nodes map[string][]string
	// memory is what runs take, a line for each manifest.
	memory []string
	// objects is the code of objects by their names in libraries, and variants what manifests say
	// of a library's chips.
	objects  map[string]int64
	variants []manifest.Variant
}

func isManifest(path string) bool { return strings.HasSuffix(path, ".manifest.json") }

// addManifest notes which nodes the kernels compute.
func (r *report) addManifest(path string, f io.Reader) error {
	var m manifest.Manifest
	if err := json.NewDecoder(f).Decode(&m); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if r.nodes == nil {
		r.nodes = map[string][]string{}
	}
	if m.ArenaBytes != "" {
		r.memory = append(r.memory, memory(m))
	}
	r.variants = append(r.variants, m.Variants...)
	for _, b := range m.Blocks {
		label := strings.Join(b.Ops, ", ")
		if len(b.Nodes) > 0 {
			label = strings.Join(append(b.Nodes[:1:1], b.Ops[1:]...), ", ")
		}
		r.nodes[b.Kernel] = append(r.nodes[b.Kernel], label)
	}
	return nil
}

// memory returns the memory of a run besides the files: the memory of values, and the minimum that
// is live at the same time.
func memory(m manifest.Manifest) string {
	text := fmt.Sprintf("A run uses %s bytes for values; %s bytes are live at the same time", m.ArenaBytes, m.ArenaLowerBound)
	arena, err := strconv.ParseFloat(m.ArenaBytes, 64)
	live, wrong := strconv.ParseFloat(m.ArenaLowerBound, 64)
	if err == nil && wrong == nil && live > 0 {
		text += fmt.Sprintf(" (ratio %.2f)", arena/live)
	}
	return text + fmt.Sprintf(", and %s a thread.", m.ScratchBytes)
}

// print prints sections, then the n largest functions.
func (r *report) print(out io.Writer, n int) {
	var names []string
	for _, f := range r.files {
		names = append(names, filepath.Base(f))
	}
	fmt.Fprintf(out, "%s, for %s\n", strings.Join(names, ", "), strings.TrimPrefix(r.machine.String(), "EM_"))
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	total := int64(0)
	for k, bytes := range r.sections {
		if total += bytes; bytes > 0 || kind(k) == code {
			fmt.Fprintf(w, "%d\t  %s\n", bytes, kindText[k])
		}
	}
	fmt.Fprintf(w, "%d\t  bytes of all\n", total)
	w.Flush()
	for _, line := range r.memory {
		fmt.Fprintln(out, line)
	}
	r.printVariants(out)
	if n > 0 {
		r.printFunctions(out, n)
	}
}

func (r *report) printFunctions(out io.Writer, n int) {
	var list []*function
	named := int64(0)
	for _, f := range r.functions {
		list = append(list, f)
		named += f.bytes
	}
	slices.SortFunc(list, func(a, b *function) int {
		return cmp.Or(cmp.Compare(b.bytes, a.bytes), strings.Compare(a.name, b.name))
	})
	fmt.Fprintf(out, "\n%d functions, the largest first\n", len(list))
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	rest := int64(0)
	for i, f := range list {
		if i >= n {
			rest += f.bytes
			continue
		}
		fmt.Fprintf(w, "%d\t  %s%s\n", f.bytes, f.name, r.notes(f))
	}
	if len(list) > n {
		fmt.Fprintf(w, "%d\t  %d more functions\n", rest, len(list)-n)
	}
	if left := r.sections[code] - named; left > 0 {
		fmt.Fprintf(w, "%d\t  between functions, or without a name\n", left)
	}
	w.Flush()
	if r.stripped {
		fmt.Fprintln(out, "A file has no symbols: its functions, and weights apart from constants, are not known.")
	}
}

// notes returns the number of copies of a function, and what it computes.
func (r *report) notes(f *function) string {
	text := ""
	if f.copies > 1 {
		text = fmt.Sprintf(" (%d copies)", f.copies)
	}
	if nodes := r.nodes[f.name]; len(nodes) > 0 {
		text += ": " + nodes[0]
		if len(nodes) > 1 {
			text += fmt.Sprintf(" and %d more", len(nodes)-1)
		}
	}
	return text
}

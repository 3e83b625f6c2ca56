package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"

	"rules_dnn/gen/base/files"
)

// head begins the record.
const head = `# What dnnc generates, as digests (the first 16 digits of SHA-256): a line for each graph and chip.
# 'go run ./tools/digests --models graphs.zip --update' writes this file, and without --update compares with it; --help has more.
# graph chip sources weights manifest, or graph chip error: the first line of dnnc's error
`

// key is what a line is about.
type key struct{ graph, chip string }

// record is the file: the rest of each line.
type record map[key]string

// mostError is how long a line's error is at most.
const mostError = 300

// line returns a result as a line of the record.
func line(d digests, refused error) string {
	if refused == nil {
		return fmt.Sprintf("%s %s %s", d.sources, d.weights, d.manifest)
	}
	text, _, _ := strings.Cut(refused.Error(), "\n")
	if runes := []rune(text); len(runes) > mostError {
		text = string(runes[:mostError]) + "..."
	}
	return "error: " + text
}

// columns returns the names of the columns in which two lines differ.
func columns(before, now string) string {
	a, b := strings.Fields(before), strings.Fields(now)
	names := []string{"sources", "weights", "manifest"}
	if strings.HasPrefix(before, "error: ") || strings.HasPrefix(now, "error: ") || len(a) != len(names) || len(b) != len(names) {
		return fmt.Sprintf("was %q, is %q", before, now)
	}
	var out []string
	for i, name := range names {
		if a[i] != b[i] {
			out = append(out, name)
		}
	}
	return strings.Join(out, ", ")
}

func (k key) compare(l key) int {
	return cmp.Or(strings.Compare(k.graph, l.graph), strings.Compare(k.chip, l.chip))
}

func (r record) String() string {
	var b strings.Builder
	b.WriteString(head)
	for _, k := range slices.SortedFunc(maps.Keys(r), key.compare) {
		fmt.Fprintf(&b, "%-22s %-14s %s\n", k.graph, k.chip, r[k])
	}
	return b.String()
}

// parseRecord reads a record. It is sorted, and each line is there once: a merge of two may leave
// others.
func parseRecord(text string) (record, error) {
	r := record{}
	var last key
	for i, l := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		if strings.HasPrefix(l, "#") || l == "" {
			continue
		}
		graph, rest, _ := strings.Cut(l, " ")
		chip, rest, _ := strings.Cut(strings.TrimLeft(rest, " "), " ")
		k := key{graph, chip}
		if rest = strings.TrimLeft(rest, " "); rest == "" {
			return nil, fmt.Errorf("line %d: %q: want graph, chip, and digests or an error; --update writes the file", i+1, l)
		}
		if len(r) > 0 && k.compare(last) <= 0 {
			return nil, fmt.Errorf("line %d: %s %s does not follow %s %s in order; --update writes the file", i+1, graph, chip, last.graph, last.chip)
		}
		r[k], last = rest, k
	}
	return r, nil
}

// readRecord reads the file; without one nothing is known.
func (o *options) readRecord() (record, error) {
	text, err := os.ReadFile(o.record)
	if errors.Is(err, fs.ErrNotExist) && o.update {
		return record{}, nil
	}
	if err != nil {
		return nil, err
	}
	r, err := parseRecord(string(text))
	if err != nil && o.update { // what cannot be read is written anew
		return record{}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", o.record, err)
	}
	return r, nil
}

func (r record) write(path string) error { return files.Write(path, []byte(r.String())) }

package main

import (
	"debug/elf"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"rules_dnn/tools/a64count"
)

// write writes the counts to the file of --count-json.
func (c *counter) write(functions []a64count.Function) error {
	helped, err := c.helped()
	if err != nil {
		return err
	}
	r := a64count.Record{Code: c.code}
	if r.CodeBytes, err = codeBytes(c.work); err != nil {
		return err
	}
	for _, f := range functions {
		blocks, kernel := c.blocks[f.Name]
		if !kernel {
			blocks = helped[f.Name]
		}
		r.Functions = append(r.Functions, a64count.Recorded{Function: f, Kernel: kernel, Blocks: blocks})
	}
	return writeCounts(c.json, r)
}

// helped returns the blocks of the kernels that call each function of the generated sources.
func (c *counter) helped() (map[string][]string, error) {
	sources, err := filepath.Glob(c.work + "/kernels/*.cc")
	if err != nil {
		return nil, err
	}
	callees := map[string][]string{}
	for _, path := range sources {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		addCallees(callees, string(text))
	}
	m, err := readManifest(c.work)
	if err != nil {
		return nil, err
	}
	helpers := map[string][]string{} // of each kernel
	for kernel := range c.blocks {
		helpers[kernel] = reached(callees, kernel)
	}
	helped := map[string][]string{}
	for _, b := range m.Blocks { // blocks of a helper are in the network's order
		block := strings.Join(b.Nodes, ", ")
		for kernel, blocks := range c.blocks {
			if !slices.Contains(blocks, block) {
				continue
			}
			for _, name := range helpers[kernel] {
				if !slices.Contains(helped[name], block) {
					helped[name] = append(helped[name], block)
				}
			}
		}
	}
	return helped, nil
}

var (
	// definition is the first line of a function in generated sources.
	definition = regexp.MustCompile(`^[A-Za-z].*?\b(\w+)\(.*\{$`)
	called     = regexp.MustCompile(`\b(\w+)\(`)
)

// addCallees adds what each function of a generated source calls. Names of macros and of keywords
// do no harm.
func addCallees(callees map[string][]string, source string) {
	caller := ""
	for _, line := range strings.Split(source, "\n") {
		if m := definition.FindStringSubmatch(line); m != nil {
			caller = m[1]
			continue
		}
		for _, m := range called.FindAllStringSubmatch(line, -1) {
			if !slices.Contains(callees[caller], m[1]) {
				callees[caller] = append(callees[caller], m[1])
			}
		}
	}
}

// reached returns the functions that a function calls, directly or through others.
func reached(callees map[string][]string, from string) []string {
	var out []string
	next := []string{from}
	for len(next) > 0 {
		name := next[0]
		next = next[1:]
		for _, callee := range callees[name] {
			if !slices.Contains(out, callee) {
				out, next = append(out, callee), append(next, callee)
			}
		}
	}
	return out
}

// codeBytes returns the size of the code in the objects of the network. The object that describes
// blocks is only in programs that measure them, so it does not count.
func codeBytes(work string) (int64, error) {
	sources, err := filepath.Glob(work + "/kernels/model_*.cc")
	if err != nil {
		return 0, err
	}
	var sum int64
	for i, source := range sources {
		if strings.HasSuffix(source, "_profile.cc") {
			continue
		}
		f, err := elf.Open(objectFile(work, 0, i))
		if err != nil {
			return 0, fmt.Errorf("object of %s: %w", filepath.Base(source), err)
		}
		for _, s := range f.Sections {
			if s.Flags&elf.SHF_EXECINSTR != 0 {
				sum += int64(s.Size)
			}
		}
		if err := f.Close(); err != nil {
			return 0, err
		}
	}
	return sum, nil
}

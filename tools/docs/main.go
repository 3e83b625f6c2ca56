// Command docs writes the generated pages of docs/reference, or compares them with the code that
// they are made of.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"rules_dnn/tools/command"
)

const usage = `docs compares the pages of docs/reference with the code that they are made of, and fails if one is stale.

usage: docs [options], from the repository's root
  go run ./tools/docs            compare
  go run ./tools/docs -update    write the pages

options:
`

// folder holds the generated files and no others.
const folder = "docs/reference"

// repository is what pages are made of.
type repository struct {
	root string
	// tools is a folder of built commands.
	tools string
}

// generators make the pages. Each returns files by their paths in folder.
var generators = []func(*repository) (map[string]string, error){
	rulesPages,
	operatorsPage,
	apiPages,
	helpPages,
	schemaPages,
	chipsPages,
	warningsPage,
	messagesPage,
}

func main() {
	command.Exit("docs", run(os.Args[1:], os.Stdout))
}

func run(args []string, out io.Writer) error {
	fs := command.Options("docs")
	update := fs.Bool("update", false, "write the pages")
	tools := fs.String("tools", "", "`FOLDER` of built commands; default: they are built by 'go build'")
	if err := command.Parse(fs, args, usage, out); errors.Is(err, flag.ErrHelp) {
		return nil
	} else if err != nil {
		return err
	}
	r := &repository{root: ".", tools: *tools}
	if *tools == "" {
		dir, err := os.MkdirTemp("", "docs")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		if err := buildTools(dir); err != nil {
			return err
		}
		r.tools = dir
	}
	pages, err := generate(r)
	if err != nil {
		return err
	}
	stale, err := compare(r.root, pages)
	if err != nil {
		return err
	}
	if *update {
		return write(r.root, pages, stale)
	}
	if len(stale) > 0 {
		return fmt.Errorf("stale: %s; run 'go run ./tools/docs -update'", strings.Join(stale, ", "))
	}
	return nil
}

// generate returns all files by their paths in folder.
func generate(r *repository) (map[string]string, error) {
	pages := map[string]string{}
	for _, g := range generators {
		files, err := g(r)
		if err != nil {
			return nil, err
		}
		for name, text := range files {
			if _, taken := pages[name]; taken {
				return nil, fmt.Errorf("two generators make %s", name)
			}
			pages[name] = text
		}
	}
	return pages, nil
}

// compare returns the files that differ, are missing, or that nothing generates, sorted.
func compare(root string, pages map[string]string) ([]string, error) {
	have := map[string]string{}
	err := filepath.WalkDir(filepath.Join(root, folder), func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		name, _ := filepath.Rel(filepath.Join(root, folder), path)
		have[filepath.ToSlash(name)] = string(data)
		return err
	})
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	var stale []string
	for name, text := range pages {
		if got, ok := have[name]; !ok || got != text {
			stale = append(stale, name)
		}
		delete(have, name)
	}
	stale = append(stale, slices.Collect(maps.Keys(have))...)
	slices.Sort(stale)
	return stale, nil
}

// write makes the stale files current, and removes those that nothing generates.
func write(root string, pages map[string]string, stale []string) error {
	for _, name := range stale {
		path := filepath.Join(root, folder, name)
		text, ok := pages[name]
		if !ok {
			if err := os.Remove(path); err != nil {
				return err
			}
			continue
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// Package chips knows the chips and the devices of platforms by their names. chips.bzl there says all that is known of a chip: Bazel
// makes the compiler's facts files of it, and this package, which programs hold, does the same.
package chips

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"rules_dnn/gen/base/files"
	"rules_dnn/gen/target"
	"rules_dnn/platforms"
)

// File is where the chips stand in the repository.
const File = "platforms/chips/chips.bzl"

// Chip is an entry of the file.
type Chip struct {
	Name string
	// Constraints are the values that a platform has which has the chip, by their settings.
	Constraints map[string]string
	// Copts are the C++ compiler's flags, for kernels.
	Copts []string
	// Variants are the chips for which a library has kernels, too, where the platform has this one, the least capable first.
	Variants []string
	// Facts is the file that dnnc reads (JSON), as Bazel writes it.
	Facts []byte
}

// All returns the chips in the file's order.
func All() ([]Chip, error) {
	text, err := platforms.Files.ReadFile(strings.TrimPrefix(File, "platforms/"))
	if err != nil {
		return nil, err
	}
	return parse(File, text)
}

// Facts returns the facts of a chip: by its name, or of the JSON file that a path names.
func Facts(chip string) ([]byte, error) {
	if IsPath(chip) {
		return files.Read(chip)
	}
	all, err := All()
	if err != nil {
		return nil, err
	}
	var names []string
	for _, c := range all {
		if c.Name == chip {
			return c.Facts, nil
		}
		names = append(names, c.Name)
	}
	return readUnknown(chip, "chip", File, names)
}

// Target returns the facts of a chip, by a name or a path as Facts takes it.
func Target(chip string) (*target.Target, error) {
	facts, err := Facts(chip)
	if err != nil {
		return nil, err
	}
	return target.Parse(facts)
}

// parse gives the chips of a file's text.
func parse(path string, text []byte) ([]Chip, error) {
	names, err := evaluate(path, text)
	if err != nil {
		return nil, err
	}
	table, ok := names["CHIPS"].(*dict)
	if !ok {
		return nil, fmt.Errorf("%s: want a dict CHIPS", path)
	}
	runsOn, err := processors(table)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	var all []Chip
	for _, name := range table.keys {
		c, err := chip(name, table.values[name], runsOn[name])
		if err != nil {
			return nil, fmt.Errorf("%s: %s: %w", path, name, err)
		}
		all = append(all, c)
	}
	return all, nil
}

// fields are those of an entry.
var fields = []string{"constraints", "copts", "facts", "runs", "variants"}

// processors are the facts of those that run what is made for other entries, by the names of these, as platforms/chips/BUILD.bazel has them.
func processors(table *dict) (map[string][]any, error) {
	out := map[string][]any{}
	for _, name := range table.keys {
		entry, ok := table.values[name].(*dict)
		if !ok || entry.values["runs"] == nil {
			continue
		}
		facts, isDict := entry.values["facts"].(*dict)
		data, err := encode(entry.values["runs"])
		var of []string
		if err != nil || !isDict || json.Unmarshal(data, &of) != nil {
			return nil, fmt.Errorf("%s: runs: want names of chips, and facts", name)
		}
		for _, chip := range of {
			if _, ok := table.values[chip]; !ok {
				return nil, fmt.Errorf("%s: runs: there is no chip %q", name, chip)
			}
			out[chip] = append(out[chip], facts.with("name", name))
		}
	}
	return out, nil
}

// chip makes a chip of an entry, for which what runs on some processors is made.
func chip(name string, value any, runsOn []any) (Chip, error) {
	c := Chip{Name: name, Constraints: map[string]string{}}
	entry, ok := value.(*dict)
	if !ok {
		return c, fmt.Errorf("want a dict")
	}
	for _, key := range entry.keys {
		if !slices.Contains(fields, key) {
			return c, fmt.Errorf("there is no field %q; want %s", key, strings.Join(fields, ", "))
		}
	}
	for _, x := range []struct {
		name string
		into any
	}{{"constraints", &c.Constraints}, {"copts", &c.Copts}, {"variants", &c.Variants}} {
		data, err := encode(entry.values[x.name])
		if err != nil {
			return c, err
		}
		if err := json.Unmarshal(data, x.into); err != nil {
			return c, fmt.Errorf("%s: %w", x.name, err)
		}
	}
	facts, ok := entry.values["facts"].(*dict)
	if !ok {
		return c, fmt.Errorf("facts: want a dict")
	}
	for _, key := range []string{"name", "copts", "runs_on"} {
		if _, ok := facts.values[key]; ok {
			return c, fmt.Errorf("facts has %s, which the entry sets itself", key)
		}
	}
	if runsOn != nil {
		facts = facts.with("runs_on", runsOn)
	}
	var err error
	c.Facts, err = encode(facts.with("name", name).with("copts", entry.values["copts"]))
	return c, err
}

// encode is a value as Bazel's json.encode_indent writes it: keys in order.
func encode(value any) ([]byte, error) {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(value)
	return out.Bytes(), err
}

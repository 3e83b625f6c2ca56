package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"rules_dnn/gen/files"
	"rules_dnn/gen/target"
)

// chip is a chip or a device, and the file of its facts.
type chip struct {
	*target.Target
	facts string
}

// targets are the chips and devices of the repository that --chips wants, in the order of their names.
func (o *options) targets() ([]*chip, error) {
	var out []*chip
	for _, folder := range []string{"chips", "devices"} {
		paths, err := filepath.Glob(filepath.Join(o.root, "platforms", folder, "*.json"))
		if err != nil {
			return nil, err
		}
		for _, path := range paths {
			facts, err := files.Read(path)
			if err != nil {
				return nil, err
			}
			t, err := target.Parse(facts)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", path, err)
			}
			if o.chips.MatchString(t.Name) {
				out = append(out, &chip{t, path})
			}
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("--chips=%s: platforms/chips and platforms/devices have none that is called so; run this command from the repository's root", o.chips)
	}
	slices.SortFunc(out, func(a, b *chip) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}

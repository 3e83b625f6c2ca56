// Command gpu writes a folder with OpenCL kernels of some operators, as the compiler makes them for a device, and a program that measures them
// beside PyTorch on a machine with a GPU, which needs no compiler:
//
//	go run ./tools/gpu --device platforms/devices/opencl_nvidia.json --out FOLDER
//	python3 FOLDER/measure.py    # there
package main

import (
	_ "embed"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"

	"rules_dnn/gen/target"
)

//go:embed measure.py
var measure string

//go:embed cl.py
var cl string

func main() {
	device := flag.String("device", "platforms/devices/opencl_nvidia.json", "facts of the device")
	out := flag.String("out", "", "folder to write")
	only := flag.String("only", "", "regular expression of names")
	candidates := flag.Int("candidates", 0, "so many kernels of each operator, not the one that estimates choose")
	flag.Parse()
	if err := write(*device, *out, *only, *candidates); err != nil {
		fmt.Fprintln(os.Stderr, "gpu:", err)
		os.Exit(1)
	}
}

// write writes the folder.
func write(device, out, only string, candidates int) error {
	if out == "" {
		return fmt.Errorf("want --out FOLDER")
	}
	facts, err := os.ReadFile(device)
	if err != nil {
		return err
	}
	t, err := target.Parse(facts)
	if err != nil {
		return err
	}
	wanted, err := regexp.Compile(only)
	if err != nil {
		return err
	}
	var all []*bundle
	for _, c := range cases() {
		if !wanted.MatchString(c.name) {
			continue
		}
		known := map[string]bool{}
		for k := range max(1, candidates) {
			b, err := c.bundle(t, min(k+1, candidates))
			if err != nil {
				return fmt.Errorf("%s: %w", c.name, err)
			}
			if !known[b.Source] {
				all = append(all, b)
			}
			known[b.Source] = true
		}
	}
	text, err := json.MarshalIndent(all, "", " ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	for name, text := range map[string]string{"measure.py": measure, "cl.py": cl, "cases.json": string(text)} {
		if err := os.WriteFile(filepath.Join(out, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

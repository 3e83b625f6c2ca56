// Command gpu writes a folder with OpenCL kernels of some operators, as the compiler makes them for
// a device, and a program that measures them beside PyTorch on a machine with a GPU, which needs no
// compiler:
//
//	go run ./tools/gpu --device platforms/devices/opencl_nvidia.json --out FOLDER
//	python3 FOLDER/measure.py    # there
//
// Or one with programs of whole networks, of ONNX files without weights:
//
//	./bazelw exec go run ./tools/gpu --networks MODELS --cxx clang++ --out FOLDER
//	python3 FOLDER/networks.py   # there
//
// Or a table of what kernels read of textures and buffers on a device that need not be there:
//
//	go run ./tools/gpu --reads --networks MODELS --device platforms/devices/opencl_adreno_750.json
package main

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"

	"rules_dnn/gen/target"
	"rules_dnn/gen/target/chips"
	"rules_dnn/tools/command"
)

//go:embed measure.py
var measure string

//go:embed cl.py
var cl string

//go:embed networks.py
var measureNetworks string

//go:embed opencl.py
var findOpenCL string

//go:embed torch_networks.py
var torchNetworks string

//go:embed tinygrad_networks.py
var tinygradNetworks string

// networkOptions holds the options for whole networks.
type networkOptions struct {
	networks, cxx, chip, device, out, only string
	variantOptions
}

const usage = `usage: gpu [--device FACTS] --out FOLDER                      kernels of operators, and measure.py
       gpu --networks MODELS [--cxx COMPILER] --out FOLDER    programs of networks, and networks.py
       gpu --reads --networks MODELS [--device FACTS]         a table of the bytes that kernels read
`

func main() {
	command.Exit("gpu", run(os.Args[1:]))
}

func run(args []string) error {
	fs := command.Options("gpu")
	device := fs.String("device", "opencl_nvidia", "the device: one of platforms/devices, or a `FILE.json` of facts")
	out := fs.String("out", "", "folder to write")
	only := fs.String("only", "", "regular expression of names")
	candidates := fs.Int("candidates", 0, "number of kernels of each operator; 0: the one with the best estimate")
	networks := fs.String("networks", "", "folder of ONNX networks without weights; write their programs instead")
	cxx := fs.String("cxx", "", "C++ compiler of these programs; default: networks.py --cxx=COMPILER compiles them on the other machine")
	chip := fs.String("chip", "x86_64_v3", "the processor beside the GPU")
	without := fs.String("without", "", "`PARTS` with commas between ('dnnc passes' lists them): also write programs of the networks of --of with each part disabled")
	of := fs.String("of", "", "regular expression of networks for --without")
	half := fs.String("fp16", "^$", "regular expression of networks that get programs in 16 bits, too")
	pruned := fs.String("pruned", "^$", "regular expression of networks that get programs with pruned weights, too")
	counted := fs.Bool("reads", false, "print the bytes that the networks' kernels read and store, with images and with buffers; write nothing")
	if err := command.Parse(fs, args, usage, os.Stderr); err != nil {
		return err
	}
	*out, *networks = command.Path(*out), command.Path(*networks)
	if chips.IsPath(*device) {
		*device = command.Path(*device)
	}
	switch {
	case *counted:
		return writeReads(*networks, *device, *only, os.Stdout)
	case *networks == "":
		return write(*device, *out, *only, *candidates)
	}
	o := networkOptions{networks: *networks, cxx: *cxx, chip: *chip, device: *device, out: *out, only: *only}
	if err := o.parse(*without, *of, *half, *pruned); err != nil {
		return err
	}
	if err := command.EnterRepository(); err != nil { // whose compiler is built
		return err
	}
	return writeNetworks(o)
}

// write writes the folder.
func write(device, out, only string, candidates int) error {
	if out == "" {
		return fmt.Errorf("want --out FOLDER")
	}
	facts, err := chips.DeviceFacts(device)
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
		for _, parts := range sumParts(candidates) {
			for k := range max(1, candidates) {
				b, err := c.bundle(t, min(k+1, candidates), parts)
				if err != nil {
					return fmt.Errorf("%s: %w", c.name, err)
				}
				if !known[b.Source] {
					all = append(all, b)
				}
				known[b.Source] = true
			}
		}
	}
	text, err := json.MarshalIndent(all, "", " ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	files := map[string][]byte{"measure.py": []byte(measure), "cl.py": []byte(cl), "cases.json": text}
	for _, b := range all {
		for _, f := range b.files() {
			files[f.File] = f.bytes
		}
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(out, name), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// sumParts returns the numbers of parts into which a kernel splits the sums of a contraction for
// another kernel to add: the estimates' choice or, for candidates, all.
func sumParts(candidates int) []int64 {
	if candidates == 0 {
		return []int64{0}
	}
	return []int64{1, 2, 3, 4, 6, 8, 12, 16}
}

package build

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	"rules_dnn/gen/target"
	"rules_dnn/gen/target/chips"
)

// dnnc is the package of the compiler.
const dnnc = "./gen/cmd/dnnc"

// Dnnc builds dnnc as it is in a working tree with this root. It returns the path in the folder.
func Dnnc(root, folder string) (string, error) {
	path := filepath.Join(folder, "dnnc")
	if err := Go(root, path, dnnc); err != nil {
		return "", fmt.Errorf("building dnnc (is %s the repository's root?): %w", root, err)
	}
	return path, nil
}

// Go builds Go programs of a working tree: one as a file, or several in a folder whose name ends
// in a slash.
func Go(root, to string, packages ...string) error {
	tool := exec.Command("go", append([]string{"build", "-o", to}, packages...)...)
	tool.Dir = root
	_, err := output(tool)
	return err
}

// Names returns options of 'dnnc compile' for a model that Served names, in the files of a folder
// that Program reads.
func Names(folder string) []string {
	in := func(name string) string { return filepath.Join(folder, name) }
	return []string{"--api=model", "--prefix=model", "--namespace=model", "--weights=file", "--out-header=" + in("model.h"), "--out-kernels=" + in("kernels"),
		"--out-weights=" + in("model.weights"), "--out-manifest=" + in(Manifest)}
}

// Manifest is the manifest's name in a model's folder.
const Manifest = "model.manifest.json"

// Tools make programs for this machine, or for an emulator.
type Tools struct {
	Dnnc string
	Cxx  []string // the C++ compiler and its options
	// runtime are objects that all programs share.
	runtime []string
}

// NewTools builds dnnc and the runtime in a folder, from the working directory.
func NewTools(folder string, cxx []string) (*Tools, error) {
	t := &Tools{Cxx: cxx}
	var err error
	if t.Dnnc, err = Dnnc(".", folder); err != nil {
		return nil, err
	}
	t.runtime, err = Runtime(cxx, filepath.Join(folder, "runtime"))
	return t, err
}

// Model is one model for one chip, in a folder of its own.
type Model struct {
	*Tools
	Folder string
	Chip   *target.Target
}

// Model makes the folder of a model for a chip, a name of platforms/chips.
func (t *Tools) Model(folder, chip string) (*Model, error) {
	facts, err := chips.Facts(chip)
	if err != nil {
		return nil, err
	}
	m := &Model{Tools: t, Folder: folder}
	if m.Chip, err = target.Parse(facts); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return nil, err
	}
	return m, os.WriteFile(m.in("chip.json"), facts, 0o666)
}

func (m *Model) in(name string) string { return filepath.Join(m.Folder, name) }

// Weights returns the file of weights that Compile writes.
func (m *Model) Weights() string { return m.in("model.weights") }

// Import runs 'dnnc graph' on a file, with further options.
func (m *Model) Import(src string, options ...string) error {
	return Run(m.Dnnc, append([]string{"graph", "--src=" + src, "--out=" + m.in("graph.txt"), "--out-consts=" + m.in("graph.consts")}, options...)...)
}

// WriteGraph writes a graph without constants in place of Import's.
func (m *Model) WriteGraph(text string) (src string, err error) {
	for name, text := range map[string]string{"graph.txt": text, "graph.consts": "", "none": ""} {
		if err := os.WriteFile(m.in(name), []byte(text), 0o666); err != nil {
			return "", err
		}
	}
	return m.in("none"), nil
}

// Compile runs 'dnnc compile' on the graph that was read from a file, with further options.
func (m *Model) Compile(src string, options ...string) error {
	return Run(m.Dnnc, slices.Concat([]string{"compile", "--graph=" + m.in("graph.txt"), "--consts=" + m.in("graph.consts"), "--src=" + src,
		"--chip=" + m.in("chip.json")}, Names(m.Folder), options)...)
}

// Program compiles the C++ that Compile wrote, and returns the program.
func (m *Model) Program() (string, error) {
	copts := slices.Concat(KernelCopts, m.Chip.Copts, []string{"-I" + m.Folder, "-I" + m.in("kernels")})
	objects, err := Compile(m.Cxx, copts, m.Folder, m.in("kernels/model_*.cc"))
	if err != nil {
		return "", err
	}
	program := m.in("program")
	return program, Link(m.Cxx, slices.Concat(objects, m.runtime), program)
}

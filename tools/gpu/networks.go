package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"rules_dnn/gen/target"
	"rules_dnn/gen/target/chips"
	"rules_dnn/tools/internal/build"
)

// network is what measuring a network needs beside its program.
type network struct {
	// Name is PyTorch's name of the network, and Batch the number of inputs of a run.
	Name  string
	Batch int
	// Variant describes how the network or its compilation differs from the plain one: "fp16",
	// "without moves", "pruned, share 16"; "" for the plain one.
	Variant string
	// Type is what PyTorch's network computes with, "" where it is not measured beside this
	// variant.
	Type string
	// Graph, Program and Options are of the folder: the network without weights, the program that
	// runs it, and what `dnnc compile` made it with.
	Graph, Program string
	Options        []string
	// Pruning are settings of `dnnc prune`, by which the weights are made sparse before; "" where
	// they are not.
	Pruning string
}

// copts are the options of the C++ compiler for what programs are made of.
type copts struct{ Runtime, Program, Kernels []string }

// written is the content of networks.json.
type written struct {
	Copts    copts
	Networks []*network
}

// bundler writes a folder with networks' programs.
type bundler struct {
	out, work string // folders: what is written, and what is not
	cxx       []string
	copts     copts
	objects   []string // of what programs share
}

// coptsOf returns the compiler options for programs on a chip.
func coptsOf(t *target.Target) copts {
	plain := []string{"-std=c++17", "-O2"}
	return copts{Runtime: append(slices.Clone(plain), "-fno-exceptions", "-fno-rtti"), Program: plain, Kernels: slices.Concat(build.KernelCopts, t.Copts)}
}

// compileOptions returns the options of `dnnc compile` for its outputs; files are relative to a
// folder.
func compileOptions() []string {
	return []string{"--chip=chip.json", "--device=device.json", "--api=model", "--prefix=model", "--namespace=model", "--weights=file", "--shards=8"}
}

// writeNetworks writes programs of the ONNX networks of a folder, NAME.onnx or, of a batch,
// NAME_batchN.onnx, whose weights were taken out, and what measures them: dnnc and fill, which make
// the weights there, and networks.py.
func writeNetworks(o networkOptions) error {
	if o.out == "" {
		return errors.New("want --out FOLDER")
	}
	wanted, err := regexp.Compile(o.only)
	if err != nil {
		return err
	}
	paths, err := filepath.Glob(filepath.Join(o.networks, "*.onnx"))
	if err != nil {
		return err
	}
	b := &bundler{out: o.out, cxx: strings.Fields(o.cxx)}
	if b.work, err = os.MkdirTemp("", "gpu"); err != nil {
		return err
	}
	defer os.RemoveAll(b.work)
	if err := b.begin(o); err != nil {
		return err
	}
	var all []*network
	for _, path := range paths {
		n, err := named(filepath.Base(path))
		if err != nil {
			return err
		}
		if !wanted.MatchString(n.Graph) {
			continue
		}
		for _, v := range o.variants(n) {
			if err := b.network(path, v); err != nil {
				return fmt.Errorf("%s: %s: %w", path, v.Program, err)
			}
			fmt.Println(v.Program)
			all = append(all, v)
		}
	}
	if len(all) == 0 {
		return fmt.Errorf("no network of %s is called %q", o.networks, o.only)
	}
	text, err := json.MarshalIndent(written{b.copts, all}, "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(o.out, "networks.json"), text, 0o644)
}

// batched matches the name of a file that contains the batch.
var batched = regexp.MustCompile(`^(.+)_batch([0-9]+)$`)

// named returns the network with a file's name.
func named(file string) (*network, error) {
	n := &network{Name: strings.TrimSuffix(file, ".onnx"), Batch: 1, Type: "float", Graph: file, Options: compileOptions()}
	n.Program = n.Name
	if m := batched.FindStringSubmatch(n.Name); m != nil {
		n.Name = m[1]
		var err error
		if n.Batch, err = strconv.Atoi(m[2]); err != nil || n.Batch < 1 {
			return nil, fmt.Errorf("%s: a batch of %s", file, m[2])
		}
	}
	return n, nil
}

// begin writes what all networks share, and compiles it.
func (b *bundler) begin(o networkOptions) error {
	if err := os.MkdirAll(b.out, 0o755); err != nil {
		return err
	}
	facts, err := chips.Facts(o.chip)
	if err != nil {
		return err
	}
	t, err := target.Parse(facts)
	if err != nil {
		return err
	}
	b.copts = coptsOf(t)
	device, err := chips.DeviceFacts(o.device)
	if err != nil {
		return err
	}
	for name, text := range map[string]string{"chip.json": string(facts), "device.json": string(device), "networks.py": measureNetworks, "opencl.py": findOpenCL, "torch_networks.py": torchNetworks, "tinygrad_networks.py": tinygradNetworks} {
		if err := os.WriteFile(filepath.Join(b.out, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	if err := os.WriteFile(filepath.Join(b.work, "served.cc"), []byte(build.Served), 0o644); err != nil {
		return err
	}
	if err := b.sources(); err != nil {
		return err
	}
	for name, program := range map[string]string{"dnnc": "./gen/cmd/dnnc", "fill": "./tools/fill"} {
		if err := build.Static(filepath.Join(b.out, name), program); err != nil {
			return err
		}
	}
	if len(b.cxx) == 0 {
		return nil // networks.py makes the programs
	}
	around, err := build.Compile(b.cxx, b.copts.Runtime, filepath.Join(b.work, "runtime"), "runtime/dnn_*.cc", "runtime/opencl/*.cc")
	if err != nil {
		return err
	}
	program, err := build.Compile(b.cxx, b.copts.Program, filepath.Join(b.work, "program"), "runtime/serve/buffer.cc", "runtime/serve/json.cc", "runtime/serve/npy.cc",
		"tools/gpu/network/main.cc", filepath.Join(b.work, "served.cc"))
	b.objects = append(around, program...)
	return err
}

// sources copies what programs are made of beside the kernels.
func (b *bundler) sources() error {
	to := filepath.Join(b.out, "source")
	if err := build.Copy(to, "runtime/*.h", "runtime/*.cc", "runtime/opencl/*.h", "runtime/opencl/*.cc", "runtime/serve/buffer.*", "runtime/serve/json.*",
		"runtime/serve/npy.*", "runtime/serve/utf8.h"); err != nil {
		return err
	}
	for _, f := range []string{"tools/gpu/network/main.cc", b.work + "/served.cc"} {
		text, err := os.ReadFile(f)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(to, filepath.Base(f)), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// network writes one.
func (b *bundler) network(path string, n *network) error {
	dir, err := os.MkdirTemp(b.work, "network")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	model, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(b.out, n.Graph), model, 0o644); err != nil {
		return err
	}
	if len(b.cxx) == 0 {
		return nil
	}
	src, err := b.graph(n, dir)
	if err != nil {
		return err
	}
	files := []string{"compile", "--graph=" + dir + "/graph.txt", "--consts=" + dir + "/graph.consts", "--src=" + src, "--out-header=" + dir + "/model.h",
		"--out-kernels=" + dir + "/kernels", "--out-weights=" + dir + "/model.weights", "--out-manifest=" + dir + "/model.json", "--out-device-source=" + dir + "/model.cl"}
	if err := b.dnnc(append(files, n.Options...)...); err != nil {
		return err
	}
	if err := os.Remove(dir + "/model.weights"); err != nil {
		return err
	}
	kernels, err := build.Compile(b.cxx, append(slices.Clone(b.copts.Kernels), "-I"+dir, "-I"+dir+"/kernels"), filepath.Join(dir, "objects"), dir+"/kernels/*.cc")
	if err != nil {
		return err
	}
	link := slices.Concat(b.cxx[1:], b.objects, kernels, []string{"-pthread", "-ldl", "-static-libstdc++", "-static-libgcc", "-s", "-o", filepath.Join(b.out, n.Program)})
	return build.Run(b.cxx[0], link...)
}

// graph writes the graph and the weights of a network, as networks.py does, and prints the file's
// name.
func (b *bundler) graph(n *network, dir string) (string, error) {
	src, fill := n.Graph, []string{"--fill-random"}
	if n.Pruning != "" {
		src, fill = dir+"/pruned.onnx", nil
		if err := os.WriteFile(dir+"/settings.json", []byte(n.Pruning), 0o644); err != nil {
			return "", err
		}
		if err := build.Run(filepath.Join(b.out, "fill"), filepath.Join(b.out, n.Graph), dir+"/filled.onnx"); err != nil {
			return "", err
		}
		if err := b.dnnc("prune", "--src="+dir+"/filled.onnx", "--settings="+dir+"/settings.json", "--out="+src); err != nil {
			return "", err
		}
	}
	return src, b.dnnc(append([]string{"graph", "--src=" + src, "--out=" + dir + "/graph.txt", "--out-consts=" + dir + "/graph.consts"}, fill...)...)
}

// dnnc runs the compiler in the folder that is written.
func (b *bundler) dnnc(args ...string) error {
	c := exec.Command("./dnnc", args...)
	c.Dir = b.out
	if out, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("dnnc %s: %w\n%s", args[0], err, out)
	}
	return nil
}

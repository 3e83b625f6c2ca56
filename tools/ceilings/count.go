package main

import (
	"archive/zip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"

	"rules_dnn/tools/a64count"
	"rules_dnn/tools/internal/build"
)

// check returns the versions of the compiler and the emulator, or why this machine cannot count.
func check(o *options) (versions, error) {
	var v versions
	if o.models == "" {
		return v, skip{"no networks: --models names a folder or a zip archive of them"}
	}
	if _, err := os.Stat(o.models); err != nil {
		return v, skip{fmt.Sprintf("no networks: --models: %v", err)}
	}
	emulator := strings.Fields(o.emulator)
	if err := a64count.CheckEmulator(emulator); err != nil {
		return v, skip{err.Error()}
	}
	if _, err := exec.LookPath("cc"); err != nil {
		return v, skip{"no C compiler cc, which compiles QEMU's plugin"}
	}
	var err error
	if v.emulator, err = firstLineOf(emulator[:1]); err != nil {
		return v, skip{err.Error()}
	}
	if v.compiler, err = firstLineOf(strings.Fields(o.cxx)); err != nil {
		return v, skip{err.Error()}
	}
	return v, nil
}

// firstLineOf returns the first line that a program prints about its version.
func firstLineOf(program []string) (string, error) {
	if len(program) == 0 {
		return "", errors.New("want the name of a program, found none")
	}
	out, err := exec.Command(program[0], append(program[1:len(program):len(program)], "--version")...).Output()
	if err != nil {
		return "", fmt.Errorf("%s --version: %w", strings.Join(program, " "), err)
	}
	line, _, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	return line, nil
}

// count counts the networks with one run of compare, which compiles the runtime once for all.
// It leaves out code that it knows by its digest: the record then has no functions.
func count(o *options, keys []key, known map[key]string) (map[key]a64count.Record, error) {
	work, err := os.MkdirTemp("", "ceilings")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(work)
	if err := build.Go(".", work+"/", "./gen/cmd/dnnc", "./tools/compare"); err != nil {
		return nil, err
	}
	folder, err := o.networks(work, keys)
	if err != nil {
		return nil, err
	}
	var list strings.Builder
	for _, k := range keys {
		fmt.Fprintf(&list, "%s.onnx %s --count-json=%s --counted=%s\n", k.network, k.options(), countsFile(work, k), known[k])
	}
	if err := os.WriteFile(work+"/list.txt", []byte(list.String()), 0o666); err != nil {
		return nil, err
	}
	if err := build.Run(work+"/compare", "--list="+work+"/list.txt", "--models="+folder, "--fill", "--count", "--reference=none", "--dnnc="+work+"/dnnc",
		"--cxx="+o.cxx, "--emulator="+o.emulator, fmt.Sprintf("--at-once=%d", o.atOnce)); err != nil {
		return nil, err
	}
	counts := map[key]a64count.Record{}
	for _, k := range keys {
		data, err := os.ReadFile(countsFile(work, k))
		if err != nil {
			return nil, err
		}
		var r a64count.Record
		if err := json.Unmarshal(data, &r); err != nil {
			return nil, fmt.Errorf("%s: %w", countsFile(work, k), err)
		}
		counts[k] = r
	}
	return counts, nil
}

// options returns the options of compare for the chip.
func (k key) options() string {
	chip, t, typed := strings.Cut(k.chip, ":")
	if !typed {
		return "--chip=" + chip
	}
	return fmt.Sprintf("--chip=%s --precision=%s --accumulation=%s", chip, t, t)
}

func countsFile(work string, k key) string {
	return filepath.Join(work, k.network+"-"+k.chip+".json")
}

// networks returns the folder of the networks: the one that --models names, or a new one with the
// contents of an archive.
func (o *options) networks(work string, keys []key) (string, error) {
	if !strings.HasSuffix(o.models, ".zip") {
		return filepath.Abs(o.models)
	}
	z, err := zip.OpenReader(o.models)
	if err != nil {
		return "", fmt.Errorf("%s: %w", o.models, err)
	}
	defer z.Close()
	for _, f := range z.File {
		name := path.Base(f.Name)
		for _, k := range keys {
			if name == k.network+".onnx" {
				if err := unpack(f, filepath.Join(work, name)); err != nil {
					return "", fmt.Errorf("%s: %s: %w", o.models, f.Name, err)
				}
				break
			}
		}
	}
	return work, nil
}

func unpack(f *zip.File, to string) error {
	from, err := f.Open()
	if err != nil {
		return err
	}
	defer from.Close()
	data, err := io.ReadAll(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, data, 0o666)
}

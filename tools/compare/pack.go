package main

import (
	"errors"
	"os"
	"path/filepath"

	"rules_dnn/gen/target/chips"
	"rules_dnn/tools/command"
	"rules_dnn/tools/internal/build"
)

// pack writes a folder in which this command runs on a machine that has no Go: what it reads of the
// repository, at the same places, the compiler, and opencl.py, with which programs find a GPU's
// driver. The machine needs a C++ compiler, and Python with onnxruntime for the reference.
func pack(o *options) error {
	folder := command.Path(o.pack)
	if err := build.Copy(folder, chips.File, "platforms/devices/*.json", "tests/models/*.txt", "runtime/*.h", "runtime/*.cc", "runtime/*/*.h", "runtime/*/*.cc"); err != nil {
		return err
	}
	find, err := os.ReadFile("tools/gpu/opencl.py")
	if err != nil {
		return err
	}
	return errors.Join(
		os.WriteFile(filepath.Join(folder, "opencl.py"), find, 0o644),
		// In the folder itself, which compilers search for headers, C++'s <compare> would be the
		// program.
		build.Static(filepath.Join(folder, "bin", "compare"), "./tools/compare"),
		build.Static(filepath.Join(folder, "bin", "dnnc"), "./gen/cmd/dnnc"))
}

package build

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
)

// Static builds a command of the repository for machines like this one that have no Go: it needs
// none of their libraries.
func Static(program, command string) error {
	tool := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", program, command)
	tool.Env = append(os.Environ(), "CGO_ENABLED=0")
	_, err := output(tool)
	return err
}

// Copy copies files of the repository, by patterns, to the same places in a folder.
func Copy(folder string, patterns ...string) error {
	for _, pattern := range patterns {
		files, err := Sources(pattern)
		if err != nil {
			return err
		}
		for _, f := range files {
			text, err := os.ReadFile(f)
			if err != nil {
				return err
			}
			to := filepath.Join(folder, f)
			if err := errors.Join(os.MkdirAll(filepath.Dir(to), 0o755), os.WriteFile(to, text, 0o644)); err != nil {
				return err
			}
		}
	}
	return nil
}

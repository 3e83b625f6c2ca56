package check

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// Static builds a command of the repository for machines like this one that have no Go: it needs
// none of their libraries.
func Static(program, command string) error {
	build := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", program, command)
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("building %s: %w\n%s", command, err, out)
	}
	return nil
}

// Copy copies files of the repository, by patterns, to the same places in a folder.
func Copy(folder string, patterns ...string) error {
	for _, pattern := range patterns {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			return fmt.Errorf("there are no files %s: run this command from the repository's root", pattern)
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

package command

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
)

// workingDirectory names the user's working directory under `bazel run`, which starts programs
// elsewhere.
const workingDirectory = "BUILD_WORKING_DIRECTORY"

// Path returns where a user's path leads: a relative one from the folder in which the user ran the
// command.
func Path(path string) string {
	if folder := os.Getenv(workingDirectory); path != "" && folder != "" && !filepath.IsAbs(path) {
		return filepath.Join(folder, path)
	}
	return path
}

// EnterFiles makes the folder that has files of rules_dnn at their places the working directory,
// and keeps the user's for Path. There is a file of this name in it. `bazel run` brings such a
// folder from any module; elsewhere the repository, or a copy of its part, is around the working
// directory.
func EnterFiles(file string) error {
	return enter(file, func(folder string) bool { return exists(filepath.Join(folder, file)) },
		"run this command with 'bazel run', or from the repository of rules_dnn")
}

// EnterRepository is like EnterFiles, for a command that builds parts of rules_dnn and needs the
// whole repository. It adjusts the user's paths.
func EnterRepository(paths ...*string) error {
	err := enter("go.mod", func(folder string) bool {
		text, err := os.ReadFile(filepath.Join(folder, "go.mod"))
		return err == nil && bytes.HasPrefix(text, []byte("module rules_dnn\n"))
	}, "run this command from the repository of rules_dnn: it builds parts of it")
	for _, path := range paths {
		*path = Path(*path)
	}
	return err
}

func enter(file string, has func(folder string) bool, cure string) error {
	user, err := os.Getwd()
	if err != nil {
		return err
	}
	if folder := os.Getenv(workingDirectory); folder != "" {
		user = folder
	}
	for _, folder := range candidates() {
		if has(folder) {
			if err := os.Setenv(workingDirectory, user); err != nil {
				return err
			}
			return os.Chdir(folder)
		}
	}
	return fmt.Errorf("there is no %s of rules_dnn around %s; %s", file, user, cure)
}

// candidates returns the folders that may have files of rules_dnn, the likeliest first: the folders
// around the working directory, what Bazel brought with the program, and the workspace.
func candidates() []string {
	var out []string
	folder, err := os.Getwd()
	for err == nil {
		out = append(out, folder)
		if filepath.Ext(filepath.Dir(folder)) == ".runfiles" {
			// Bazel starts programs in the folder of the main module's files; those of other
			// modules lie beside it.
			out = append(out, inside(filepath.Dir(folder))...)
		}
		parent := filepath.Dir(folder)
		if parent == folder {
			break
		}
		folder = parent
	}
	out = append(out, inside(os.Args[0]+".runfiles")...)
	if folder := os.Getenv("BUILD_WORKSPACE_DIRECTORY"); folder != "" {
		out = append(out, folder)
	}
	return out
}

// inside returns what is in a folder, if there is one.
func inside(folder string) []string {
	entries, _ := os.ReadDir(folder)
	var out []string
	for _, e := range entries {
		out = append(out, filepath.Join(folder, e.Name()))
	}
	return out
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

package measure

import (
	"bytes"
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// deviceFolder is where adb brings programs on a device.
const deviceFolder = "/data/local/tmp/rules_dnn"

// Runner is a command that runs programs of another machine: an emulator, adb, or any command that takes a program's path and
// arguments. The nil Runner is this machine.
type Runner struct {
	words  []string
	pushed map[string]string // by adb: where files are on the device
}

// NewRunner returns what --run_under says: words with spaces between, of which quotes may hold some together. It is nil if text is empty.
func NewRunner(text string) (*Runner, error) {
	words, err := split(text)
	if err != nil || len(words) == 0 {
		return nil, err
	}
	// `bazel run` starts programs elsewhere than the user is.
	if folder := os.Getenv("BUILD_WORKING_DIRECTORY"); folder != "" && strings.Contains(words[0], "/") && !filepath.IsAbs(words[0]) {
		words[0] = filepath.Join(folder, words[0])
	}
	return &Runner{words, map[string]string{}}, nil
}

// split returns the words of a command, as a shell does without variables.
func split(text string) ([]string, error) {
	var words []string
	word, quote, inside := "", rune(0), false
	for _, c := range text {
		switch {
		case quote != 0 && c == quote:
			quote = 0
		case quote == 0 && (c == '\'' || c == '"'):
			quote, inside = c, true
		case quote == 0 && (c == ' ' || c == '\t' || c == '\n'):
			if inside {
				words, word, inside = append(words, word), "", false
			}
		default:
			word, inside = word+string(c), true
		}
	}
	if quote != 0 {
		return nil, fmt.Errorf("--run_under=%s: a quote %c is open at its end", text, quote)
	}
	if inside {
		words = append(words, word)
	}
	return words, nil
}

// Adb reports whether the command is adb alone, with options: programs are brought to the device then.
func (r *Runner) Adb() bool {
	return r != nil && filepath.Base(r.words[0]) == "adb" && !slices.Contains(r.words, "shell")
}

// Emulates reports whether the command is known to be an emulator, whose times are not those of a processor.
func (r *Runner) Emulates() bool {
	return r != nil && slices.ContainsFunc(r.words, func(word string) bool { return strings.HasPrefix(filepath.Base(word), "qemu-") })
}

// Command returns a program and its arguments as they run. By adb the program and the files of `files` are on the device then.
func (r *Runner) Command(program string, files []string, args ...string) (*exec.Cmd, error) {
	switch {
	case r == nil:
		return exec.Command(program, args...), nil
	case !r.Adb():
		return exec.Command(r.words[0], slices.Concat(r.words[1:], []string{program}, args)...), nil
	}
	args = slices.Clone(args)
	for _, file := range append([]string{program}, files...) {
		place, err := r.push(file)
		if err != nil {
			return nil, err
		}
		for i, arg := range args {
			args[i] = strings.Replace(arg, file, place, 1)
		}
	}
	line := []string{quoted(r.pushed[program])}
	for _, arg := range args {
		line = append(line, quoted(arg))
	}
	return exec.Command(r.words[0], append(slices.Clone(r.words[1:]), "shell", "cd "+deviceFolder+" && "+strings.Join(line, " "))...), nil
}

// push brings a file to the device, once.
func (r *Runner) push(file string) (string, error) {
	if place, ok := r.pushed[file]; ok {
		return place, nil
	}
	place := path.Join(deviceFolder, fmt.Sprintf("%d_%s", len(r.pushed), filepath.Base(file)))
	for _, command := range [][]string{{"shell", "mkdir -p " + deviceFolder}, {"push", file, place}} {
		if out, err := exec.Command(r.words[0], append(slices.Clone(r.words[1:]), command...)...).CombinedOutput(); err != nil {
			return "", fmt.Errorf("%s %s: %w\n%s", strings.Join(r.words, " "), strings.Join(command, " "), err, bytes.TrimSpace(out))
		}
	}
	r.pushed[file] = place
	return place, nil
}

func quoted(arg string) string { return "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'" }

// Describe says what is measured, and by what; it fails where nothing runs the program.
func (r *Runner) Describe(model, platform, program string) (string, error) {
	foreign, err := foreign(program)
	if err != nil {
		return "", err
	}
	what := model
	if platform != "" {
		what += " for the platform " + shown(platform)
	}
	switch {
	case r.Emulates():
		return fmt.Sprintf("measuring %s in %s: an emulator's times do not apply to a processor", what, strings.Join(r.words, " ")), nil
	case r.Adb():
		return fmt.Sprintf("measuring %s on a device, through %s", what, strings.Join(r.words, " ")), nil
	case r != nil:
		return fmt.Sprintf("measuring %s through %s", what, strings.Join(r.words, " ")), nil
	case foreign != "":
		return "", fmt.Errorf("%s is built %s, and does not run on this machine (%s/%s): name a command that runs it, such as --run_under='qemu-aarch64 -L /usr/aarch64-linux-gnu', "+
			"--run_under=adb for an Android device, or any command that takes a program and its arguments; or copy %s to such a machine", what, foreign, runtime.GOOS, runtime.GOARCH, program)
	}
	return fmt.Sprintf("measuring %s on this machine (%s/%s)", what, runtime.GOOS, runtime.GOARCH), nil
}

// shown is a label as people write it.
func shown(label string) string {
	return strings.Replace(label, "@@", "@", 1)
}

// machines are ELF's names of the processors that Go knows by others.
var machines = map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64, "arm": elf.EM_ARM, "386": elf.EM_386, "riscv64": elf.EM_RISCV}

// foreign says for what a program is built that does not run on this machine; "" if it may run.
func foreign(program string) (string, error) {
	f, err := elf.Open(program)
	var format *elf.FormatError
	switch {
	case errors.As(err, &format):
		return "", nil // a program of another system, or a script
	case err != nil:
		return "", err
	}
	defer f.Close()
	machine := strings.TrimPrefix(f.Machine.String(), "EM_")
	if want, known := machines[runtime.GOARCH]; known && f.Machine != want || runtime.GOOS != "linux" {
		return "for " + machine, nil
	}
	for _, p := range f.Progs {
		if p.Type != elf.PT_INTERP {
			continue
		}
		text := make([]byte, p.Filesz)
		if _, err := p.ReadAt(text, 0); err != nil {
			return "", fmt.Errorf("%s: %w", program, err)
		}
		loader := string(bytes.TrimRight(text, "\x00"))
		if _, err := os.Stat(loader); err != nil {
			return fmt.Sprintf("for %s and to be started by %s", machine, loader), nil
		}
	}
	return "", nil
}

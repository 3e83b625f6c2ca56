package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// commands are the programs whose --help is printed, with the pages they are on. dnnc and dnntrain
// have commands of their own.
var commands = []struct{ name, path, page string }{
	{"dnnc", "gen/cmd/dnnc", "dnnc.md"},
	{"dnntrain", "gen/cmd/dnntrain", "dnnc.md"},
	{"add", "tools/add", "tools.md"},
	{"choice", "tools/choice", "tools.md"},
	{"compare", "tools/compare", "tools.md"},
	{"digests", "tools/digests", "tools.md"},
	{"fill", "tools/fill", "tools.md"},
	{"fuzz", "tools/fuzz", "tools.md"},
	{"gpu", "tools/gpu", "tools.md"},
	{"growth", "tools/growth", "tools.md"},
	{"mca", "tools/mca", "tools.md"},
	{"shares", "tools/shares", "tools.md"},
	{"size_report", "tools/size_report", "tools.md"},
	{"sparse", "tools/sparse", "tools.md"},
}

// subcommands lists the subcommands with a help text.
var subcommands = map[string][]string{
	"dnnc":     {"graph", "compile", "prune", "quantize", "tune"},
	"dnntrain": {"fit", "admm", "update", "check"},
}

// buildTools builds the commands into a folder.
func buildTools(dir string) error {
	args := []string{"build", "-o", dir}
	for _, c := range commands {
		args = append(args, "./"+c.path)
	}
	if out, err := exec.Command("go", args...).CombinedOutput(); err != nil {
		return fmt.Errorf("go build: %w\n%s", err, out)
	}
	return nil
}

// output runs a command and returns what it prints; help goes to either stream.
func (r *repository) output(name string, args ...string) (string, error) {
	path, err := r.tool(name)
	if err != nil {
		return "", err
	}
	var out bytes.Buffer
	cmd := exec.Command(path, args...)
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.Env = append(os.Environ(), "CXX=", "HOME=/nonexistent")
	if err := cmd.Run(); err != nil {
		return out.String(), fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, out.String())
	}
	return out.String(), nil
}

// help returns the usage of a command, whatever status it ends with.
func (r *repository) help(name string, sub ...string) (string, error) {
	text, err := r.output(name, append(sub, "--help")...)
	var exit *exec.ExitError
	if errors.As(err, &exit) && strings.Contains(strings.ToLower(text), "usage") {
		err = nil
	}
	return text, err
}

// tool returns the path of a built command.
func (r *repository) tool(name string) (string, error) {
	path, err := filepath.Abs(filepath.Join(r.tools, name))
	if err != nil {
		return "", err
	}
	_, err = os.Stat(path)
	return path, err
}

// helpPages writes the pages of --help.
func helpPages(r *repository) (map[string]string, error) {
	pages := map[string]*page{
		"dnnc.md":  newPage("dnnc and dnntrain", "`--help`"),
		"tools.md": newPage("Tools", "`--help`"),
	}
	pages["dnnc.md"].text("`dnnc` compiles networks; the rules run it. `dnntrain` trains and prunes them.")
	pages["tools.md"].text("Each runs as `./bazelw run //tools/NAME -- OPTIONS` or `go run ./tools/NAME OPTIONS` in the root of rules_dnn. " +
		"Other modules run `add` and `size_report` as `bazel run @rules_dnn//:NAME -- OPTIONS`.")
	for _, c := range commands {
		p := pages[c.page]
		help, err := r.help(c.name)
		if err != nil {
			return nil, err
		}
		p.heading(2, c.name)
		p.code("text", help)
		for _, sub := range subcommands[c.name] {
			help, err := r.help(c.name, sub)
			if err != nil {
				return nil, err
			}
			p.heading(3, c.name+" "+sub)
			p.code("text", help)
		}
		if c.name == "dnnc" {
			passes, err := r.output("dnnc", "passes")
			if err != nil {
				return nil, err
			}
			p.heading(3, "dnnc passes")
			p.code("text", passes)
		}
	}
	out := map[string]string{}
	for name, p := range pages {
		out[name] = p.String()
	}
	return out, nil
}

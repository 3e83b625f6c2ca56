// Command words finds words that the repository's texts avoid, in comments, errors, flags and documents, and prints what
// to write instead: FILE:LINE: found, write. It fails if it finds any.
package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
)

// list holds the rules.
const list = "tools/lint/words.txt"

// others are files whose words are not ours, or are those that the rules are about.
var others = regexp.MustCompile(`^(third_party/|tools/words/|` + regexp.QuoteMeta(list) + `$)|(^|/)testdata/|\.pb\.go$|\.(png|onnx|npy|gz|sum)$`)

// generated marks a file that a program wrote.
var generated = regexp.MustCompile(`(?m)^(//|#) Code generated .* DO NOT EDIT\.$`)

func main() {
	n, err := run(os.Stdout)
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, "words:", err)
		os.Exit(2)
	case n > 0:
		os.Exit(1)
	}
}

// run checks the repository that holds the working folder, and gives how much it found.
func run(out io.Writer) (int, error) {
	root, err := git("rev-parse", "--show-toplevel")
	if err != nil {
		return 0, err
	}
	if err := os.Chdir(strings.TrimSpace(root)); err != nil {
		return 0, err
	}
	text, err := os.ReadFile(list)
	if err != nil {
		return 0, err
	}
	rules, err := parseRules(string(text))
	if err != nil {
		return 0, fmt.Errorf("%s: %w", list, err)
	}
	files, err := git("ls-files", "-z", "--cached", "--others", "--exclude-standard")
	if err != nil {
		return 0, err
	}
	return checkFiles(rules, strings.Split(strings.TrimSuffix(files, "\x00"), "\x00"), out)
}

func checkFiles(rules []rule, files []string, out io.Writer) (int, error) {
	n := 0
	for _, name := range files {
		if others.MatchString(name) {
			continue
		}
		if info, err := os.Lstat(name); errors.Is(err, os.ErrNotExist) || err == nil && !info.Mode().IsRegular() {
			continue // a file that is deleted but not committed, or a link
		}
		data, err := os.ReadFile(name)
		if err != nil {
			return n, err
		}
		if bytes.IndexByte(data, 0) >= 0 || generated.Match(data) {
			continue
		}
		for _, f := range check(rules, string(data)) {
			fmt.Fprintf(out, "%s:%d: found %q, write: %s\n", name, f.line, f.found, f.write)
			n++
		}
	}
	return n, nil
}

func git(args ...string) (string, error) {
	var stderr bytes.Buffer
	cmd := exec.Command("git", args...)
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("git %s: %w: %s", args[0], err, strings.TrimSpace(stderr.String()))
	}
	return string(out), nil
}

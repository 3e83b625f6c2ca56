// Command words finds words and forms that the repository's texts avoid, in comments, errors, flags
// and documents, and prints what to write instead: FILE:LINE: found, write.
//
// It fails if it finds a word of tools/lint/words.txt anywhere, or if a file has more findings of
// style (tools/lint/style.txt, long sentences, long lines) than tools/lint/budget.txt allows.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
)

// Where the rules are.
const (
	list       = "tools/lint/words.txt"
	styleList  = "tools/lint/style.txt"
	budgetList = "tools/lint/budget.txt"
)

// others are files whose words are not ours, or are those that the rules are about.
var others = regexp.MustCompile(`^(third_party/|tools/words/|` + regexp.QuoteMeta(list) + `$|` + regexp.QuoteMeta(styleList) + `$|` + regexp.QuoteMeta(budgetList) + `$)` +
	`|(^|/)testdata/|\.pb\.go$|\.(png|onnx|npy|gz|sum)$`)

// generated marks a file that a program wrote.
var generated = regexp.MustCompile(`(?m)^(//|#) Code generated .* DO NOT EDIT\.$`)

const usage = `Usage: go run ./tools/words [flags] [FILE OR FOLDER...]

Without arguments, checks all files of the repository against the lists and budgets of tools/lint.
With arguments, prints all findings of these files, whatever their budget.

Examples:
  go run ./tools/words                 # what CI checks
  go run ./tools/words rules docs      # every finding in two folders
  go run ./tools/words -count docs     # how many
  go run ./tools/words -update         # lower the budgets to what is found now

Flags:
`

func main() {
	var o options
	flag.Usage = func() {
		fmt.Fprint(flag.CommandLine.Output(), usage)
		flag.PrintDefaults()
	}
	flag.BoolVar(&o.count, "count", false, "print only how many findings each kind has")
	flag.BoolVar(&o.messages, "messages", false, "with arguments: read strings and Markdown, and no comments")
	flag.BoolVar(&o.update, "update", false, "lower the budgets to what is found; budgets never rise")
	flag.BoolVar(&o.reset, "reset", false, "write the budgets as found, also if they rise: after a change to style.txt")
	flag.Parse()
	o.paths = flag.Args()
	n, err := run(os.Stdout, o)
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, "words:", err)
		os.Exit(2)
	case n > 0:
		os.Exit(1)
	}
}

type options struct {
	count, messages, update, reset bool
	paths                          []string
}

// run checks the repository that holds the working folder, and returns how many findings it has.
func run(out io.Writer, o options) (int, error) {
	root, err := git("rev-parse", "--show-toplevel")
	if err != nil {
		return 0, err
	}
	prefix, err := git("rev-parse", "--show-prefix")
	if err != nil {
		return 0, err
	}
	if err := os.Chdir(strings.TrimSpace(root)); err != nil {
		return 0, err
	}
	c, err := newChecker()
	if err != nil {
		return 0, err
	}
	names, err := git("ls-files", "-z", "--cached", "--others", "--exclude-standard")
	if err != nil {
		return 0, err
	}
	files := strings.Split(strings.TrimSuffix(names, "\x00"), "\x00")
	if len(o.paths) > 0 {
		return c.show(within(files, strings.TrimSpace(prefix), o.paths), out, o.count, o.messages)
	}
	return c.budgets(files, out, o)
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

// text returns what is checked of a file; "" if nothing is.
func text(name string) (string, error) {
	if others.MatchString(name) {
		return "", nil
	}
	if info, err := os.Lstat(name); errors.Is(err, os.ErrNotExist) || err == nil && !info.Mode().IsRegular() {
		return "", nil // a file that is deleted but not committed, or a link
	}
	data, err := os.ReadFile(name)
	if err != nil || bytes.IndexByte(data, 0) >= 0 || generated.Match(data) {
		return "", err
	}
	return string(data), nil
}

package docs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/tools/docs/snippet"
)

// TestCommands checks the commands in all shell blocks, including blocks that no test runs. They
// must name existing packages, and options that their tools have.
func TestCommands(t *testing.T) {
	root := rulesRoot(t)
	helps := toolHelps(t)
	checked := 0
	for _, page := range pages(t) {
		if !ours(page) || strings.HasPrefix(page, "docs/reference/") {
			continue
		}
		blocks, err := snippet.Read(filepath.Join(root, page))
		require.NoError(t, err)
		for _, b := range blocks {
			if b.Language != "sh" {
				continue
			}
			for _, command := range commands(b.Text) {
				checked += checkCommand(t, root, page, command, helps)
			}
		}
	}
	require.Greater(t, checked, 50, "options that were found in help texts")
}

// commands splits a script into lines and drops comments. It joins lines that end with a backslash.
func commands(script string) []string {
	var out []string
	for _, line := range strings.Split(strings.ReplaceAll(script, "\\\n", " "), "\n") {
		line, _, _ = strings.Cut(line, " #")
		for _, command := range regexp.MustCompile(`&&|[;|]`).Split(line, -1) {
			if command = strings.TrimSpace(command); command != "" && !strings.HasPrefix(command, "#") {
				out = append(out, command)
			}
		}
	}
	return out
}

// toolHelps returns the help texts of tools by their names, from the generated pages.
func toolHelps(t *testing.T) map[string]string {
	out := map[string]string{}
	for _, page := range []string{"docs/reference/dnnc.md", "docs/reference/tools.md"} {
		for _, part := range strings.Split(read(t, page), "\n## ")[1:] {
			name, text, _ := strings.Cut(part, "\n")
			out[name] = text
		}
	}
	require.Contains(t, out, "dnnc")
	return out
}

var (
	label = regexp.MustCompile(`(?:^|\s)(?:@rules_dnn)?//([\w/]*?)(?::[\w.]+|/?\.\.\.)?(?:\s|$)`)
	flags = regexp.MustCompile(`(?:^|\s)--?([a-z][\w-]*)`)
)

// checkCommand checks a command and returns the number of options that it found in a help text.
func checkCommand(t *testing.T, root, page, command string, helps map[string]string) int {
	if strings.Contains(command, "bazel") {
		for _, m := range label.FindAllStringSubmatch(command, -1) {
			_, err := os.Stat(filepath.Join(root, m[1]))
			assert.NoError(t, err, "%s: %s", page, command)
		}
	}
	name, args := toolOf(command, helps)
	n := 0
	args, _, _ = strings.Cut(args, " -- ") // a trainer's own
	for _, m := range flags.FindAllStringSubmatch(removeQuoted(args), -1) {
		option := regexp.MustCompile(`(?m)(^|\s|\[)--?` + regexp.QuoteMeta(m[1]) + `\b`)
		if assert.True(t, option.MatchString(helps[name]), "%s: %s has no option %s: %s", page, name, m[1], command) {
			n++
		}
	}
	return n
}

// toolOf returns the tool of rules_dnn that a command runs, and its arguments.
func toolOf(command string, helps map[string]string) (name, args string) {
	for _, start := range []string{`go run \./tools/(\w+)`, `go run \./gen/cmd/(\w+)`, `//tools/(\w+) --`, `//gen/cmd/(\w+) --`, `@rules_dnn//:(\w+) --`, `^(?:\./)?(dnnc|dnntrain)`} {
		m := regexp.MustCompile(start + `\s(.*)$`).FindStringSubmatch(command)
		if m != nil && helps[m[1]] != "" {
			return m[1], m[2]
		}
	}
	return "", ""
}

// removeQuoted drops quoted texts, which are values of options.
func removeQuoted(args string) string {
	return regexp.MustCompile(`'[^']*'|"[^"]*"`).ReplaceAllString(args, "X")
}

// Package snippet reads the blocks of code in Markdown pages, and what tests do with them.
//
// The line that opens a block has a language and a mark, which no reader sees:
//
//	```starlark BUILD        a file of the page's workspace
//	```sh run                commands that run there
//	```sh analyze            commands whose builds are only analyzed
//	```sh root               commands for the repository itself, whose targets and options are checked
//	```sh standalone         commands that run in the repository, without Bazel
//	```sh skip=REASON        not run; with root-skip=REASON, commands for the repository itself
package snippet

import (
	"fmt"
	"os"
	"slices"
	"strings"
)

// Block is a fenced block of code.
type Block struct {
	Line     int // of the fence
	Language string
	// Mark is a kind of Kinds, or File.
	Mark string
	// Name is the file's, for File.
	Name string
	// Reason states why commands do not run, for Skip and RootSkip.
	Reason string
	Text   string
}

// Marks of blocks.
const (
	File       = "file"
	Run        = "run"
	Analyze    = "analyze"
	Root       = "root"
	RootSkip   = "root-skip"
	Standalone = "standalone"
	Skip       = "skip"
	None       = ""
)

var kinds = []string{Run, Analyze, Root, Standalone}

// unmarked are languages of blocks that need no mark: nobody types them into a shell or a build.
var unmarked = []string{"text", "json", "go", "diff"}

// Read returns the blocks of a page.
func Read(path string) ([]Block, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	blocks, err := Parse(string(data))
	if err != nil {
		return nil, fmt.Errorf("%s:%w", path, err)
	}
	return blocks, nil
}

// Parse returns the blocks of a page's text. Errors begin with a line's number.
func Parse(text string) ([]Block, error) {
	var out []Block
	var open *Block
	for i, line := range strings.Split(text, "\n") {
		switch {
		case open != nil && strings.TrimSpace(line) == "```":
			out, open = append(out, *open), nil
		case open != nil:
			open.Text += line + "\n"
		case strings.HasPrefix(line, "```"):
			b, err := fence(i+1, strings.TrimPrefix(line, "```"))
			if err != nil {
				return nil, err
			}
			open = b
		}
	}
	if open != nil {
		return nil, fmt.Errorf("%d: the block does not end", open.Line)
	}
	return out, nil
}

// fence reads the line that opens a block.
func fence(line int, info string) (*Block, error) {
	language, mark, _ := strings.Cut(strings.TrimSpace(info), " ")
	b := &Block{Line: line, Language: language}
	kind, reason, skipped := strings.Cut(mark, "=")
	switch {
	case language == "":
		return nil, fmt.Errorf("%d: the block has no language", line)
	case skipped && (kind == Skip || kind == RootSkip):
		b.Mark, b.Reason = kind, reason
		if reason == "" {
			return nil, fmt.Errorf("%d: %s wants a reason", line, kind)
		}
	case slices.Contains(kinds, mark):
		b.Mark = mark
	case mark == "" && slices.Contains(unmarked, language):
	case mark == "":
		return nil, fmt.Errorf("%d: the block wants a mark: a file's name, %s, or skip=REASON", line, strings.Join(kinds, ", "))
	case strings.ContainsAny(mark, " ="):
		return nil, fmt.Errorf("%d: want a file's name, %s, or skip=REASON, found %q", line, strings.Join(kinds, ", "), mark)
	default:
		b.Mark, b.Name = File, mark
	}
	return b, nil
}

package main

import (
	"errors"
	"fmt"
	"runtime/debug"
	"strings"

	"rules_dnn/gen/pipeline"
)

// bug tells of a panic, which is our fault whatever the model.
func bug(x any) error {
	stack := debug.Stack()
	if b, ok := x.(*pipeline.Bug); ok {
		stack = b.Stack
	}
	return fmt.Errorf("internal error, a bug of dnnc: %v; please report it with the model\n%s", x, stack)
}

const (
	maxLine  = 2000 // characters of a line of a message
	maxLines = 200  // of a message
)

// shorten keeps a message readable, whatever a model's names and attributes are.
func shorten(err error) error {
	if err == nil || len(err.Error()) <= maxLine {
		return err
	}
	lines := strings.Split(err.Error(), "\n")
	for i, line := range lines {
		if cut := len(line) - maxLine; cut > 0 {
			lines[i] = fmt.Sprintf("%s ... (%d more characters) ... %s", line[:maxLine/2], cut, line[len(line)-maxLine/2:])
		}
	}
	if more := len(lines) - maxLines; more > 0 {
		lines = append(lines[:maxLines], fmt.Sprintf("... (%d more lines)", more))
	}
	return errors.New(strings.Join(lines, "\n"))
}

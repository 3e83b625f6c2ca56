// Package command is what the commands in tools have in common: how they read options, and how they
// end.
package command

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
)

// Options returns an empty set of options for a command. Exit prints its errors.
func Options(name string) *flag.FlagSet {
	fs := flag.NewFlagSet(name, flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	return fs
}

// Parse reads options. For --help, it prints the usage and all options to help, and returns
// flag.ErrHelp.
func Parse(fs *flag.FlagSet, args []string, usage string, help io.Writer) error {
	err := fs.Parse(args)
	if errors.Is(err, flag.ErrHelp) {
		fmt.Fprint(help, usage)
		fs.SetOutput(help)
		fs.PrintDefaults()
	}
	return err
}

// Exit ends a command that failed: it prints the error and exits with status 1. It does nothing
// after --help.
func Exit(name string, err error) {
	exit(name, err, 1)
}

// ExitFound ends a command that searches for something. Status 1 means that it found it, and 2 any
// other error.
func ExitFound(name string, err, found error) {
	exit(name, err, status(err, found))
}

func exit(name string, err error, status int) {
	if err == nil || errors.Is(err, flag.ErrHelp) {
		return
	}
	fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
	os.Exit(status)
}

func status(err, found error) int {
	if errors.Is(err, found) {
		return 1
	}
	return 2
}

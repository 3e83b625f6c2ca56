// Package command is what the commands in tools have in common: how they read options, and how they end.
package command

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
)

// Options are a command's, of which none is defined yet. What is wrong with those that are given is for Exit to print.
func Options(name string) *flag.FlagSet {
	fs := flag.NewFlagSet(name, flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	return fs
}

// Parse reads options. Of --help it prints the usage and all options to help, and gives flag.ErrHelp.
func Parse(fs *flag.FlagSet, args []string, usage string, help io.Writer) error {
	err := fs.Parse(args)
	if errors.Is(err, flag.ErrHelp) {
		fmt.Fprint(help, usage)
		fs.SetOutput(help)
		fs.PrintDefaults()
	}
	return err
}

// Exit ends a command that failed, with what went wrong and status 1; of --help nothing did.
func Exit(name string, err error) {
	exit(name, err, 1)
}

// ExitFound is Exit of a command that looks for something: status 1 is that it found it, and 2 whatever else went wrong.
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

// Package files opens files to read and writes others all together or not at all, whatever else happens on the machine: another
// process that writes the same ones, a signal, a full disk, a device where a file should be.
package files

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// Open opens a regular file to read, and gives its size. Anything else is refused at once: to open a pipe may last for ever,
// to open a device may do something.
func Open(path string) (*os.File, int64, error) {
	st, err := os.Stat(path)
	if x := (*fs.PathError)(nil); errors.As(err, &x) {
		return nil, 0, &fs.PathError{Op: "open", Path: path, Err: x.Err}
	} else if err != nil {
		return nil, 0, err
	}
	if err := regular(path, st.Mode()); err != nil {
		return nil, 0, err
	}
	// Something else may have that name by now, so this does not wait either.
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, 0, err
	}
	if st, err = f.Stat(); err == nil {
		err = regular(path, st.Mode())
	}
	if err != nil {
		f.Close()
		return nil, 0, err
	}
	return f, st.Size(), nil
}

// Read reads a regular file, and refuses what Open refuses.
func Read(path string) ([]byte, error) {
	f, _, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(f)
}

// regular refuses what is no regular file.
func regular(path string, mode fs.FileMode) error {
	if mode.IsRegular() {
		return nil
	}
	return fmt.Errorf("%s is %s, not a file", path, kind(mode))
}

// kind names what is no regular file.
func kind(mode fs.FileMode) string {
	switch {
	case mode.IsDir():
		return "a folder"
	case mode&fs.ModeNamedPipe != 0:
		return "a pipe"
	case mode&fs.ModeSocket != 0:
		return "a socket"
	case mode&fs.ModeDevice != 0:
		return "a device"
	}
	return "something of an unknown kind"
}

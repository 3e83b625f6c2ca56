//go:build unix && !solaris && !aix

package files

import (
	"errors"
	"os"
	"syscall"
)

// tryLock locks a folder until f is closed, and reports whether no other has it. Where a file system knows no such locks, nobody
// ever has.
func tryLock(f *os.File) bool {
	return !errors.Is(syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB), syscall.EWOULDBLOCK)
}

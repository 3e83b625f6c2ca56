//go:build unix

package files

import (
	"os"
	"syscall"
	"time"
)

// endings are the signals that people and build systems end a process with.
var endings = []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP}

// end ends the process by a signal that nothing catches any more, so that its parent sees how.
func end(sig os.Signal) {
	_ = syscall.Kill(os.Getpid(), sig.(syscall.Signal))
	time.Sleep(time.Second)
	os.Exit(1)
}

//go:build unix

package trainer

import (
	"os/exec"
	"syscall"
)

// endAll makes a command's end that of all that it started, too.
func endAll(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}

package check

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// OnCPU returns the processor time of the program's threads so far, without time spent waiting. It
// works only on Linux.
func (s *Server) OnCPU() (time.Duration, error) {
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", s.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	if len(files) == 0 {
		return 0, fmt.Errorf("there is no /proc/%d/task/*/schedstat", s.cmd.Process.Pid)
	}
	sum := int64(0)
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			return 0, err
		}
		first, _, _ := strings.Cut(string(text), " ")
		ns, err := strconv.ParseInt(first, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("%s: %w", f, err)
		}
		sum += ns
	}
	return time.Duration(sum), nil
}

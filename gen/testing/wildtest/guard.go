package wildtest

import (
	"fmt"
	"runtime"
	"syscall"
	"testing"
	"time"
)

// What an input of a few hundred bytes may take: of the processors, and, should it wait for something that
// never comes, of time on a machine that is busy with other things.
const (
	mostWork  = 20 * time.Second
	mostTime  = 3 * time.Minute
	tick      = 100 * time.Millisecond
	mostBytes = 2 << 30
)

// worked is how long the processors worked for this process.
func worked() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// Guard ends the process where the test takes much longer or more memory than an input of a few
// hundred bytes is worth, and says where it was: a fuzz target that hangs would not be noticed.
// describe tells the input; it runs while the test does, so it must not touch what the test changes.
func Guard(t testing.TB, describe func() string) {
	done := make(chan struct{})
	t.Cleanup(func() { close(done) })
	go func() {
		// Counted in ticks, not by the clock: a process or a machine that is stopped for a while does nothing wrong.
		taken, before := time.Duration(0), worked()
		for ticker := time.NewTicker(tick); ; taken += tick {
			select {
			case <-done:
				ticker.Stop()
				return
			case <-ticker.C:
			}
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			if work := worked() - before; work > mostWork || taken > mostTime || m.HeapInuse > mostBytes {
				stacks := make([]byte, 1<<16)
				stacks = stacks[:runtime.Stack(stacks, true)]
				panic(fmt.Sprintf("%s: after %v of work in %v, with %d MB of memory, it is still not done\n%s\n%s", t.Name(), work, taken, m.HeapInuse>>20, describe(), stacks))
			}
		}
	}()
}

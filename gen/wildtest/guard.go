package wildtest

import (
	"fmt"
	"runtime"
	"testing"
	"time"
)

// What an input of a few hundred bytes may take, on a machine that is busy with other things.
const (
	mostTime  = 20 * time.Second
	mostBytes = 2 << 30
)

// Guard ends the process where the test takes much longer or more memory than an input of a few
// hundred bytes is worth, and says where it was: a fuzz target that hangs would not be noticed.
// describe tells the input; it runs while the test does, so it must not touch what the test changes.
func Guard(t testing.TB, describe func() string) {
	done := make(chan struct{})
	t.Cleanup(func() { close(done) })
	go func() {
		start := time.Now()
		for tick := time.NewTicker(100 * time.Millisecond); ; {
			select {
			case <-done:
				tick.Stop()
				return
			case <-tick.C:
			}
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			if taken := time.Since(start); taken > mostTime || m.HeapInuse > mostBytes {
				stacks := make([]byte, 1<<16)
				stacks = stacks[:runtime.Stack(stacks, true)]
				panic(fmt.Sprintf("%s: after %v, with %d MB of memory, it is still not done\n%s\n%s", t.Name(), taken, m.HeapInuse>>20, describe(), stacks))
			}
		}
	}()
}

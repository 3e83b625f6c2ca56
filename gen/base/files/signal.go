package files

import (
	"os"
	"os/signal"
	"slices"
)

// open are the sets that are not closed; signals is what brings signals while there are any. Both under busy.
var (
	open    []*Set
	signals chan os.Signal
)

// watch has a signal that ends the process take away what the set made.
func watch(s *Set) {
	busy.Lock()
	defer busy.Unlock()
	open = append(open, s)
	if signals != nil {
		return
	}
	// What the process ignores, as under nohup, it goes on ignoring.
	caught := slices.DeleteFunc(slices.Clone(endings), signal.Ignored)
	if len(caught) == 0 {
		return
	}
	c := make(chan os.Signal, len(caught))
	signals = c
	signal.Notify(c, caught...)
	go func() {
		for sig := range c {
			busy.Lock()
			endBy(sig)
		}
	}()
}

// unwatch leaves signals to others once no set is open.
func unwatch(s *Set) {
	busy.Lock()
	defer busy.Unlock()
	open = slices.DeleteFunc(open, func(o *Set) bool { return o == s })
	if len(open) > 0 || signals == nil {
		return
	}
	signal.Stop(signals)
	select {
	case sig := <-signals: // that nobody has seen yet
		endBy(sig)
	default:
	}
	close(signals)
	signals = nil
}

// endBy takes away what all sets made and ends the process; busy stays locked, so that nothing is made any more.
func endBy(sig os.Signal) {
	for _, s := range open {
		s.discard()
	}
	signal.Reset(sig)
	end(sig)
}

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// test is a test target and its times.
type test struct {
	label   string
	limit   time.Duration // of each shard; 0: unknown
	longest time.Duration // of its shards
	total   time.Duration // of all shards
	shards  int
}

// rules are what each target must keep.
type rules struct {
	longest  time.Duration
	headroom float64
}

// broken returns what is wrong with a target, in words.
func (r rules) broken(t test) []string {
	var out []string
	if t.longest > r.longest {
		out = append(out, fmt.Sprintf("a shard takes more than %s", r.longest))
	}
	if t.limit > 0 && t.longest.Seconds()*r.headroom > t.limit.Seconds() {
		out = append(out, fmt.Sprintf("the limit is %.1f times the duration, less than %g", t.limit.Seconds()/t.longest.Seconds(), r.headroom))
	}
	return out
}

// event is what tiers reads of an event: https://bazel.build/remote/bep, in JSON.
type event struct {
	ID struct {
		TargetCompleted *labeled
		TestResult      *labeled
	}
	Completed  struct{ TestTimeout string }
	TestResult struct{ TestAttemptDuration string }
}

type labeled struct {
	Label   string
	Shard   int
	Run     int
	Attempt int
}

// read returns the test targets of an event file, slowest shard first.
func read(r io.Reader) ([]test, error) {
	byLabel := map[string]*test{}
	of := func(label string) *test {
		if byLabel[label] == nil {
			byLabel[label] = &test{label: label}
		}
		return byLabel[label]
	}
	for d := json.NewDecoder(r); ; {
		var e event
		err := d.Decode(&e)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("not an event file in JSON: %w", err)
		}
		if id := e.ID.TargetCompleted; id != nil && e.Completed.TestTimeout != "" {
			if of(id.Label).limit, err = time.ParseDuration(e.Completed.TestTimeout); err != nil {
				return nil, fmt.Errorf("limit of %s: %w", id.Label, err)
			}
		}
		if id := e.ID.TestResult; id != nil {
			took, err := time.ParseDuration(e.TestResult.TestAttemptDuration)
			if err != nil {
				return nil, fmt.Errorf("duration of %s: %w", id.Label, err)
			}
			t := of(id.Label)
			t.shards++
			t.total += took
			t.longest = max(t.longest, took)
		}
	}
	var tests []test
	for _, t := range byLabel {
		if t.shards > 0 {
			tests = append(tests, *t)
		}
	}
	slices.SortFunc(tests, func(a, b test) int {
		if a.longest != b.longest {
			return int(b.longest/time.Millisecond) - int(a.longest/time.Millisecond)
		}
		return strings.Compare(a.label, b.label)
	})
	return tests, nil
}

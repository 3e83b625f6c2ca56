package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const events = `
{"id":{"started":{}},"started":{"uuid":"x"}}
{"id":{"targetCompleted":{"label":"//a:a_test"}},"completed":{"success":true,"testTimeout":"300s"}}
{"id":{"testResult":{"label":"//a:a_test","run":1,"shard":1,"attempt":1}},"testResult":{"testAttemptDuration":"70.5s","status":"PASSED"}}
{"id":{"testResult":{"label":"//a:a_test","run":1,"shard":2,"attempt":1}},"testResult":{"testAttemptDuration":"10s","status":"PASSED"}}
{"id":{"targetCompleted":{"label":"//b:b_test"}},"completed":{"success":true,"testTimeout":"3600s"}}
{"id":{"testResult":{"label":"//b:b_test","run":1,"shard":1,"attempt":1}},"testResult":{"testAttemptDuration":"301s"}}
{"id":{"targetCompleted":{"label":"//c:lib"}},"completed":{"success":true}}
{"id":{"testResult":{"label":"//c:c_test","run":1,"shard":1,"attempt":1}},"testResult":{"testAttemptDuration":"0.25s"}}
`

func TestRead(t *testing.T) {
	tests, err := read(strings.NewReader(events))
	require.NoError(t, err)
	assert.Equal(t, []test{
		{"//b:b_test", time.Hour, 301 * time.Second, 301 * time.Second, 1},
		{"//a:a_test", 5 * time.Minute, 70500 * time.Millisecond, 80500 * time.Millisecond, 2},
		{"//c:c_test", 0, 250 * time.Millisecond, 250 * time.Millisecond, 1},
	}, tests)
}

func TestReadRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"started":     "not an event file in JSON",
		`{"id":{"tes`: "not an event file in JSON",
		`{"id":{"targetCompleted":{"label":"//a:a"}},"completed":{"testTimeout":"long"}}`: "limit of //a:a",
		`{"id":{"testResult":{"label":"//a:a"}},"testResult":{}}`:                         "duration of //a:a",
	} {
		_, err := read(strings.NewReader(text))
		assert.ErrorContains(t, err, want, text)
	}
}

func TestReport(t *testing.T) {
	tests, err := read(strings.NewReader(events))
	require.NoError(t, err)
	var out bytes.Buffer
	err = report(&out, tests, rules{longest: 5 * time.Minute, headroom: 5}, 1)
	require.EqualError(t, err, "2 rules are broken; if the machine was idle, shard the test, or set its size or timeout")
	assert.Contains(t, out.String(), "3 targets, 6m22s of test time\n")
	assert.Contains(t, out.String(), "a shard takes more than 5m0s")
	assert.Contains(t, out.String(), "the limit is 4.3 times the duration, less than 5")
	assert.NotContains(t, out.String(), "//c:c_test", "it is fast, and only the first is asked for")

	assert.NoError(t, report(&out, tests, rules{longest: time.Hour, headroom: 1}, 0))
}

// Package benchtest tests the reports of benchmarks, and their pages in a browser.
package benchtest

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the golden files")

// root is the repository's folder, both with go test and with Bazel.
const root = "../../.."

// folder holds files that all tests share.
var folder string

func TestMain(m *testing.M) {
	var err error
	if folder, err = os.MkdirTemp("", "benchtest"); err != nil {
		panic(err)
	}
	code := m.Run()
	_ = os.RemoveAll(folder)
	os.Exit(code)
}

// compiled builds the program that prints a report of synthetic figures.
var compiled = sync.OnceValues(func() (string, error) {
	bin := filepath.Join(folder, "figures")
	args := []string{"-std=c++17", "-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover", "-I" + root, "-o", bin, "testdata/figures.cc", root + "/runtime/serve/json.cc",
		root + "/runtime/bench/figures.cc", root + "/runtime/bench/page.cc"}
	for _, form := range []string{"text", "json", "html"} {
		args = append(args, root+"/runtime/bench/report_"+form+".cc")
	}
	if out, err := exec.Command("g++", args...).CombinedOutput(); err != nil {
		return "", fmt.Errorf("g++: %w\n%s", err, out)
	}
	return bin, nil
})

func report(t *testing.T, form string) string {
	if _, err := exec.LookPath("g++"); err != nil {
		t.Skip("no g++ on this machine")
	}
	bin, err := compiled()
	require.NoError(t, err)
	out, err := exec.Command(bin, form).Output()
	require.NoError(t, err)
	return string(out)
}

// TestReports compares the reports of fixed figures with golden files.
func TestReports(t *testing.T) {
	for form, golden := range map[string]string{"text": "testdata/report.txt", "device": "testdata/device.txt", "bytes": "testdata/bytes.txt", "time": "testdata/longest.txt", "large": "testdata/large.txt", "json": "testdata/report.json", "html": "testdata/report.html"} {
		got := report(t, form)
		if *update {
			require.NoError(t, os.WriteFile(golden, []byte(got), 0o644))
		}
		want, err := os.ReadFile(golden)
		require.NoError(t, err)
		assert.Equal(t, string(want), got, "go test ./runtime/bench/benchtest -update rewrites the files")
	}
}

// TestFigures checks the rates that the JSON report derives from the measurements.
func TestFigures(t *testing.T) {
	var r struct {
		Ms     struct{ Median, P25, Least, Most, Mean float64 }
		Blocks []struct {
			GFLOPS      *float64
			OfPeak      *float64 `json:"of_peak"`
			OfFMAPeak   *float64 `json:"of_fma_peak"`
			OfBandwidth *float64 `json:"of_bandwidth"`
			Limit       *float64
			OfLimit     *float64 `json:"of_limit"`
			Bound       *string
			Share       float64
		}
		Whole struct {
			OfPeak float64 `json:"of_peak"`
		}
	}
	require.NoError(t, json.Unmarshal([]byte(report(t, "json")), &r))
	assert.Equal(t, 11.5, r.Ms.Median)
	assert.Equal(t, 10.75, r.Ms.P25)
	assert.Equal(t, []float64{10, 14, 11.75}, []float64{r.Ms.Least, r.Ms.Most, r.Ms.Mean})
	conv, window, moves, unknown := r.Blocks[0], r.Blocks[1], r.Blocks[2], r.Blocks[3]
	assert.Equal(t, 80.0, *conv.GFLOPS)
	assert.Equal(t, 0.8, *conv.OfPeak)
	assert.Equal(t, 0.88, *conv.OfFMAPeak, "padded channels are computed too")
	assert.Equal(t, "fma", *conv.Bound)
	assert.Equal(t, 0.8, *conv.OfLimit)
	assert.Equal(t, "memory", *window.Bound)
	assert.Equal(t, 10.0, *window.Limit, "1 FLOP a byte at 10 GB/s")
	assert.Equal(t, 0.4, *window.OfLimit)
	assert.Equal(t, 1.2, *moves.OfBandwidth)
	assert.Nil(t, moves.OfFMAPeak)
	assert.Nil(t, unknown.GFLOPS)
	assert.Nil(t, unknown.Bound)
	assert.InDelta(t, 504e6/1.15e9, r.Whole.OfPeak, 1e-6, "at the clock of the runs without clocks")
	shares := 0.0
	for _, b := range r.Blocks {
		shares += b.Share
	}
	assert.InDelta(t, 1, shares, 1e-5)
}

// TestEscaped checks that names of a network neither end the script that holds the figures nor
// become markup.
func TestEscaped(t *testing.T) {
	page := report(t, "html")
	assert.Equal(t, 2, strings.Count(page, "</script>"), "only the page's own")
	assert.NotContains(t, page, "<img")
	assert.NotContains(t, page, "<b>")
	for _, outside := range []string{"http:", "https:", "src=\"", "@import", "url("} {
		assert.NotContains(t, strings.ReplaceAll(page, "http://www.w3.org/", ""), outside, "the page needs no network")
	}
	assert.NotContains(t, report(t, "text"), "\x1b", "a name must not move the cursor")
}

// Package hostcpu says what the processor of this machine has, for tests and tools that run kernels of chips; no generator asks.
package hostcpu

import (
	"os"
	"runtime"
	"slices"
	"strings"
)

// Runs reports whether this machine runs programs of an architecture, as Go calls it, that need features of the processor.
func Runs(arch string, features ...string) bool { return arch == runtime.GOARCH && Has(features...) }

// Has reports whether the processor has all features, x86-64's, as far as Linux tells. Names are those of compilers: avx512vnni is Linux's avx512_vnni.
func Has(features ...string) bool {
	info, _ := os.ReadFile("/proc/cpuinfo") // nothing is known without
	return all(string(info), features)
}

// all reports whether a text of /proc/cpuinfo lists all features of its first processor.
func all(info string, features []string) bool {
	var have []string
	for line := range strings.Lines(info) {
		if name, list, _ := strings.Cut(line, ":"); strings.TrimSpace(name) == "flags" {
			have = strings.Fields(plain(list))
			break
		}
	}
	return !slices.ContainsFunc(features, func(f string) bool { return !slices.Contains(have, plain(f)) })
}

func plain(names string) string { return strings.ReplaceAll(names, "_", "") }

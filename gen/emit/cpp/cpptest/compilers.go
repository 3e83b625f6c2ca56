package cpptest

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// Release is a C++ compiler and its major version.
type Release struct {
	Command string
	Major   int
}

// Releases are the compilers that generated code is tried with: those of Debian 12, and those of bazelw's set-up.
var Releases = []Release{{"g++", 11}, {"g++", 12}, {"g++", 14}, {"clang++", 14}, {"clang++", 16}, {"clang++", 19}}

func (r Release) String() string { return fmt.Sprintf("%s-%d", r.Command, r.Major) }

// path returns the command that runs the release, or "" if the machine has none: g++-12, or g++ if that is version 12.
func (r Release) path() string {
	for _, name := range []string{r.String(), r.Command} {
		version, err := exec.Command(name, "-dumpversion").Output()
		if err != nil {
			continue
		}
		major, _, _ := strings.Cut(strings.TrimSpace(string(version)), ".")
		if major == fmt.Sprint(r.Major) {
			return name
		}
	}
	return ""
}

// pkg is the Debian package that has the release.
func (r Release) pkg() string { return strings.Replace(r.String(), "clang++", "clang", 1) }

// EachCompiler runs a test with each release that the machine has, as a subtest, which is skipped without it.
func EachCompiler(t *testing.T, test func(t *testing.T, m *Machine)) {
	for _, r := range Releases {
		t.Run(r.String(), func(t *testing.T) {
			path := r.path()
			if path == "" {
				t.Skipf("no %s on this machine: on Debian, apt install %s", r, r.pkg())
			}
			m := Host
			m.Compilers, m.Silent = []string{path}, true
			test(t, &m)
		})
	}
}

// named returns the compiler that $CXX names, or "". A test fails if the machine does not have it: it is to say something of that one.
func named(t testing.TB) string {
	name := os.Getenv("CXX")
	if name != "" && !found(name) {
		t.Fatalf("$CXX names the C++ compiler %q, which is not on this machine; want a program", name)
	}
	return name
}

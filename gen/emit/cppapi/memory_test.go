package cppapi

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// allocates asks for memory of each size, writes all of it, and prints how much the kernel counts as one mapping that was advised to
// have large pages around its first byte, in KiB.
const allocates = `#include <stdio.h>
#include <string.h>

#include "runtime/dnn_memory.h"

static size_t Advised(const void* p) {
  FILE* const maps = fopen("/proc/self/smaps", "r");
  char line[512];
  unsigned long long from = 0, to = 0, a, b;
  size_t found = 0;
  while (fgets(line, sizeof(line), maps) != nullptr) {
    if (sscanf(line, "%llx-%llx ", &a, &b) == 2) from = a, to = b;
    const unsigned long long at = reinterpret_cast<uintptr_t>(p);
    if (strncmp(line, "VmFlags:", 8) == 0 && strstr(line, " hg") != nullptr && from <= at && at < to) found = (to - at) >> 10;
  }
  fclose(maps);
  return found;
}

int main() {
  const size_t sizes[] = {1, 1024, 1025, 3072, 3073, 9000};
  for (size_t kib : sizes) {
    void* const p = rules_dnn::AllocateMemory(kib << 10, 64);
    memset(p, 1, kib << 10);
    printf("%zu:%zu:%d ", kib, Advised(p), reinterpret_cast<uintptr_t>(p) % (kib > 1024 ? rules_dnn::kLargePage : 64) == 0);
    free(p);
  }
}
`

// TestLargePages: memory that fills more than half of a large page is advised to lie in such, whole ones.
func TestLargePages(t *testing.T) {
	if _, err := os.Stat("/sys/kernel/mm/transparent_hugepage"); err != nil {
		t.Skip("this system has no transparent huge pages")
	}
	compiler := ""
	for _, name := range []string{"clang++", "g++"} {
		if path, err := exec.LookPath(name); err == nil {
			compiler = path
		}
	}
	if compiler == "" {
		t.Skip("no C++ compiler on this machine")
	}
	p := &project{t: t, dir: t.TempDir()}
	p.write("main.cc", allocates)
	program := filepath.Join(p.dir, "main")
	p.run(compiler, "-std=c++17", "-I"+root, "-o", program, filepath.Join(p.dir, "main.cc"))
	out, err := exec.Command(program).Output()
	require.NoError(t, err)
	var want []string
	for _, c := range [][2]int{{1, 0}, {1024, 0}, {1025, 2048}, {3072, 2048}, {3073, 4096}, {9000, 8192}} {
		want = append(want, fmt.Sprintf("%d:%d:1", c[0], c[1]))
	}
	assert.Equal(t, want, strings.Fields(string(out)), "KiB asked for, of them advised, and whether the place is aligned")
}

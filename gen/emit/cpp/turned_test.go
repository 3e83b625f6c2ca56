package cpp

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/emit/ckernel"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/kernel/loop"
)

// TestTurns: vectors whose lanes lie apart are stored together where they are a power of two and of four bytes, or four bytes together.
func TestTurns(t *testing.T) {
	f32, f64 := &loop.Buffer{Name: "y", Type: ir.F32}, &loop.Buffer{Name: "y", Type: ir.F64}
	assert.True(t, dialect{}.Turns(ckernel.Access{Buf: f32, Lanes: 8, Stride: 9}, 4))
	assert.False(t, dialect{}.Turns(ckernel.Access{Buf: f32, Lanes: 8, Stride: 9}, 3))
	assert.False(t, dialect{}.Turns(ckernel.Access{Buf: f64, Lanes: 8, Stride: 9}, 4))
	u8 := &loop.Buffer{Name: "y", Type: ir.U8}
	assert.True(t, dialect{}.Turns(ckernel.Access{Buf: u8, Lanes: 64, Stride: 4}, 4))
	assert.False(t, dialect{}.Turns(ckernel.Access{Buf: u8, Lanes: 64, Stride: 5}, 4))
	assert.False(t, dialect{}.Turns(ckernel.Access{Buf: u8, Lanes: 64, Stride: 2}, 2))
	assert.True(t, dialect{}.Turns(ckernel.Access{Buf: u8, Lanes: 16, Stride: 61}, 16))
	assert.True(t, dialect{}.Turns(ckernel.Access{Buf: u8, Lanes: 32, Stride: 61}, 16))
	assert.False(t, dialect{}.Turns(ckernel.Access{Buf: u8, Lanes: 8, Stride: 61}, 16))
	assert.Equal(t, "dnn_store_turned<9>(y + 7, a, b);", dialect{}.StoreTurned(ckernel.Access{Buf: f32, Lanes: 8, Stride: 9, Index: "7"}, []string{"a", "b"}))
}

// turns prints what is stored by vectors other than it is by numbers, or beside it.
const turns = `#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "runtime/dnn_kernel.h"

template <typename T, int kLanes, int kStride, int... kRow>
void check() {
  typedef T V __attribute__((vector_size(kLanes * sizeof(T))));
  constexpr int n = sizeof...(kRow), all = kLanes * kStride + 16;
  V x[n];
  T want[all], got[all];
  for (int i = 0; i < all; ++i) want[i] = got[i] = -7;
  for (int j = 0; j < n; ++j) {
    for (int i = 0; i < kLanes; ++i) want[i * kStride + j] = x[j][i] = 100 * j + i;
  }
  dnn_store_turned<kStride>(got, x[kRow]...);
  if (memcmp(want, got, sizeof want) != 0) printf("%d vectors of %d lanes of %d bytes, %d apart\n", n, kLanes, (int)sizeof(T), kStride);
}

template <typename T, int kLanes>
void all() {
  check<T, kLanes, 2, 0, 1>();
  check<T, kLanes, 5, 0, 1>();
  check<T, kLanes, 4, 0, 1, 2, 3>();
  check<T, kLanes, 7, 0, 1, 2, 3>();
  if constexpr (kLanes >= 8) check<T, kLanes, 8, 0, 1, 2, 3, 4, 5, 6, 7>();
  if constexpr (kLanes >= 8) check<T, kLanes, 11, 0, 1, 2, 3, 4, 5, 6, 7>();
  if constexpr (kLanes >= 16) check<T, kLanes, 16, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15>();
  if constexpr (kLanes >= 16) check<T, kLanes, 19, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15>();
}

int main() {
  all<float, 4>();
  all<float, 8>();
  all<float, 16>();
  all<int32_t, 4>();
  all<int32_t, 8>();
  all<uint32_t, 16>();
  all<double, 4>();
  check<uint8_t, 16, 4, 0, 1, 2, 3>();
  check<int8_t, 64, 4, 0, 1, 2, 3>();
  check<int8_t, 16, 5, 0, 1, 2, 3>();
  check<uint8_t, 16, 16, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15>();
  check<int8_t, 16, 61, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15>();
  check<uint8_t, 32, 61, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15>();
  check<int8_t, 64, 19, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15>();
  check<int16_t, 32, 2, 0, 1>();
  check<uint16_t, 8, 2, 0, 1>();
}
`

// TestTurned: stored together, elements lie where they do one by one, and nothing else is written.
func TestTurned(t *testing.T) {
	tried := 0
	for _, compiler := range []string{"clang++", "g++"} {
		if _, err := exec.LookPath(compiler); err != nil {
			continue
		}
		for _, flags := range []string{"-O3", "-O0", "-march=native"} {
			tried++
			dir := t.TempDir()
			source, program := filepath.Join(dir, "main.cc"), filepath.Join(dir, "main")
			require.NoError(t, os.WriteFile(source, []byte(turns), 0o644))
			out, err := exec.Command(compiler, "-std=c++17", "-Wno-psabi", flags, "-I../../..", "-o", program, source).CombinedOutput()
			require.NoError(t, err, string(out))
			out, err = exec.Command(program).CombinedOutput()
			require.NoError(t, err)
			assert.Empty(t, string(out), "%s %s", compiler, flags)
		}
	}
	if tried == 0 {
		t.Skip("no C++ compiler on this machine")
	}
}

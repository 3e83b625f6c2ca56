package cpp_test

import (
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/target/chips/chipstest"
)

// tileFunctions are pairs of functions: the first of each pair is the runtime's, the second is of the compilers' own header.
const tileFunctions = `
#include <immintrin.h>
#include "runtime/dnn_kernel.h"
#define PAIR(name, ours, theirs) \
  extern "C" void ours_##name(const void* p, int64_t n) { (void)p, (void)n; dnn_amx* t = nullptr; (void)t; ours; } \
  extern "C" void theirs_##name(const void* p, int64_t n) { (void)p, (void)n; theirs; }
PAIR(zero, dnn_amx_zero<3>(t), _tile_zero(3))
PAIR(load, dnn_amx_load<5>(t, p, n), _tile_loadd(5, p, n))
PAIR(store, dnn_amx_store<2>(t, const_cast<void*>(p), n), _tile_stored(2, const_cast<void*>(p), n))
PAIR(tdpbssd, (dnn_amx_tdpbssd<1, 4, 6>(t)), _tile_dpbssd(1, 4, 6))
PAIR(tdpbsud, (dnn_amx_tdpbsud<1, 4, 6>(t)), _tile_dpbsud(1, 4, 6))
PAIR(tdpbusd, (dnn_amx_tdpbusd<0, 5, 7>(t)), _tile_dpbusd(0, 5, 7))
PAIR(tdpbuud, (dnn_amx_tdpbuud<2, 4, 3>(t)), _tile_dpbuud(2, 4, 3))
PAIR(tdpbf16ps, (dnn_amx_tdpbf16ps<1, 5, 6>(t)), _tile_dpbf16ps(1, 5, 6))
extern const dnn_amx_shape shape;
PAIR(use, dnn_amx x; x.use(&shape), _tile_loadconfig(&shape); _tile_release())
static_assert(sizeof(dnn_amx_shape) == 64 && __builtin_offsetof(dnn_amx_shape, bytes) == 16 && __builtin_offsetof(dnn_amx_shape, rows) == 48, "the layout of shapes");
`

// TestTileInstructions: the runtime's instructions for tile registers are those of the compilers' own functions, byte for byte, and a kernel's shapes
// are loaded before it and released after it. No processor runs them here.
func TestTileInstructions(t *testing.T) {
	c := chipstest.Target(t, "x86_64_sapphire_rapids")
	src := filepath.Join(t.TempDir(), "tiles.cc")
	require.NoError(t, os.WriteFile(src, []byte(tileFunctions), 0o644))
	for _, cxx := range []string{"g++", "clang++"} {
		t.Run(cxx, func(t *testing.T) {
			tool(t, cxx)
			object := filepath.Join(t.TempDir(), "tiles.o")
			args := append(append(kernelCopts(t), c.Copts...), "-fcf-protection=none", "-fno-asynchronous-unwind-tables", "-I"+root, "-c", src, "-o", object)
			out, err := exec.Command(cxx, args...).CombinedOutput()
			require.NoError(t, err, "%s", out)
			codes := functionCodes(t, object)
			for _, name := range []string{"zero", "load", "store", "tdpbssd", "tdpbsud", "tdpbusd", "tdpbuud", "tdpbf16ps", "use"} {
				require.NotEmpty(t, codes["theirs_"+name], name)
				assert.Equal(t, codes["theirs_"+name], codes["ours_"+name], name)
			}
			assert.NotEqual(t, codes["ours_tdpbusd"], codes["ours_tdpbuud"])
		})
	}
}

// functionCodes are the bytes of an object's functions.
func functionCodes(t *testing.T, object string) map[string][]byte {
	t.Helper()
	f, err := elf.Open(object)
	require.NoError(t, err)
	defer f.Close()
	symbols, err := f.Symbols()
	require.NoError(t, err)
	out := map[string][]byte{}
	for _, s := range symbols {
		if elf.ST_TYPE(s.Info) != elf.STT_FUNC {
			continue
		}
		data, err := f.Sections[s.Section].Data()
		require.NoError(t, err)
		out[s.Name] = data[s.Value:][:s.Size]
	}
	return out
}

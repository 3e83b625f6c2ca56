package hosts

import (
	"debug/elf"
	"debug/gosym"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Go fuses a product with a sum on arm64, and not on x86-64, unless the product is rounded explicitly:
// float32(x*y) + z. That holds across inlined calls too, so only the machine code tells.

// TestNoFusedProducts disassembles dnnc for arm64. No code of this repository may hold fused products,
// nor call a function of package math that does: package scalar has functions that are the same on every host.
func TestNoFusedProducts(t *testing.T) {
	p := readProgram(t, program(t, "DNNC_ARM64", "gen/cmd/dnnc", "arm64"))
	fused := p.fusing()
	require.Contains(t, fused, "math.log", "the test does not find fused products where math/big is known to have some")
	seen := 0
	for name, f := range p.functions {
		if !strings.HasPrefix(name, "rules_dnn/") {
			continue
		}
		seen++
		if f.fuses != "" {
			t.Errorf("%s, %s: a product is fused with a sum: write float64(x*y) + z (or float32), also where x*y is what an inlined function returns", name, f.fuses)
		}
		for _, callee := range f.calls {
			if slices.Contains(fused, callee) {
				t.Errorf("%s calls %s, whose products are fused on arm64: build hosts would differ", name, callee)
			}
		}
	}
	assert.Greater(t, seen, 1000, "functions of this repository")
}

// function is what the test wants to know of machine code.
type function struct {
	fuses string   // where its last fused product is, or ""
	calls []string // functions that it calls by name or jumps to
}

type disassembly struct{ functions map[string]*function }

// fusing are the functions of package math that hold fused products, or call those that do. Others
// have some for the garbage collector, and for estimates of lengths; nothing of that comes into results.
func (d *disassembly) fusing() []string {
	var found []string
	for grown := true; grown; {
		grown = false
		for name, f := range d.functions {
			if !strings.HasPrefix(name, "math.") || slices.Contains(found, name) {
				continue
			}
			if f.fuses != "" || slices.ContainsFunc(f.calls, func(callee string) bool { return slices.Contains(found, callee) }) {
				found, grown = append(found, name), true
			}
		}
	}
	return found
}

func readProgram(t *testing.T, path string) *disassembly {
	t.Helper()
	file, err := elf.Open(path)
	require.NoError(t, err)
	defer file.Close()
	require.Equal(t, elf.EM_AARCH64, file.Machine)
	text := file.Section(".text")
	require.NotNil(t, text)
	code, err := text.Data()
	require.NoError(t, err)
	lines, err := file.Section(".gopclntab").Data()
	require.NoError(t, err)
	table, err := gosym.NewTable(nil, gosym.NewLineTable(lines, text.Addr))
	require.NoError(t, err)
	d := &disassembly{map[string]*function{}}
	for _, f := range table.Funcs {
		d.functions[f.Name] = readFunction(table, f, code, text.Addr)
	}
	return d
}

func readFunction(table *gosym.Table, f gosym.Func, code []byte, base uint64) *function {
	out := &function{}
	for at := f.Entry; at+4 <= f.End && at-base+4 <= uint64(len(code)); at += 4 {
		word := binary.LittleEndian.Uint32(code[at-base:])
		switch {
		case word>>24 == 0x1f: // FMADD, FMSUB, FNMADD, FNMSUB
			file, line, _ := table.PCToLine(at)
			out.fuses = fmt.Sprintf("%s:%d", file, line)
		case word>>26&0x1f == 0x05: // B and BL: 26 bits of distance
			distance := int64(int32(word<<6)>>6) * 4
			if callee := table.PCToFunc(at + uint64(distance)); callee != nil && callee.Name != f.Name {
				out.calls = append(out.calls, callee.Name)
			}
		}
	}
	return out
}

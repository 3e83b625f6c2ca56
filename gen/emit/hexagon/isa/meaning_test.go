package isa_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"rules_dnn/gen/emit/hexagon/isa"
	"rules_dnn/gen/emit/hexagon/packet"
)

// A case has eight vectors and scalars, which packets compute with, and a part of memory, which they load from and store to.
const (
	registers = 8
	masks     = 4 // the lowest bits of the first vectors' bytes
	inputAt   = 0x400000
	resultAt  = 0x800000
	vectors   = 24 // of a part of memory, in whose middle addresses begin
	inSize    = (registers+vectors)*isa.Bytes + isa.Bytes
	outSize   = inSize
	cases     = 800
)

// memory is the case's part of the results.
type memory struct {
	at   uint32
	data []byte
}

func (m *memory) find(at uint32, n int) ([]byte, error) {
	if at < m.at || int(at-m.at)+n > len(m.data) {
		return nil, fmt.Errorf("%d bytes at %#x are outside of [%#x, %#x)", n, at, m.at, int(m.at)+len(m.data))
	}
	return m.data[at-m.at:][:n], nil
}

func (m *memory) Read(at uint32, to []byte) error {
	b, err := m.find(at, len(to))
	copy(to, b)
	return err
}

func (m *memory) Write(at uint32, from []byte) error {
	b, err := m.find(at, len(from))
	copy(b, from)
	return err
}

// rows are those of the table that run by themselves.
func rows() []*isa.Row {
	return slices.DeleteFunc(slices.Clone(isa.Table()), func(r *isa.Row) bool { return strings.HasPrefix(r.Name, "J2") || r.Compilers })
}

// random is a legal packet with an instruction of a row, whose addresses are r8 and r9, each of a vector.
func random(r *rand.Rand, all []*isa.Row, with *isa.Row) []isa.Inst {
	for {
		var p []isa.Inst
		for n := range 1 + r.IntN(4) {
			row := with
			if n > 0 {
				row = all[r.IntN(len(all))]
			}
			i := isa.Inst{Row: row}
			for k, o := range row.Operands {
				base := o.Class == isa.Scalar && o.Reads && row.Memory != isa.None && k < len(row.Operands)-1 && !o.Pair
				switch {
				case base:
					i.Args = append(i.Args, 8+r.Int64N(2))
				case o.Class == isa.Immediate:
					i.Args = append(i.Args, max(o.Least, (r.Int64N(8)-4)*o.Step))
				case o.Pair:
					i.Args = append(i.Args, 2*r.Int64N(registers/2))
				case o.Class == isa.Mask:
					i.Args = append(i.Args, r.Int64N(masks))
				default:
					i.Args = append(i.Args, r.Int64N(registers))
				}
			}
			p = append(p, i)
		}
		if len(p) > 0 && packet.Check(68, p) == nil && !accessesMeet(p) {
			return p
		}
	}
}

// accessesMeet reports two accesses to memory of which one stores: their order in a packet is not what the table is about.
func accessesMeet(p []isa.Inst) bool {
	n, stores := 0, 0
	for _, i := range p {
		if i.Row.Memory != isa.None {
			n++
		}
		if i.Row.Memory == isa.Stores {
			stores++
		}
	}
	return n > 1 && stores > 0
}

func program(packets [][]isa.Inst) string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line(".globl _start\n_start:")
	for n, p := range packets {
		// The memory of a case is copied to the results, where packets change it.
		line("r20 = ##%d\nr21 = ##%d", inputAt+n*inSize, resultAt+n*outSize)
		for range registers + vectors {
			line("v10 = vmem(r20++#1)\nvmem(r21++#1) = v10")

		}
		line("r20 = ##%d", inputAt+n*inSize)
		for v := range registers {
			line("v%d = vmem(r20++#1)", v)
		}
		line("r20 = ##%d", inputAt+n*inSize+(registers+vectors)*isa.Bytes)
		for i := range registers {
			line("r%d = memw(r20+#%d)", i, 4*i)
		}
		line("r22 = ##0x01010101")
		for q := range masks {
			line("q%d = vand(v%d,r22)", q, q)
		}
		middle := resultAt + n*outSize + (registers+vectors/2)*isa.Bytes
		line("r8 = ##%d\nr9 = ##%d", middle, middle)
		var texts []string
		for _, i := range p {
			texts = append(texts, i.String())
		}
		line("{ %s }", strings.Join(texts, "; "))
		line("r20 = ##%d", resultAt+n*outSize)
		for v := range registers {
			line("vmem(r20++#1) = v%d", v)
		}
		for q := range masks {
			line("v10 = vand(q%d,r22)\nvmem(r20++#1) = v10", q)
		}
		line("r20 = ##%d", resultAt+n*outSize+(registers+vectors)*isa.Bytes)
		for i := range registers + 2 {
			line("memw(r20+#%d) = r%d", 4*i, i)
		}
	}
	// write(1, results, size) until all is written; exit(0).
	line("r16 = ##%d\nr17 = ##%d", resultAt, len(packets)*outSize)
	line("again: r0 = #1\nr1 = r16\nr2 = r17\nr6 = #64\ntrap0(#1)\nr16 = add(r16,r0)\nr17 = sub(r17,r0)\n{ p0 = cmp.gt(r17,#0)\nif (p0.new) jump:t again }")
	line("r0 = #0\nr6 = #94\ntrap0(#1)")
	line(".data\n.incbin \"input\"\n.bss\n.space %d", len(packets)*outSize)
	return b.String()
}

// TestMeanings: packets of random instructions do in Go what they do under qemu-hexagon.
func TestMeanings(t *testing.T) {
	for _, tool := range []string{"clang", "ld.lld", "qemu-hexagon"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("no %s on this machine: install clang, lld and qemu-user, or run this in `./bazelw exec`", tool)
		}
	}
	r := rand.New(rand.NewPCG(1, 2))
	input := make([]byte, cases*inSize)
	for i := range input {
		input[i] = byte(r.Uint32())
		if r.IntN(8) == 0 {
			input[i] = []byte{0, 255, 127, 128}[r.IntN(4)]
		}
	}
	var packets [][]isa.Inst
	all := rows()
	for n := range cases {
		packets = append(packets, random(r, all, all[n%len(all)]))
	}
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "p.s"), []byte(program(packets)), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "input"), input, 0o644))
	run := func(name string, args ...string) []byte {
		cmd := exec.Command(name, args...)
		cmd.Dir = dir
		var problems bytes.Buffer
		cmd.Stderr = &problems
		out, err := cmd.Output()
		require.NoError(t, err, problems.String())
		return out
	}
	run("clang", "--target=hexagon", "-mv68", "-mhvx", "-mhvx-length=128b", "-c", "p.s", "-o", "p.o")
	run("ld.lld", fmt.Sprintf("-Tdata=%#x", inputAt), fmt.Sprintf("-Tbss=%#x", resultAt), "p.o", "-o", "p")
	got := run("qemu-hexagon", "./p")
	require.Len(t, got, cases*outSize)
	for n, p := range packets {
		in := input[n*inSize:][:inSize]
		m := &memory{at: uint32(resultAt + n*outSize), data: bytes.Clone(in)}
		s := &isa.State{Mem: m}
		for v := range registers {
			copy(s.V[v][:], in[v*isa.Bytes:])
			for l := range s.V[v] {
				if v < masks {
					s.Q[v][l] = s.V[v][l]&1 != 0
				}
			}
			s.R[v] = binary.LittleEndian.Uint32(in[(registers+vectors)*isa.Bytes+4*v:])
		}
		s.R[8] = m.at + (registers+vectors/2)*isa.Bytes
		s.R[9] = s.R[8]
		_, err := s.Step(p)
		require.NoError(t, err)
		for v := range registers {
			copy(m.data[v*isa.Bytes:], s.V[v][:])
		}
		for q := range masks {
			for l, is := range s.Q[q] {
				m.data[(registers+q)*isa.Bytes+l] = map[bool]byte{true: 1}[is]
			}
		}
		clear(m.data[(registers+vectors)*isa.Bytes:])
		for i := range registers + 2 {
			binary.LittleEndian.PutUint32(m.data[(registers+vectors)*isa.Bytes+4*i:], s.R[i])
		}
		if !bytes.Equal(m.data, got[n*outSize:][:outSize]) {
			t.Errorf("%v differs", p)
		}
	}
}

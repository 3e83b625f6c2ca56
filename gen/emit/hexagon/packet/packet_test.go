package packet_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/emit/hexagon/isa"
	"rules_dnn/gen/emit/hexagon/packet"
)

// assembler is LLVM's, which rejects packets that are not legal.
func assembler(t *testing.T) string {
	for _, name := range []string{"llvm-mc-19", "llvm-mc"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Skip("no llvm-mc on this machine: install llvm-19 (Debian), or run this in `./bazelw exec`")
	return ""
}

// assemble reads packets, one a line, and says what is wrong with each.
func assemble(t *testing.T, version int, lines []string, flags ...string) (map[int]string, string) {
	t.Helper()
	flags = append(flags, "-triple=hexagon", fmt.Sprintf("-mcpu=hexagonv%d", version), fmt.Sprintf("-mattr=+hvxv%d,+hvx-length128b", version), "-o", "-", "-")
	cmd := exec.Command(assembler(t), flags...)
	cmd.Stdin = strings.NewReader(strings.Join(lines, "\n") + "\n")
	var out, problems bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &problems
	_ = cmd.Run() // an error is of some packets
	wrong := map[int]string{}
	for _, m := range regexp.MustCompile(`<stdin>:(\d+):\d+: (?:error|warning): (.*)`).FindAllStringSubmatch(problems.String(), -1) {
		n, err := strconv.Atoi(m[1])
		require.NoError(t, err)
		wrong[n-1] += m[2] + "; "
	}
	return wrong, out.String()
}

func text(p []isa.Inst) string {
	var out []string
	for _, i := range p {
		out = append(out, i.String())
	}
	return "{ " + strings.Join(out, "; ") + " }"
}

// sample is an instruction with operands from a few registers, so that some meet.
func sample(r *rand.Rand, row *isa.Row) isa.Inst {
	i := isa.Inst{Row: row, Target: "here"}
	for _, o := range row.Operands {
		switch {
		case o.Class == isa.Label:
			i.Args = append(i.Args, 0)
		case o.Class == isa.Immediate:
			i.Args = append(i.Args, max(1, r.Int64N(3))*o.Step)
		case o.Pair:
			i.Args = append(i.Args, 2*r.Int64N(4))
		case o.Class == isa.Mask:
			i.Args = append(i.Args, r.Int64N(4))
		default:
			i.Args = append(i.Args, r.Int64N(8))
		}
	}
	return i
}

// inside is what a disassembled packet of one instruction has.
var inside = regexp.MustCompile(`(?s)\{\s*(.*?)\s*\}`)

// TestTexts: LLVM reads each row's text, and writes one that we read as the same.
func TestTexts(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, row := range isa.Table() {
		if row.Memory == isa.Stores && row.Operands[len(row.Operands)-1].New || row.Form != isa.Plain || row.Operands != nil && row.Operands[0].Class == isa.Label || row.Compilers {
			continue // they are nothing without others
		}
		i := sample(r, row)
		for k, o := range row.Operands { // a register twice is another instruction, or none
			if o.Class == isa.Scalar || o.Class == isa.Vector {
				i.Args[k] = int64(2 * k)
			}
			if o.Class == isa.Mask {
				i.Args[k] = int64(k)
			}
		}
		wrong, out := assemble(t, 68, []string{text([]isa.Inst{i})})
		require.Empty(t, wrong, row.Name)
		back, err := isa.Parse(inside.FindStringSubmatch(out)[1])
		require.NoError(t, err)
		assert.Equal(t, i.String(), back.String())
		assert.Equal(t, i.Row.Name, back.Row.Name)
	}
}

// stricter reports what the model rejects and LLVM does not look for: sums to a pair of which .tmp gives a half, new values of loads,
// and, from v69 on, a second write to the address that a .tmp load steps.
func stricter(p []isa.Inst, err error) bool {
	if strings.Contains(err.Error(), ".tmp is added to") {
		return regexp.MustCompile(`v\d:\d\.h \+=`).MatchString(text(p))
	}
	if m := regexp.MustCompile(`(r\d) is written twice`).FindStringSubmatch(err.Error()); m != nil {
		return strings.Contains(text(p), ".tmp = vmem("+m[1]+"++")
	}
	m := regexp.MustCompile(`sets (v\d)\.new`).FindStringSubmatch(err.Error())
	return m != nil && regexp.MustCompile(m[1]+`(\.cur|\.tmp)? = vmem`).MatchString(text(p))
}

// TestRandomPackets: the model and LLVM's assembler agree on packets of random instructions.
func TestRandomPackets(t *testing.T) {
	assembler(t)
	rows := slices.DeleteFunc(slices.Clone(isa.Table()), func(r *isa.Row) bool { return r.Compilers })
	for _, version := range isa.Versions {
		r := rand.New(rand.NewPCG(3, uint64(version)))
		var packets [][]isa.Inst
		lines := []string{"here:"}
		for range 6000 {
			var p []isa.Inst
			for range 1 + r.IntN(4) {
				p = append(p, sample(r, rows[r.IntN(len(rows))]))
			}
			packets, lines = append(packets, p), append(lines, text(p))
		}
		wrong, _ := assemble(t, version, lines)
		legal, differ, loose := 0, 0, 0
		for n, p := range packets {
			err := packet.Check(version, p)
			if err == nil {
				legal++
			}
			if err != nil && wrong[n+1] == "" && stricter(p, err) {
				loose++
				continue
			}
			if (err == nil) != (wrong[n+1] == "") {
				if differ++; differ < 30 {
					t.Errorf("v%d: %s: the model says %v, LLVM %q", version, text(p), err, wrong[n+1])
				}
			}
		}
		t.Logf("v%d: %d of %d packets are legal; LLVM takes %d more", version, legal, len(packets), loose)
		assert.Greater(t, legal, 500)
		if differ > 0 {
			t.Fatalf("%d differ", differ)
		}
	}
}

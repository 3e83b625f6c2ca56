package neon

import (
	"fmt"
	"maps"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Operands' addresses in the machine below.
const (
	xAt   = int64(1) << 40
	wAt   = int64(2) << 40
	accAt = int64(3) << 40
)

// machine runs the instructions that kernels have. Floats are numbers that name what they are: memory holds elements' offsets.
type machine struct {
	t       *testing.T
	general map[string]int64
	vector  [registers][4]float64
	zero    bool
	allowed map[int64]bool // addresses of floats that may be read
	stored  map[int64]float64
	// pointers are the addresses of a finish.
	pointers map[string]int64
	steps    int
}

// run executes a kernel with operands at the addresses above; value gives the floats there.
func (m *machine) run(lines []string, value func(at int64) float64) {
	m.general = map[string]int64{"%[x]": xAt, "%[w]": wAt, "%[acc]": accAt}
	maps.Copy(m.general, m.pointers)
	m.stored = map[int64]float64{}
	labels := map[string]int{}
	for i, l := range lines {
		if strings.HasSuffix(l, ":") {
			labels[strings.TrimSuffix(l, ":")] = i
		}
	}
	for at := 0; at < len(lines); at++ {
		if strings.HasSuffix(lines[at], ":") {
			continue
		}
		m.steps++
		require.Less(m.t, m.steps, 1_000_000, "the kernel does not end")
		op, rest, _ := strings.Cut(lines[at], " ")
		if to := m.step(op, strings.Split(rest, ", "), value); to != "" {
			require.Contains(m.t, labels, to)
			at = labels[to]
		}
	}
}

// step executes one instruction; it returns where the program jumps.
func (m *machine) step(op string, args []string, value func(at int64) float64) (to string) {
	if bytes := map[byte]int64{'s': 4, 'd': 8, 'q': 16, 'x': 8}[args[0][0]]; len(args) == 3 && strings.HasPrefix(args[2], "#") && args[1][0] == '[' {
		off := m.number(strings.TrimSuffix(args[2], "]"))
		if op == "ldr" || op == "str" {
			require.True(m.t, off >= 0 && off%bytes == 0 && off/bytes <= 4095, "%s %v: no such offset", op, args)
		} else {
			require.True(m.t, off >= -256 && off <= 255, "%s %v: no such offset", op, args)
		}
	}
	switch op {
	case "movi":
		m.vector[number(args[0])] = [4]float64{}
	case "movk":
		m.general["x"+args[0][1:]] |= m.number(args[1]) << 16
	case "fmov":
		x, err := strconv.ParseFloat(args[1][1:], 64)
		require.NoError(m.t, err)
		m.vector[number(args[0])] = [4]float64{x, x, x, x}
	case "dup":
		x := m.vector[number(args[1])][0]
		if args[1][0] == 'w' {
			x = float64(math.Float32frombits(uint32(m.general["x"+args[1][1:]])))
		}
		m.vector[number(args[0])] = [4]float64{x, x, x, x}
	case "fadd", "fsub", "fmax", "fmin":
		f := map[string]func(a, b float64) float64{
			"fadd": func(a, b float64) float64 { return a + b }, "fsub": func(a, b float64) float64 { return a - b }, "fmax": math.Max, "fmin": math.Min,
		}[op]
		for l := range 4 {
			m.vector[number(args[0])][l] = f(m.vector[number(args[1])][l], m.vector[number(args[2])][l])
		}
	case "fmla", "fmul":
		acc, w, x := number(args[0]), number(args[1]), number(args[2])
		for l := range 4 {
			from := l
			if _, lane, ok := strings.Cut(args[2], ".s["); ok {
				from = int(lane[0] - '0')
			}
			product := m.vector[x][from] * m.vector[w][l]
			if op == "fmul" {
				m.vector[acc][l] = 0
			}
			m.vector[acc][l] += product
		}
	case "ldr", "ldur":
		m.load(args, value)
	case "ins":
		v, from := number(args[0]), m.general[args[1]]
		m.vector[v][2], m.vector[v][3] = value(from), value(from+4)
	case "stp":
		m.store(number(args[0]), m.address(args[2:]))
		m.store(number(args[1]), m.address(args[2:])+16)
	case "str", "stur":
		m.store(number(args[0]), m.address(args[1:]))
	case "mov":
		m.general[strings.Replace(args[0], "w", "x", 1)] = m.number(args[1])
	case "add", "sub", "subs":
		n := m.number(args[2])
		if len(args) > 3 {
			require.Equal(m.t, "lsl #12", args[3])
			n <<= 12
		}
		if op != "add" {
			n = -n
		}
		m.general[args[0]] = m.general[args[1]] + n
		if op == "subs" {
			m.zero = m.general[args[0]] == 0
		}
	case "csel":
		require.Equal(m.t, "eq", args[3])
		from := args[2]
		if m.zero {
			from = args[1]
		}
		m.general[args[0]] = m.general[from]
	case "b":
		return args[0]
	case "b.eq", "b.ne":
		if m.zero == (op == "b.eq") {
			return args[0]
		}
	case "cbnz":
		if m.general[args[0]] != 0 {
			return args[1]
		}
	default:
		require.Fail(m.t, "an instruction that the test does not know", "%s %v", op, args)
	}
	return ""
}

// load reads floats that the operands have, and no others. A general register keeps the address of what it has read.
func (m *machine) load(args []string, value func(at int64) float64) {
	at := m.address(args[1:])
	floats := map[byte]int64{'s': 1, 'd': 2, 'q': 4, 'x': 2}[args[0][0]]
	for i := range floats {
		require.True(m.t, m.allowed[at+4*i], "%v reads element %d of operand %d", args, (at+4*i)&(1<<40-1)/4, at>>40)
	}
	if args[0][0] == 'x' {
		m.general[args[0]] = at
		return
	}
	v := number(args[0])
	m.vector[v] = [4]float64{}
	for i := range floats {
		m.vector[v][i] = value(at + 4*i)
	}
}

func (m *machine) store(v int, at int64) {
	for i, x := range m.vector[v] {
		m.stored[at+4*int64(i)] = x
	}
}

// address is that of "[register", "#offset]".
func (m *machine) address(args []string) int64 {
	base, ok := m.general[strings.TrimPrefix(args[0], "[")]
	require.True(m.t, ok, "an address without a value: %v", args)
	n, err := strconv.ParseInt(strings.Trim(args[1], "#]"), 10, 64)
	require.NoError(m.t, err)
	return base + n
}

// number is an immediate, or a general register's value.
func (m *machine) number(arg string) int64 {
	if text, ok := strings.CutPrefix(arg, "#"); ok {
		n, err := strconv.ParseInt(text, 10, 64)
		require.NoError(m.t, err)
		return n
	}
	v, ok := m.general[arg]
	require.True(m.t, ok, "%s has no value", arg)
	return v
}

// number is the number of a vector register.
func number(arg string) int {
	n := 0
	_, err := fmt.Sscanf(arg[1:], "%d", &n)
	if err != nil {
		panic(err)
	}
	return n
}

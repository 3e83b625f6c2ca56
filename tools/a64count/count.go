// Package a64count counts what a 64-bit ARM program executes under QEMU: instructions,
// multiply-adds, loads and stores, by function.
//
// Counts do not know latencies, caches, or how many instructions a processor issues at once.
package a64count

import (
	"cmp"
	"debug/elf"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

//go:embed plugin/plugin.c
var plugin string

// clockGettime is the number of the system call by which our programs read the clock before and
// after each run.
const clockGettime = "113"

// Counter counts one program.
type Counter struct {
	program, out string
	seen         int // intervals before the last call of LastRun
}

// New prepares to count a program that is linked statically, so that its clock is a system call.
// It compiles QEMU's plugin in a folder, and returns the command that runs the program: the
// emulator's with the plugin added.
func New(folder, program string, emulator []string) (*Counter, []string, error) {
	if err := CheckEmulator(emulator); err != nil {
		return nil, nil, err
	}
	source, library := filepath.Join(folder, "plugin.c"), filepath.Join(folder, "plugin.so")
	if err := os.WriteFile(source, []byte(plugin), 0o666); err != nil {
		return nil, nil, err
	}
	if said, err := exec.Command("cc", "-O2", "-shared", "-fPIC", "-o", library, source).CombinedOutput(); err != nil {
		return nil, nil, fmt.Errorf("compiling QEMU's plugin with cc: %w\n%s", err, said)
	}
	c := &Counter{program: program, out: filepath.Join(folder, "counts.txt")}
	command := []string{emulator[0], "-plugin", fmt.Sprintf("%s,out=%s,mark=%s", library, c.out, clockGettime)}
	return c, append(append(command, emulator[1:]...), program), nil
}

// CheckEmulator returns an error if an emulator cannot count.
func CheckEmulator(emulator []string) error {
	if len(emulator) == 0 {
		return errors.New("no emulator: name one whose plugins work, such as Debian 12's qemu-aarch64")
	}
	help, err := exec.Command(emulator[0], "-h").CombinedOutput()
	if err != nil && len(help) == 0 {
		return fmt.Errorf("%s -h: %w", emulator[0], err)
	}
	if !strings.Contains(string(help), "-plugin") {
		return fmt.Errorf("%s has no plugins, which count: use another build of it, such as qemu-user of Debian 12", emulator[0])
	}
	return nil
}

// Function is a function of the program and what it executed.
type Function struct {
	Name string
	Counts
}

// LastRun returns what the program's functions executed in its last run, most instructions first.
// Of the intervals between readings of the clock since the last call, a run is the one in which
// the functions that match executed most instructions; of equal ones, the last.
func (c *Counter) LastRun(match func(name string) bool) ([]Function, error) {
	f, err := os.Open(c.out)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	blocks, intervals, err := read(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", c.out, err)
	}
	names, err := symbolsOf(c.program)
	if err != nil {
		return nil, err
	}
	var best []Function
	var most int64
	for _, i := range intervals[c.seen:] {
		functions := byFunction(blocks, i, names)
		var matched int64
		for _, f := range functions {
			if match(f.Name) {
				matched += f.Instructions
			}
		}
		if matched > 0 && matched >= most {
			best, most = functions, matched
		}
	}
	c.seen = len(intervals)
	if best == nil {
		return nil, fmt.Errorf("%s: none of the kernels ran between two readings of the clock: link the program statically (-static)", c.program)
	}
	return best, nil
}

// byFunction sums what blocks executed by the function that holds them.
func byFunction(blocks []block, runs interval, names symbols) []Function {
	sums := map[string]*Function{}
	for id, n := range runs {
		b := blocks[id]
		name := names.at(b.address)
		if sums[name] == nil {
			sums[name] = &Function{Name: name}
		}
		sums[name].Add(b.counts, n)
	}
	out := make([]Function, 0, len(sums))
	for _, f := range sums {
		out = append(out, *f)
	}
	slices.SortFunc(out, func(a, b Function) int {
		return cmp.Or(cmp.Compare(b.Instructions, a.Instructions), strings.Compare(a.Name, b.Name))
	})
	return out
}

// symbols are the functions of a program, by address.
type symbols []elf.Symbol

func symbolsOf(program string) (symbols, error) {
	f, err := elf.Open(program)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if f.Machine != elf.EM_AARCH64 {
		return nil, fmt.Errorf("%s is for %s, and only instructions of EM_AARCH64 are counted", program, f.Machine)
	}
	all, err := f.Symbols()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", program, err)
	}
	functions := slices.DeleteFunc(all, func(s elf.Symbol) bool { return elf.ST_TYPE(s.Info) != elf.STT_FUNC || s.Section == elf.SHN_UNDEF })
	slices.SortStableFunc(functions, func(a, b elf.Symbol) int { return cmp.Compare(a.Value, b.Value) })
	return functions, nil
}

// at returns the name of the function at an address, "" before the first.
func (s symbols) at(address uint64) string {
	i, found := slices.BinarySearchFunc(s, address, func(f elf.Symbol, a uint64) int { return cmp.Compare(f.Value, a) })
	if !found {
		i--
	}
	if i < 0 {
		return ""
	}
	return plainName(s[i].Name)
}

// plainName returns the name in a mangled name of C++ that no namespace encloses, as kernels have:
// f of _Z1fPKf.
func plainName(symbol string) string {
	rest, mangled := strings.CutPrefix(symbol, "_Z")
	rest = strings.TrimPrefix(rest, "L") // of a static function
	digits := len(rest) - len(strings.TrimLeft(rest, "0123456789"))
	n, err := strconv.Atoi(rest[:digits])
	if !mangled || err != nil || digits+n > len(rest) {
		return symbol
	}
	return rest[digits : digits+n]
}

package main

import (
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// iterations is large enough that the start of a loop does not matter.
const iterations = 200

// analyser asks llvm-mca, each question once.
type analyser struct {
	program string
	known   map[string]cycles // of an iteration, by processor and loop
}

// cycles holds the cycles that a loop takes, and the minimum for its instructions in any order
// without dependencies.
type cycles struct{ taken, least float64 }

var (
	totalCycles = regexp.MustCompile(`(?m)^Total Cycles: +([0-9]+)$`)
	throughput  = regexp.MustCompile(`(?m)^Block RThroughput: +([0-9.]+)$`)
)

// standIn is what llvm-mca is told in place of an instruction.
type standIn struct {
	text *regexp.Regexp
	by   string
}

// standIns are in place of instructions that LLVM's table of a processor has wrong. Cortex-A55
// computes two floats in each of two units. Beside a multiply-add of four floats it starts a load
// of 8 bytes, an insertion or an addition of integers, but no load of 16 bytes, which takes two
// cycles alone (measured for ncnn: its docs/developer-guide/arm-a53-a55-dual-issue.md). In the
// table the multiply-add takes one unit, and all of these start beside it in one cycle; what stands
// for it takes both units, and waits for W and X.
var standIns = map[string][]standIn{
	"cortex-a55": {
		{regexp.MustCompile(`fm(?:l[as]|ul)\s+v(\d+)\.4s, v(\d+)\.4s, v(\d+)\.\S+`), "addp v$1.4s, v$2.4s, v$3.4s"},
		{regexp.MustCompile(`ldr\s+q(\d+), \[(\w+)[^\]]*\]!`), "ld1 {v$1.4s}, [$2], #16"}, // which changes the address, too
		{regexp.MustCompile(`ldu?r\s+q(\d+), \[(\w+)[^\]]*\]`), "ld1 {v$1.4s}, [$2]"},
		{regexp.MustCompile(`(?:ins|mov)\s+v(\d+)\.d\[1\], (x\d+)`), "ldr d$1, [$2]"},
	},
}

// told returns the description of a processor's instructions for llvm-mca.
func told(cpu, text string) string {
	for _, s := range standIns[cpu] {
		text = s.text.ReplaceAllString(text, s.by)
	}
	return text
}

// cycles returns the cycles of an iteration of a running loop.
func (a *analyser) cycles(cpu string, body []string) (cycles, error) {
	text := told(cpu, strings.Join(body, "\n")+"\n")
	key := cpu + "\n" + text
	if c, ok := a.known[key]; ok {
		return c, nil
	}
	cmd := exec.Command(a.program, "-mtriple="+triple, "-mcpu="+cpu, fmt.Sprintf("-iterations=%d", iterations),
		"-instruction-info=false", "-resource-pressure=false", "-")
	cmd.Stdin = strings.NewReader(text)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	// Some versions only warn of an unknown name, and answer for no processor.
	if strings.Contains(stderr.String(), "is not a recognized processor") {
		return cycles{}, fmt.Errorf("%s does not know the processor %s; '%s -mtriple=%s -mcpu=help' lists those it does", a.program, cpu, a.program, triple)
	}
	if err != nil {
		return cycles{}, fmt.Errorf("%s for %s: %w\n%.1000s", a.program, cpu, err, stderr.String())
	}
	total, least := totalCycles.FindSubmatch(out), throughput.FindSubmatch(out)
	if total == nil || least == nil {
		return cycles{}, fmt.Errorf("%s for %s does not say how many cycles:\n%.1000s", a.program, cpu, out)
	}
	taken, err1 := strconv.ParseFloat(string(total[1]), 64)
	bound, err2 := strconv.ParseFloat(string(least[1]), 64)
	a.known[key] = cycles{taken / iterations, bound}
	return a.known[key], errors.Join(err1, err2)
}

// limit returns the cycles of an instruction in a loop without other instructions or dependencies.
func (a *analyser) limit(cpu string, of *multiply) (float64, error) {
	const chains = 30
	var body []string
	for i := range chains {
		body = append(body, fmt.Sprintf(of.alone, i))
	}
	c, err := a.cycles(cpu, body)
	return c.taken / chains, err
}

// limits returns the limits for the kinds of multiply-adds in the blocks.
func (a *analyser) limits(cpus []string, blocks []*block) ([]limit, error) {
	var out []limit
	for _, of := range multiplies {
		if !slices.ContainsFunc(blocks, func(b *block) bool { return slices.Contains(b.of, of) }) {
			continue
		}
		l := limit{of: of}
		for _, cpu := range cpus {
			c, err := a.limit(cpu, of)
			if err != nil {
				return nil, err
			}
			l.cycles = append(l.cycles, c)
		}
		out = append(out, l)
	}
	return out, nil
}

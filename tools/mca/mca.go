package main

import (
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
)

// iterations are so many that how a loop begins does not count.
const iterations = 200

// analyser asks llvm-mca, each question once.
type analyser struct {
	program string
	known   map[string]cycles // of an iteration, by processor and loop
}

// cycles are those of a loop: what it takes, and the least that its instructions allow, whatever their order and
// what they wait for.
type cycles struct{ taken, least float64 }

var (
	totalCycles = regexp.MustCompile(`(?m)^Total Cycles: +([0-9]+)$`)
	throughput  = regexp.MustCompile(`(?m)^Block RThroughput: +([0-9.]+)$`)
)

// standIns are what llvm-mca is told in place of instructions that LLVM's table of a processor has wrong. Cortex-A55 computes two
// floats in each of two units: in the table an addition of four takes both, but a multiply-add of four one, as one of two
// does. The one of integers has the same operands and latency, and takes both.
var standIns = map[string]*strings.Replacer{
	"cortex-a55": strings.NewReplacer("fmla", "mla", "fmls", "mls"),
}

// cycles is what an iteration of a loop takes once it runs.
func (a *analyser) cycles(cpu string, body []string) (cycles, error) {
	text := strings.Join(body, "\n") + "\n"
	if r, ok := standIns[cpu]; ok {
		text = r.Replace(text)
	}
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

// limits are the cycles of a multiply-add where nothing else is done and none waits for another.
func (a *analyser) limits(cpus []string) ([]float64, error) {
	const chains = 30
	var body []string
	for i := range chains {
		body = append(body, fmt.Sprintf("fmla v%d.4s, v30.4s, v31.4s", i))
	}
	var out []float64
	for _, cpu := range cpus {
		c, err := a.cycles(cpu, body)
		if err != nil {
			return nil, err
		}
		out = append(out, c.taken/chains)
	}
	return out, nil
}

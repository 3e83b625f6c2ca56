package main

import (
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
	known   map[string]float64 // cycles of an iteration, by processor and loop
}

var totalCycles = regexp.MustCompile(`(?m)^Total Cycles: +([0-9]+)$`)

// cycles is what an iteration of a loop takes once it runs.
func (a *analyser) cycles(cpu string, body []string) (float64, error) {
	text := strings.Join(body, "\n") + "\n"
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
		return 0, fmt.Errorf("%s does not know the processor %s; '%s -mtriple=%s -mcpu=help' lists those it does", a.program, cpu, a.program, triple)
	}
	if err != nil {
		return 0, fmt.Errorf("%s for %s: %w\n%.1000s", a.program, cpu, err, stderr.String())
	}
	m := totalCycles.FindSubmatch(out)
	if m == nil {
		return 0, fmt.Errorf("%s for %s does not say the total of cycles:\n%.1000s", a.program, cpu, out)
	}
	total, err := strconv.ParseFloat(string(m[1]), 64)
	a.known[key] = total / iterations
	return a.known[key], err
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
		out = append(out, c/chains)
	}
	return out, nil
}

package target

import "fmt"

// Processors are those that may run the kernels: the chip itself, where nothing says that it stands for others. They differ in how fast they are,
// not in what kernels may use: that is the chip's.
func (t *Target) Processors() []*Target {
	if len(t.processors) == 0 {
		return []*Target{t}
	}
	return t.processors
}

// addProcessors reads RunsOn.
func (t *Target) addProcessors() error {
	for _, facts := range t.RunsOn {
		p, err := Parse(facts)
		switch {
		case err != nil:
			return fmt.Errorf("chip %s: runs_on: %w", t.Name, err)
		case p.CPU != t.CPU || p.VectorBits < t.VectorBits || len(p.RunsOn) > 0:
			return fmt.Errorf("chip %s: runs_on: %s, of cpu %q with vectors of %d bits, cannot run kernels for cpu %q and %d bits, or has runs_on itself", t.Name, p.Name, p.CPU, p.VectorBits, t.CPU, t.VectorBits)
		}
		p.VectorBits, p.VectorRegisters = t.VectorBits, t.VectorRegisters
		t.processors = append(t.processors, p)
	}
	return nil
}

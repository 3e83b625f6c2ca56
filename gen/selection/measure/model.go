package measure

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"rules_dnn/gen/base/files"
	"rules_dnn/gen/emit/manifest"
)

// model is what a manifest tells.
type model struct {
	chip    string
	device  string // whose launches are the last blocks; "": there is none
	blocks  []block
	learned []string // what performance models learned of the record
}

// block is one of a program, with what of it can be measured.
type block struct {
	*manifest.Tuning
	cycles int64 // of its kernel, by an estimate; 0: the manifest does not tell
	device bool  // runs it
}

// params are the parameters of one of its kernels, "" where it has none.
func (b block) params(name string) string {
	if i := slices.Index(b.Kernels, name); i >= 0 && i < len(b.Params) {
		return b.Params[i]
	}
	return ""
}

// model reads the program's manifest, as it is for the chip whose kernels run on this machine.
func (p Program) model(o Options) (*model, error) {
	data, err := files.Read(p.Manifest)
	if err != nil {
		return nil, err
	}
	var m manifest.Manifest
	if err := json.Unmarshal(data, &m); err != nil {
		return nil, fmt.Errorf("%s: %w", p.Manifest, err)
	}
	out := &model{chip: m.Chip, learned: m.Select.Models}
	for _, b := range m.Blocks {
		out.blocks = append(out.blocks, block{Tuning: b.Tuning, cycles: b.Cycles})
	}
	if m.Device != nil { // whose blocks have the numbers after the chip's
		out.device = m.Device.Name
		for _, b := range m.Device.Blocks {
			out.blocks = append(out.blocks, block{b.Tuning, b.Cycles, true})
		}
	}
	if len(m.Variants) > 1 {
		if out.chip, err = p.chip(o); err != nil {
			return nil, err
		}
		out.blocks = variantBlocks(&m, out.chip)
	}
	tunings := 0
	for _, b := range out.blocks {
		if b.Tuning != nil && len(b.Tuning.Kernels) > 0 {
			tunings++
		}
	}
	if tunings == 0 && len(out.blocks) > 0 {
		return nil, fmt.Errorf("%s names no candidates: compile the model with --candidate", p.Manifest)
	}
	return out, nil
}

// variantBlocks are those of a chip among several.
func variantBlocks(m *manifest.Manifest, chip string) []block {
	out := make([]block, len(m.Blocks))
	for _, v := range m.Variants {
		for i := range min(len(out), len(v.Tuning)) {
			if v.Chip == chip {
				out[i].Tuning = v.Tuning[i]
			}
		}
	}
	return out
}

// same tells how a model is another one than the first, by more than its kernels.
func (m *model) same(first *model) error {
	if m.chip != first.chip || m.device != first.device || len(m.blocks) != len(first.blocks) {
		return fmt.Errorf("%d blocks for %s, and %d for %s: the programs are of two models", len(first.blocks), first.chip, len(m.blocks), m.chip)
	}
	for i, b := range m.blocks {
		f := first.blocks[i]
		if (b.Tuning == nil) != (f.Tuning == nil) || b.Tuning != nil && b.Key != f.Key {
			return fmt.Errorf("block %d differs: the programs are of two models", i)
		}
	}
	return nil
}

// hasAny reports whether the model has one of the kernels.
func (m *model) hasAny(of map[kernel]bool) bool {
	for _, b := range m.blocks {
		if b.Tuning != nil && of[kernel{b.Key, b.Kernel}] {
			return true
		}
	}
	return false
}

// report is what a program tells with --json.
type report struct {
	Chip   string `json:"chip"`
	Ms     times  `json:"ms"`
	Blocks []struct {
		Block int   `json:"block"`
		Calls int   `json:"calls"`
		Ms    times `json:"ms"`
	} `json:"blocks"`
}

type times struct {
	Median float64 `json:"median"`
	P5     float64 `json:"p5"`
}

// micros are what a call takes: in half of the runs, and in the shortest ones, which nothing else on the machine disturbed.
type micros struct{ median, least float64 }

// times are the microseconds of a call of each kernel, the mean of the blocks that have it.
func (m *model) times(r *report) (map[kernel]micros, error) {
	sum, n := map[kernel]micros{}, map[kernel]float64{}
	for _, x := range r.Blocks {
		if x.Block < 0 || x.Block >= len(m.blocks) || x.Calls < 1 {
			return nil, fmt.Errorf("the program reports block %d; its manifest has %d blocks", x.Block, len(m.blocks))
		}
		b := m.blocks[x.Block]
		if b.Tuning == nil || x.Ms.Median <= 0 {
			continue
		}
		k, call := kernel{b.Key, b.Kernel}, 1e3/float64(x.Calls)
		sum[k] = micros{sum[k].median + float64(x.Ms.Median*call), sum[k].least + float64(x.Ms.P5*call)}
		n[k]++
	}
	for k, us := range sum {
		sum[k] = micros{us.median / n[k], us.least / n[k]}
	}
	return sum, nil
}

// measure runs a program.
func (s *session) measure(p Program) (*report, error) {
	return p.run(s.o, "--runs=5", "--threads="+strconv.Itoa(s.o.Threads), "--seconds="+strconv.FormatFloat(s.o.Seconds, 'g', -1, 64))
}

// chip is the one whose kernels a program runs on this machine.
func (p Program) chip(o Options) (string, error) {
	r, err := p.run(o, "--runs=1", "--warmup=0", "--seconds=0")
	if err != nil {
		return "", err
	}
	return r.Chip, nil
}

func (p Program) run(o Options, args ...string) (*report, error) {
	args = append([]string{"--json=-", "--probe-seconds=0", "--probe-bytes=1000000"}, args...)
	var read []string
	if p.Weights != "" {
		args, read = append(args, "--weights="+p.Weights), []string{p.Weights}
	}
	var out, log bytes.Buffer
	c, err := o.Runner.Command(p.Program, read, append(args, o.Args...)...)
	if err != nil {
		return nil, err
	}
	c.Stdout, c.Stderr = &out, &log
	if err := c.Run(); err != nil {
		return nil, fmt.Errorf("%s: %w\n%s", p.Program, err, log.String())
	}
	r := &report{}
	if err := json.Unmarshal(out.Bytes(), r); err != nil {
		return nil, fmt.Errorf("%s: malformed report: %w", p.Program, err)
	}
	return r, nil
}

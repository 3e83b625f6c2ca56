package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"rules_dnn/gen/ir"
	"rules_dnn/tools/check"
	"rules_dnn/tools/internal/build"
)

// served is a running program of the model: on this machine or its emulator, or one for a DSP,
// which counts what it executes.
type served interface {
	run(sizes map[string]int64, inputs map[string]*ir.Tensor) (map[string]*ir.Tensor, error)
	// time returns the milliseconds of runs with the last inputs.
	time(seconds float64) ([]float64, error)
	Close() error
}

func (p *program) serve(o *options, work string) (served, error) {
	if p.bare {
		e, err := check.StartEmulated(p.command...)
		return &emulated{e}, err
	}
	s, err := check.Start(work, o.threads, p.command...)
	return &hosted{Server: s}, err
}

type hosted struct {
	*check.Server
	ran bool
}

// firstSeconds returns the time of a run, plus the time for loading if it was the first.
func (h *hosted) firstSeconds() float64 {
	s := h.RunSeconds
	if !h.ran {
		s += h.LoadSeconds
	}
	h.ran = true
	return s
}

func (h *hosted) run(_ map[string]int64, inputs map[string]*ir.Tensor) (map[string]*ir.Tensor, error) {
	return h.Run(inputs)
}

func (h *hosted) time(seconds float64) ([]float64, error) { return h.Time(seconds) }

type emulated struct{ *check.Emulated }

func (e *emulated) run(sizes map[string]int64, inputs map[string]*ir.Tensor) (map[string]*ir.Tensor, error) {
	return e.Run(sizes, inputs)
}

func (e *emulated) time(float64) ([]float64, error) {
	return nil, errors.New("an emulator's times mean nothing") // checkBare has refused what asks for them
}

// checkBare refuses options that mean nothing for the chips.
func (o *options) checkBare(chips library) error {
	switch bare := chips[0].Bare(); {
	case o.executed && !bare:
		return fmt.Errorf("--executed: only an emulator of a DSP counts packets, and %s is not a DSP; want --chip=hexagon_v68", chips)
	case bare && o.layers:
		return fmt.Errorf("--layers: layers are compared only on processors, and %s is a DSP; there, outputs have the bytes of --reference=graph", chips)
	case bare && o.tune != "":
		return fmt.Errorf("--tune=%s measures kernels on the processor that runs them, and %s is under an emulator", o.tune, chips)
	case bare && o.rounds > 0:
		return fmt.Errorf("--rounds=%d: times of an emulator mean nothing; --executed prints what it executes", o.rounds)
	case bare && o.threads > 1:
		return fmt.Errorf("--threads=%d: a DSP's program has one thread", o.threads)
	}
	return nil
}

// buildBare compiles and links what dnnc made for a DSP.
func (p *program) buildBare(o *options, chips library, work string) error {
	start := time.Now()
	dsp := build.DSP{Work: work, Copts: chips[0].Copts}
	p.times.compiler = "clang"
	if o.cxx != "" {
		cxx, err := findCxx(o)
		if err != nil {
			return err
		}
		dsp.Compiler, p.times.compiler = cxx, cxx[0]
	}
	file, err := dsp.Program()
	p.command, p.bare = append(build.Emulator(o.emulator), file), true
	p.times.cxx = time.Since(start).Seconds()
	return err
}

// bareOptions returns dnnc's options for a DSP, whose library contains its weights.
func bareOptions(work string) []string {
	return []string{"--weights=embed", "--out-weights-asm=" + work + "/weights.S", "--out-kernels-c=" + work + "/kernels_c"}
}

// reportExecuted prints what a run on a DSP executed, in all, and by block if that is asked for.
func reportExecuted(o *options, s served, out io.Writer) {
	e, ok := s.(*emulated)
	if !ok {
		return
	}
	blocks := slices.Clone(e.Blocks)
	total := check.Executed{}
	for _, b := range blocks {
		total.Packets += b.Packets
		total.Instructions += b.Instructions
		total.VectorInstructions += b.VectorInstructions
	}
	fmt.Fprintf(out, "executed %d packets, %d instructions, %d of vectors, in %d blocks\n", total.Packets, total.Instructions, total.VectorInstructions, len(blocks))
	if !o.executed {
		return
	}
	for _, b := range blocks {
		fmt.Fprintf(out, "%14d packets %6.2f %%  %-20s %s\n", b.Packets, 100*float64(b.Packets)/float64(max(total.Packets, 1)), b.Kernel, b.Name)
	}
}

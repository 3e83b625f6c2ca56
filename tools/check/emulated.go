package check

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"

	"rules_dnn/gen/base/limit"
	"rules_dnn/gen/ir"
)

// Emulated is a running program that serves a model on a DSP under an emulator, with the protocol
// of runtime/dsp/serve.
type Emulated struct {
	cmd     *exec.Cmd
	in      *bufio.Writer
	pipe    io.WriteCloser
	out     *bufio.Reader
	symbols []string
	inputs  []string
	outputs []output
	// Blocks are what the model computes, with what the last run executed for each.
	Blocks []Executed
}

type output struct {
	name string
	typ  ir.DType
	rank int64
}

// Executed is a block's name, how it is computed, and what was executed for it.
type Executed struct {
	Name, Kernel                              string
	Packets, Instructions, VectorInstructions int64
}

// Limits for what a working program sends.
const (
	mostListed = 1 << 20
	mostText   = 1 << 20
	mostBytes  = 1 << 31 // a DSP has no more addresses
)

// StartEmulated runs a program.
func StartEmulated(command ...string) (*Emulated, error) {
	e := &Emulated{cmd: exec.Command(command[0], command[1:]...)}
	e.cmd.Stderr = os.Stderr
	in, err := e.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := e.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	e.pipe, e.in, e.out = in, bufio.NewWriterSize(in, 1<<16), bufio.NewReaderSize(out, 1<<16)
	if err := e.cmd.Start(); err != nil {
		return nil, err
	}
	if err := e.readModel(); err != nil {
		return nil, errors.Join(fmt.Errorf("%s does not say what it serves: %w", command[len(command)-1], err), e.Close())
	}
	return e, nil
}

// Close ends the program; it is an error if the program fails.
func (e *Emulated) Close() error { return errors.Join(e.pipe.Close(), e.cmd.Wait()) }

func (e *Emulated) readModel() error {
	r := &answers{from: e.out}
	symbols, inputs, outputs, blocks := r.count(), r.count(), r.count(), r.count()
	for range symbols {
		e.symbols = append(e.symbols, r.text())
	}
	for range inputs {
		e.inputs = append(e.inputs, r.text())
	}
	for range outputs {
		o := output{name: r.text()}
		t, err := ir.ParseDType(r.text())
		if o.rank = r.below(limit.Rank); r.err == nil {
			r.err = err
		}
		o.typ = t
		e.outputs = append(e.outputs, o)
	}
	for range blocks {
		e.Blocks = append(e.Blocks, Executed{Name: r.text(), Kernel: r.text()})
	}
	return r.err
}

// Run runs the model once with values of its symbols, and returns its outputs by name.
func (e *Emulated) Run(symbols map[string]int64, inputs map[string]*ir.Tensor) (map[string]*ir.Tensor, error) {
	request := []int64{1}
	for _, name := range e.symbols {
		request = append(request, symbols[name])
	}
	for _, x := range request {
		e.write(binary.LittleEndian.AppendUint64(nil, uint64(x)))
	}
	for _, name := range e.inputs {
		if inputs[name] == nil {
			return nil, fmt.Errorf("there is no input %q", name)
		}
		data, err := inputs[name].Bytes()
		if err != nil {
			return nil, err
		}
		e.write(binary.LittleEndian.AppendUint64(nil, uint64(len(data))))
		e.write(data)
	}
	_ = e.in.Flush() // a program that has ended says why on standard error; here the missing answer tells
	return e.answer()
}

func (e *Emulated) write(b []byte) { _, _ = e.in.Write(b) }

func (e *Emulated) answer() (map[string]*ir.Tensor, error) {
	r := &answers{from: e.out}
	status, words := r.number(), r.text()
	outputs := map[string]*ir.Tensor{}
	for _, o := range e.outputs {
		if status != 0 || r.err != nil {
			break
		}
		var shape []int64
		for range o.rank {
			shape = append(shape, r.number())
		}
		n := r.below(mostBytes)
		if r.err != nil {
			break
		}
		elements, err := ir.Len(shape)
		if err != nil {
			return nil, fmt.Errorf("output %s: %w", o.name, err)
		}
		if elements > mostBytes || n != elements*int64(o.typ.Size()) {
			return nil, fmt.Errorf("output %s has %d bytes, and dimensions of %d elements of %s", o.name, n, elements, o.typ)
		}
		t := ir.NewTensor(o.typ, shape...)
		r.read(t.Data)
		outputs[o.name] = t
	}
	for i := range e.Blocks {
		b := &e.Blocks[i]
		b.Packets, b.Instructions, b.VectorInstructions = r.number(), r.number(), r.number()
	}
	switch {
	case r.err != nil:
		return nil, fmt.Errorf("the model's program did not answer: %w", r.err)
	case status != 0:
		return nil, fmt.Errorf("the model's program: status %d: %s", status, words)
	}
	return outputs, nil
}

// answers reads what a program writes, until the first error.
type answers struct {
	from io.Reader
	err  error
}

func (r *answers) read(to []byte) {
	if r.err == nil {
		_, r.err = io.ReadFull(r.from, to)
	}
}

func (r *answers) number() int64 {
	var b [8]byte
	r.read(b[:])
	return int64(binary.LittleEndian.Uint64(b[:]))
}

func (r *answers) below(limit int64) int64 {
	n := r.number()
	if r.err == nil && (n < 0 || n > limit) {
		r.err = fmt.Errorf("found %d, want at most %d", n, limit)
	}
	if r.err != nil {
		return 0
	}
	return n
}

func (r *answers) count() int64 { return r.below(mostListed) }

func (r *answers) text() string {
	b := make([]byte, r.below(mostText))
	r.read(b)
	return string(b)
}

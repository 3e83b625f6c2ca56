package trainer

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"rules_dnn/gen/base/jsonfile"
	"rules_dnn/gen/training/train"
)

// Job is what is trained: the request, with what its files hold.
type Job struct {
	Request
	Weights []Tensor // all of the network's
	Targets []Tensor
	Kept    map[string][]bool // nil: there are no masks
}

// Answer is what came of a job.
type Answer struct {
	Weights []Tensor // in the job's order
	Metrics train.Metrics
	Epochs  []train.Metrics // may be none
}

// Trainer runs jobs. A job that is run in the same folder again goes on where the last run ended.
type Trainer interface {
	Train(folder string, job *Job) (*Answer, error)
}

// Process is a trainer that is an executable: the folder is its last argument.
type Process struct {
	Command []string
	// Patience is for how long it may print nothing; 0: for ever.
	Patience time.Duration
	Log      io.Writer     // gets what it prints
	limit    time.Duration // after which the kit kills it; 0: never
}

// Train runs the job, or takes the result that is there already.
func (p *Process) Train(folder string, job *Job) (*Answer, error) {
	return job.run(folder, "trainer "+p.Command[0], p.run)
}

// Builtin is the built-in trainer, in this process.
type Builtin struct{ Log io.Writer }

// Train runs the job, or takes the result that is there already.
func (b *Builtin) Train(folder string, job *Job) (*Answer, error) {
	log := b.Log
	if log == nil {
		log = io.Discard
	}
	return job.run(folder, "the built-in trainer", func(folder string) error { return Serve(folder, log) })
}

// run writes the job, has it trained unless that is done, and reads what came of it.
func (j *Job) run(folder, who string, train func(folder string) error) (*Answer, error) {
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return nil, err
	}
	request, err := j.write(folder)
	if err != nil {
		return nil, err
	}
	if answer, err := j.read(folder, request); err == nil {
		return answer, nil
	}
	if err := train(folder); err != nil {
		return nil, fmt.Errorf("%s in %s: %w; a second run continues from its last checkpoint", who, filepath.Base(folder), err)
	}
	answer, err := j.read(folder, request)
	if err != nil {
		return nil, fmt.Errorf("%s in %s: it exited with status 0, but %w", who, filepath.Base(folder), err)
	}
	return answer, nil
}

// write writes the job's files, the request last. Files of another job are removed, its checkpoints among them.
func (j *Job) write(folder string) (request []byte, err error) {
	j.Version, j.Masks = Version, j.Kept != nil
	if request, err = json.MarshalIndent(&j.Request, "", "  "); err != nil {
		return nil, err
	}
	// The tensors are part of what the request is.
	files := []struct {
		name  string
		write func(path string) error
	}{
		{WeightsFile, func(path string) error { return WriteTensors(path, j.Weights) }},
		{TermsFile, func(path string) error { return WriteTensors(path, j.Targets) }},
		{MasksFile, func(path string) error { return writeMasks(path, j.Weights, j.Kept) }},
	}
	same := true
	for _, f := range files {
		path := filepath.Join(folder, f.name)
		before, _ := os.ReadFile(path)
		if err := f.write(path); err != nil {
			return nil, err
		}
		after, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		same = same && bytes.Equal(before, after)
	}
	path := filepath.Join(folder, RequestFile)
	before, _ := os.ReadFile(path)
	if same && bytes.Equal(before, request) {
		return request, nil
	}
	if err := clean(folder); err != nil {
		return nil, err
	}
	return request, writeBytes(path, request)
}

// clean removes what is left of another job.
func clean(folder string) error {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return err
	}
	for _, e := range entries {
		switch e.Name() {
		case WeightsFile, TermsFile, MasksFile:
			continue
		}
		if err := os.RemoveAll(filepath.Join(folder, e.Name())); err != nil {
			return err
		}
	}
	return nil
}

// read reads and checks the result.
func (j *Job) read(folder string, request []byte) (*Answer, error) {
	text, err := os.ReadFile(filepath.Join(folder, ResultFile))
	if err != nil {
		return nil, fmt.Errorf("it wrote no %s", ResultFile)
	}
	var r Result
	if err := jsonfile.Parse(text, &r); err != nil {
		return nil, fmt.Errorf("%s: %w", ResultFile, err)
	}
	if r.Version != Version {
		return nil, fmt.Errorf("%s has version %d of the protocol; want %d", ResultFile, r.Version, Version)
	}
	if r.Request != digest(request) {
		return nil, fmt.Errorf("%s answers another request; want the request_sha256 of %s", ResultFile, RequestFile)
	}
	if r.Metrics == nil {
		return nil, fmt.Errorf("%s has no metrics; want metrics of the weights in %s", ResultFile, OutputFile)
	}
	for _, m := range append([]train.Metrics{*r.Metrics}, r.Epochs...) {
		if m.Accuracy < 0 || m.Accuracy > 1 {
			return nil, fmt.Errorf("%s: accuracy is %v after epoch %d; want a share from 0 to 1", ResultFile, m.Accuracy, m.Epoch)
		}
	}
	path := filepath.Join(folder, OutputFile)
	output, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("it wrote no %s", OutputFile)
	}
	if r.Output != digest(output) {
		return nil, fmt.Errorf("%s (%d bytes) does not match output_sha256 in %s (is it cut off?)", OutputFile, len(output), ResultFile)
	}
	got, err := ReadTensors(path)
	if err != nil {
		return nil, err
	}
	weights, err := sameTensors(got, j.Weights)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", OutputFile, err)
	}
	if err := j.masked(weights); err != nil {
		return nil, err
	}
	return &Answer{weights, *r.Metrics, r.Epochs}, j.chosen(weights)
}

// masked refuses weights that the masks do not keep.
func (j *Job) masked(weights []Tensor) error {
	for _, t := range weights {
		for i, kept := range j.Kept[t.Name] {
			if !kept && t.Data[i] != 0 {
				return fmt.Errorf("%s: element %d of weights %q is %v; want 0, as in their mask", OutputFile, i, t.Name, t.Data[i])
			}
		}
	}
	return nil
}

// run runs the executable until it ends, or prints nothing for too long.
func (p *Process) run(folder string) error {
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	// What it started is a group of its own, which a terminal's interrupt does not reach.
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(asked)
	go func() {
		select {
		case s := <-asked:
			cancel(fmt.Errorf("this program received %v and stopped it", s))
		case <-ctx.Done():
		}
	}()
	cmd := exec.CommandContext(ctx, p.Command[0], append(append([]string{}, p.Command[1:]...), folder)...)
	endAll(cmd)
	cmd.WaitDelay = time.Second
	out := &watch{log: p.Log}
	cmd.Stdout, cmd.Stderr = out, out
	if p.Patience > 0 {
		out.timer = time.AfterFunc(p.Patience, func() {
			cancel(fmt.Errorf("it was stopped, because it printed nothing for %v (was it hanging?)", p.Patience))
		})
		out.patience = p.Patience
		defer out.timer.Stop()
	}
	if p.limit > 0 {
		defer time.AfterFunc(p.limit, func() { cancel(errors.New("the kit killed it")) }).Stop()
	}
	err := cmd.Run()
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return fmt.Errorf("it failed (%w); it printed last:\n%s", err, out.tail())
	}
	return err
}

// watch keeps the end of what is printed, and winds the timer.
type watch struct {
	mu       sync.Mutex
	log      io.Writer
	timer    *time.Timer
	patience time.Duration
	last     []byte
}

// lastBytes of what a trainer printed are shown.
const lastBytes = 2000

func (w *watch) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.timer != nil {
		w.timer.Reset(w.patience)
	}
	w.last = append(w.last, b...)
	w.last = w.last[max(0, len(w.last)-lastBytes):]
	if w.log != nil {
		return w.log.Write(b)
	}
	return len(b), nil
}

func (w *watch) tail() []byte {
	w.mu.Lock()
	defer w.mu.Unlock()
	return bytes.TrimSpace(w.last)
}

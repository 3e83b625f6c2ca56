package trainer

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/training/train"
)

// fakeMode makes this test's executable a trainer that fails in a way.
const fakeMode = "RULES_DNN_FAKE_TRAINER"

func TestMain(m *testing.M) {
	mode := os.Getenv(fakeMode)
	if mode == "" {
		os.Exit(m.Run())
	}
	if err := fake(mode, os.Args[len(os.Args)-1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// fake adds 1 to every weight, an epoch at a time: epochs that it did are in a file. It fails in its own way.
func fake(mode, folder string) error {
	if mode == "serve" {
		return Serve(folder, os.Stdout)
	}
	request, err := os.ReadFile(filepath.Join(folder, RequestFile))
	if err != nil {
		return err
	}
	done := filepath.Join(folder, "done")
	before, _ := os.ReadFile(done)
	if err := os.WriteFile(done, append(before, 'x'), 0o666); err != nil {
		return err
	}
	switch {
	case mode == "crash" && len(before) == 0:
		return fmt.Errorf("out of memory, says the fake")
	case mode == "traceback":
		return fmt.Errorf("Traceback (most recent call last):\n  File \"choices.py\", line 3, in choose\nIndexError")
	case mode == "hang":
		select {}
	case mode == "nothing":
		return nil
	}
	weights, err := ReadTensors(filepath.Join(folder, WeightsFile))
	if err != nil {
		return err
	}
	for _, t := range weights {
		for i := range t.Data {
			t.Data[i]++
		}
	}
	switch mode {
	case "nan":
		weights[1].Data[2] = float32(math.NaN())
	case "shape":
		weights[1].Shape = []int64{3, 1}
	case "missing":
		weights = weights[:1]
	case "more":
		weights = append(weights, Tensor{"c", []int64{1}, []float32{0}})
	}
	path := filepath.Join(folder, OutputFile)
	if err := WriteTensors(path, weights); err != nil {
		return err
	}
	output, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	r := &Result{Version, digest(request), digest(output), &train.Metrics{Epoch: 1 + len(before), Accuracy: 0.5}, nil}
	switch mode {
	case "cut":
		err = os.WriteFile(path, output[:len(output)-3], 0o666)
	case "cut before it was summed":
		output = output[:len(output)-3]
		r.Output = digest(output)
		err = os.WriteFile(path, output, 0o666)
	case "version":
		r.Version = 9
	case "other request":
		r.Request = digest(nil)
	case "percent":
		r.Metrics.Accuracy = 91.3
	case "no metrics":
		r.Metrics = nil
	case "percent of an epoch":
		r.Epochs = []train.Metrics{{Epoch: 1, Accuracy: -0.5}}
	}
	if err != nil {
		return err
	}
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	if mode == "garbage" {
		text = text[:len(text)/2]
	}
	return os.WriteFile(filepath.Join(folder, ResultFile), text, 0o666)
}

func someWeights() []Tensor {
	return []Tensor{{"a", []int64{2, 2}, []float32{1, 2, 3, 4}}, {"b", []int64{3}, []float32{5, 6, 7}}}
}

func someJob() *Job {
	j := &Job{Weights: someWeights(), Request: Request{Model: "net.onnx", Data: json.RawMessage(`{}`)}}
	j.Settings = train.Defaults()
	return j
}

func runFake(t *testing.T, mode, folder string, patience time.Duration) (*Answer, error) {
	t.Setenv(fakeMode, mode)
	p := &Process{Command: []string{os.Args[0]}, Patience: patience}
	return p.Train(folder, someJob())
}

// TestFailures: whatever a trainer does wrong is an error that says what, and where it can go on it does.
func TestFailures(t *testing.T) {
	for _, c := range []struct{ mode, want string }{
		{"crash", "out of memory, says the fake"},
		{"crash", "a second run continues from its last checkpoint"},
		{"hang", "it was stopped, because it printed nothing for 300ms (was it hanging?)"},
		{"nothing", "it exited with status 0, but it wrote no result.json"},
		{"nan", `element 2 of weights "b" is NaN; a smaller learning rate may help`},
		{"shape", `weights "b" have shape [3 1]; the network's have [3]`},
		{"missing", `weights "b" are missing`},
		{"more", `tensor "c" is not one of the network's weights`},
		{"cut", "does not match output_sha256 in result.json (is it cut off?)"},
		{"cut before it was summed", "output.safetensors: reading safetensors"},
		{"version", "has version 9 of the protocol; want 1"},
		{"other request", "result.json answers another request"},
		{"percent", "result.json: accuracy is 91.3 after epoch 1; want a share from 0 to 1"},
		{"percent of an epoch", "accuracy is -0.5 after epoch 1"},
		{"no metrics", "result.json has no metrics; want metrics of the weights in output.safetensors"},
		{"garbage", "result.json: its JSON is cut off at line 1"},
	} {
		folder := t.TempDir()
		patience := time.Minute
		if c.mode == "hang" {
			patience = 300 * time.Millisecond
		}
		_, err := runFake(t, c.mode, folder, patience)
		require.ErrorContains(t, err, c.want, c.mode)
		a, err := runFake(t, "well", folder, time.Minute)
		require.NoError(t, err, "after %s", c.mode)
		assert.Equal(t, 2, a.Metrics.Epoch, "%s: it begins anew", c.mode)
	}
}

// TestDone: a job that is done is not run again; another one in its folder is.
func TestDone(t *testing.T) {
	folder := t.TempDir()
	first, err := runFake(t, "well", folder, 0)
	require.NoError(t, err)
	assert.Equal(t, []float32{6, 7, 8}, first.Weights[1].Data)
	again, err := runFake(t, "crash", folder, 0)
	require.NoError(t, err)
	assert.Equal(t, first, again)

	t.Setenv(fakeMode, "well")
	j := someJob()
	j.Weights[0].Data[0] = 9
	other, err := (&Process{Command: []string{os.Args[0]}}).Train(folder, j)
	require.NoError(t, err)
	assert.Equal(t, float32(10), other.Weights[0].Data[0])
	assert.Equal(t, 1, other.Metrics.Epoch, "the other job's checkpoint is gone")
}

// TestMasked: weights that a mask drops must be 0.
func TestMasked(t *testing.T) {
	t.Setenv(fakeMode, "well")
	j := someJob()
	j.Kept = map[string][]bool{"a": {true, false, true, true}}
	_, err := (&Process{Command: []string{os.Args[0]}}).Train(t.TempDir(), j)
	assert.ErrorContains(t, err, `element 1 of weights "a" is 3; want 0, as in their mask`)
}

// TestAsked: a driver that is asked to end stops its trainer, which has a process group of its own.
func TestAsked(t *testing.T) {
	script := "echo started; exec sleep 60"
	p := &Process{Command: []string{"sh", "-c", script}, Log: asker{}}
	began := time.Now()
	_, err := p.Train(t.TempDir(), someJob())
	require.ErrorContains(t, err, "this program received interrupt and stopped it; a second run continues")
	assert.Less(t, time.Since(began), 30*time.Second)
}

// asker asks this process to end when its trainer prints something.
type asker struct{}

func (asker) Write(b []byte) (int, error) {
	return len(b), syscall.Kill(os.Getpid(), syscall.SIGINT)
}

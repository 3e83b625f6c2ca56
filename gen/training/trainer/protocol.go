// Package trainer is the protocol between a program that wants a network trained and the one that trains it, which may be any
// executable: docs/trainers.md describes it. The driver (Process) runs one job in a folder; the built-in trainer (Serve) is one
// such executable; Check is the conformance kit for all of them.
//
// All that is passed on is files. What a job is stands in request.json; what came of it in result.json, which is written
// last, under another name first, so that it is there only where all else is.
package trainer

import (
	"encoding/json"

	"rules_dnn/gen/training/train"
)

// Version of the protocol. A trainer refuses requests of others.
const Version = 1

// Names of files in a job's folder.
const (
	RequestFile = "request.json"
	WeightsFile = "weights.safetensors" // where training begins
	TermsFile   = "terms.safetensors"   // targets of quadratic terms
	MasksFile   = "masks.safetensors"
	OutputFile  = "output.safetensors" // where training ended
	ResultFile  = "result.json"
	Checkpoint  = "checkpoint.safetensors" // the built-in trainer's own
)

// Request is what to train.
type Request struct {
	Version int `json:"version"`
	// Model is the ONNX file, whose initializers the weights are. Paths are absolute, or relative to the folder.
	Model string `json:"model"`
	// Data is the trainer's own: which images, and how they are scaled.
	Data json.RawMessage `json:"data"`
	// Settings are the number of epochs, 0 to evaluate only, the learning rate and so on.
	Settings train.Settings `json:"settings"`
	// Terms add rho/2 * |W - target|^2 to the loss; target is the name of a tensor in terms.safetensors.
	Terms []Term `json:"terms"`
	// Masks reports that masks.safetensors has, by the weights' names, tensors of U8 and their shapes: where it is 0 the weight is
	// 0 and stays so.
	Masks bool `json:"masks"`
	// Choices are of weights whose masks the trainer finds; nil: of none.
	Choices *Choices `json:"choices,omitempty"`
	// Workers is how many threads the trainer may use; 0 leaves it to the trainer.
	Workers int `json:"workers"`
}

// Term is a quadratic term of the loss.
type Term struct {
	Weight string  `json:"weight"`
	Rho    float64 `json:"rho"`
	Target string  `json:"target"`
}

// Result is what came of a job.
type Result struct {
	Version int `json:"version"`
	// Request and Output are SHA-256 sums of the files, in hexadecimal: a result of another request is none, and neither is one
	// whose weights were cut off.
	Request string         `json:"request_sha256"`
	Output  string         `json:"output_sha256"`
	Metrics *train.Metrics `json:"metrics"` // nil: they are missing
	// Epochs are the metrics of each epoch; a trainer may leave them out.
	Epochs []train.Metrics `json:"epochs,omitempty"`
}

package a64count

// Record is what one inference of a network executes. `compare --count-json` writes it in JSON.
type Record struct {
	// Code is a digest of the program's sources and of the compiler's options.
	Code string `json:"code,omitempty"`
	// CodeBytes is the size of the network's own code, without the runtime.
	CodeBytes int64 `json:"code_bytes"`
	// Functions is nil if the code was known, and not counted again.
	Functions []Recorded `json:"functions"`
}

// Recorded is what one function of a network's program executes.
type Recorded struct {
	Function
	// Kernel reports whether the function computes blocks itself. Other functions help kernels.
	Kernel bool `json:"kernel"`
	// Blocks has the nodes of each block that the function computes or helps to compute.
	Blocks []string `json:"blocks,omitempty"`
}

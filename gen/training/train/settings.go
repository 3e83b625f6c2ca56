package train

import (
	"fmt"
	"math"
	"slices"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/scalar"
)

// Settings control a training; as JSON they are part of the trainers' protocol.
type Settings struct {
	Epochs int   `json:"epochs"` // the number of epochs
	Batch  int64 `json:"batch"`  // the number of images in a batch
	// The number of images of a batch that run together; 0: the whole batch. Parts run in parallel,
	// each on one processor, and a batch normalization uses the statistics of its part.
	Part         int64   `json:"part,omitempty"`
	LearningRate float64 `json:"learning_rate"` // the initial learning rate
	// "constant", or "cosine": the learning rate falls to 0 over all steps.
	Schedule string `json:"schedule"`
	// The number of cosine cycles; each falls from the learning rate to 0 over the same number of
	// epochs. 0 means 1.
	Cycles int `json:"cycles,omitempty"`
	// "sgd" or "adam".
	Optimizer      string  `json:"optimizer"`
	Momentum       float64 `json:"momentum"`        // the momentum of sgd
	WeightDecay    float64 `json:"weight_decay"`    // the factor of the weights in their gradients
	LabelSmoothing float64 `json:"label_smoothing"` // the probability that labels distribute over all classes, 0 to 1
	// The part of the loss that compares with the outputs of the given model, 0 to 1; the rest
	// compares with the classes.
	Distillation float64 `json:"distillation,omitempty"`
	// The temperature that softens both outputs for distillation.
	Temperature float64 `json:"temperature,omitempty"`
	// The decay of the moving average of weights and statistics, for example 0.999. The average is
	// tested and is the result of the training. 0: no average.
	Average float64 `json:"average,omitempty"`
	// Whether half of the images are mirrored.
	Flip bool `json:"flip"`
	// The maximum number of pixels by which images are moved, with zeros around them.
	Crop int    `json:"crop"`
	Seed uint64 `json:"seed"` // the seed of all random numbers
}

// Defaults are those of a short fine-tuning.
func Defaults() Settings {
	return Settings{Epochs: 1, Batch: 128, LearningRate: 0.01, Schedule: "cosine", Optimizer: "sgd", Momentum: 0.9, WeightDecay: 5e-4}
}

// Check refuses settings that make no sense.
func (s *Settings) Check() error {
	in := func(name string, x, lo, hi float64) error {
		if !(x >= lo && x <= hi) {
			return fmt.Errorf("%s is %v; want %v to %v", name, x, lo, hi)
		}
		return nil
	}
	for _, err := range []error{
		in("epochs", float64(s.Epochs), 0, 1e6), in("batch", float64(s.Batch), 1, 1<<20),
		in("learning_rate", s.LearningRate, 0, 1e3), in("momentum", s.Momentum, 0, 1),
		in("weight_decay", s.WeightDecay, 0, 1), in("label_smoothing", s.LabelSmoothing, 0, 1), in("crop", float64(s.Crop), 0, 1e4),
		in("distillation", s.Distillation, 0, 1), in("average", s.Average, 0, 0.999999),
	} {
		if err != nil {
			return err
		}
	}
	if s.Cycles < 0 || s.Cycles > 1 && (s.Schedule != "cosine" || s.Epochs%s.Cycles != 0) {
		return fmt.Errorf("cycles is %d; want 0, or with a cosine schedule a divisor of the epochs, %d", s.Cycles, s.Epochs)
	}
	if s.Part < 0 || s.Part > 0 && s.Batch%s.Part != 0 {
		return fmt.Errorf("part is %d; want 0, or a divisor of the batch, %d", s.Part, s.Batch)
	}
	if s.Distillation > 0 || s.Temperature != 0 {
		if err := in("temperature", s.Temperature, 1, 100); err != nil {
			return err
		}
	}
	if !slices.Contains([]string{"constant", "cosine"}, s.Schedule) {
		return fmt.Errorf("schedule is %q; want \"constant\" or \"cosine\"", s.Schedule)
	}
	if !slices.Contains([]string{"sgd", "adam"}, s.Optimizer) {
		return fmt.Errorf("optimizer is %q; want \"sgd\" or \"adam\"", s.Optimizer)
	}
	return nil
}

// together is how many images run together.
func (s *Settings) together() int64 {
	if s.Part > 0 {
		return s.Part
	}
	return s.Batch
}

// rate is the learning rate of a step of all.
func (s *Settings) rate(step, all int) float64 {
	if s.Schedule == "constant" || all < 1 {
		return s.LearningRate
	}
	if s.Cycles > 1 {
		all /= s.Cycles
		step %= all
	}
	turn := cosine(math.Pi * float64(step) / float64(all))
	return float64(s.LearningRate * 0.5 * (1 + turn))
}

// cosine is package scalar's: math.Cos differs between machines in the last bit.
func cosine(x float64) float64 {
	fn, err := scalar.Bind("cos", ir.F64, []ir.DType{ir.F64})
	if err != nil {
		panic(err) // it is in the table
	}
	out := &scalar.Vec{F64: make([]float64, 1)}
	fn(out, []*scalar.Vec{{F64: []float64{x}}})
	return out.F64[0]
}

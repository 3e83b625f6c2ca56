// Package quant quantizes networks after training: it runs them on inputs, chooses a scale and a zero point for each activation and
// for each channel of weights, and writes both into the graph as QuantizeLinear and DequantizeLinear. What it makes is an ordinary ONNX
// model. Weights alone may have 4 bits: these need no inputs. The interpreter runs the network, so the numbers are the same on every machine.
package quant

import (
	"fmt"
	"slices"
	"strings"

	"rules_dnn/gen/base/jsonfile"
	"rules_dnn/gen/ir"
)

// Settings are how a network is quantized: the rule's attributes, as JSON.
type Settings struct {
	// Activations is the type of activations: "uint8", "int8", "uint16" or "int16".
	Activations string `json:"activations"`
	// Range is how the range of an activation is chosen: "minmax" is all that was seen; "percentile" leaves out what is beyond
	// Percentile on either side; "mse" is the range whose squared error is least.
	Range string `json:"range"`
	// Percentile is of Range "percentile": how many percent of the elements lie within.
	Percentile float64 `json:"percentile"`
	// PerChannel gives each channel of weights a scale of its own.
	PerChannel bool `json:"per_channel"`
	// CorrectBias subtracts from biases the mean error that quantization makes in each channel.
	CorrectBias bool `json:"correct_bias"`
	// Equalize scales channels of neighbouring layers so that their ranges are alike, where nothing or a Relu is between.
	Equalize bool `json:"equalize"`
	// WeightBits are those of weights: 8, or 4 of the weights of MatMul and Gemm alone, while all else stays float; what is said of activations,
	// channels and biases is of 8.
	WeightBits int `json:"weight_bits"`
	// BlockSize is of 4 bits: how many weights along the sum have one scale.
	BlockSize int64 `json:"block_size"`
	// Float are operators, or names of nodes, that stay float.
	Float []string `json:"float,omitempty"`
	// Wide are names of nodes whose activations have 16 bits.
	Wide []string `json:"wide,omitempty"`
}

// Values of Settings.Range.
const (
	MinMax     = "minmax"
	Percentile = "percentile"
	MSE        = "mse"
)

// integers are the types of activations by their names.
var integers = map[string]ir.DType{"uint8": ir.U8, "int8": ir.I8, "uint16": ir.U16, "int16": ir.I16}

// Defaults are 8 bits without sign, all that was seen, and scales by channel.
func Defaults() Settings {
	return Settings{Activations: "uint8", Range: MinMax, Percentile: 99.99, PerChannel: true, CorrectBias: true, WeightBits: 8, BlockSize: 32}
}

// Parse reads settings; what is left out has the defaults.
func Parse(text []byte) (Settings, error) {
	s := Defaults()
	if err := jsonfile.Parse(text, &s); err != nil {
		return s, err
	}
	return s, s.check()
}

func (s *Settings) check() error {
	if integers[s.Activations] == ir.Invalid {
		return fmt.Errorf("activations %q; supported are %s", s.Activations, strings.Join([]string{"uint8", "int8", "uint16", "int16"}, ", "))
	}
	if ranges := []string{MinMax, Percentile, MSE}; !slices.Contains(ranges, s.Range) {
		return fmt.Errorf("range %q; supported are %s", s.Range, strings.Join(ranges, ", "))
	}
	if !(s.Percentile > 50 && s.Percentile <= 100) {
		return fmt.Errorf("percentile %v; want above 50 and at most 100", s.Percentile)
	}
	return s.checkBits()
}

// blockSizes are those that ONNX Runtime has kernels for.
var blockSizes = []int64{16, 32, 64, 128, 256}

// checkBits refuses what is of weights of other bits.
func (s *Settings) checkBits() error {
	plain := Defaults()
	switch {
	case s.WeightBits != 8 && s.WeightBits != 4:
		return fmt.Errorf("weight_bits %d; supported are 8, 4", s.WeightBits)
	case s.WeightBits == 8 && s.BlockSize != plain.BlockSize:
		return fmt.Errorf("block_size %d is only for weights of 4 bits; leave it out, or set weight_bits to 4", s.BlockSize)
	case s.WeightBits == 8:
		return nil
	case !slices.Contains(blockSizes, s.BlockSize):
		return fmt.Errorf("block_size %d; supported are 16, 32, 64, 128, 256", s.BlockSize)
	}
	for _, of8 := range []struct {
		name string
		set  bool
	}{
		{"activations", s.Activations != plain.Activations},
		{"range", s.Range != plain.Range},
		{"percentile", s.Percentile != plain.Percentile},
		{"per_channel", s.PerChannel != plain.PerChannel},
		{"correct_bias", s.CorrectBias != plain.CorrectBias},
		{"equalize", s.Equalize != plain.Equalize},
		{"wide", len(s.Wide) > 0},
	} {
		if of8.set {
			return fmt.Errorf("%s is only for weight_bits 8; leave it out, because with weight_bits 4 activations and biases stay float and weights have a scale for each block", of8.name)
		}
	}
	return nil
}

// wide is the type of 16 bits that has a sign as the activations have.
func (s *Settings) wide() ir.DType {
	if strings.HasPrefix(s.Activations, "u") {
		return ir.U16
	}
	return ir.I16
}

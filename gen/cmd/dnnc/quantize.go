package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"rules_dnn/gen/base/files"
	"rules_dnn/gen/compress/quant"
	"rules_dnn/gen/graph/passes/bnfold"
	"rules_dnn/gen/graph/passes/simplify"
	"rules_dnn/gen/graph/samples"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/onnx"
)

const quantizeDoc = `dnnc quantize quantizes a trained ONNX model to 8-bit integers and writes it, with QuantizeLinear and DequantizeLinear around nodes that are
computed in integers. Inputs and outputs keep their types. With weight_bits 4, it only stores the weights of MatMul and Gemm in 4 bits, as ONNX Runtime's
MatMulNBits with a scale for each block along the sum. All nodes then compute in floats, and no calibration is needed.

For 8 bits, it runs the model on the calibration's inputs and measures the ranges of activations. The calibration is a safetensors file with a tensor for each
input, by its name. The tensor has the input's shape, but may have a larger first dimension.

Settings are a JSON object with these defaults:
  {"activations": "uint8", "range": "minmax", "percentile": 99.99, "per_channel": true, "correct_bias": true, "equalize": false,
   "weight_bits": 8, "block_size": 32}
  activations   type of activations: uint8, int8, uint16 or int16. Weights have 8 bits and the zero point 0
  range         minmax: the range of all elements; percentile: of the given percentage of them; mse: the range with the least squared error
  percentile    percentage of the elements within the range, for "percentile"
  per_channel   one scale for each channel of weights, instead of one for all
  correct_bias  subtract the mean quantization error of a channel from its bias
  equalize      first scale the channels of consecutive convolutions to similar ranges
  weight_bits   8, or 4, which allows none of the settings above
  block_size    for weights of 4 bits: number of weights with one scale, 16, 32, 64, 128 or 256; each scale is chosen for the least squared error
  float         operators, or names of nodes, that stay float
  wide          names of nodes whose activations have 16 bits

Examples:
  dnnc quantize --src=net.onnx --calibration=images.safetensors --out=net_int8.onnx
  The error that each layer adds, on 8 of the inputs, and the accuracy on images with a tensor "labels":
    dnnc quantize --src=net.onnx --calibration=images.safetensors --out=net_int8.onnx \
      --alone=8 --check=labelled.safetensors --out-report=net_int8.json
  Least error, the head in float, 16 bits for one layer:
    echo '{"range": "mse", "float": ["/head/fc"], "wide": ["/stem/conv"]}' > settings.json
    dnnc quantize --src=net.onnx --calibration=images.safetensors --settings=settings.json --out=net_int8.onnx
  Weights of 4 bits, and the error on some inputs:
    echo '{"weight_bits": 4}' > settings.json
    dnnc quantize --src=net.onnx --settings=settings.json --check=texts.safetensors --out=net_4.onnx --out-report=net_4.json
`

// quantizeFlags are the options of `dnnc quantize`.
type quantizeFlags struct {
	graph                 graphFlags
	settings, calibration string
	check, outReport      string
	outExternal           string
	alone                 int
	quiet                 bool
}

// quantizeCommand is `dnnc quantize`: ONNX to ONNX.
func quantizeCommand(args []string, out, log io.Writer) error {
	var f quantizeFlags
	c := newCommand("dnnc quantize", quantizeDoc, "src", "out")
	c.StringVar(&f.graph.src, "src", "", "`FILE`: the ONNX model")
	c.Var(&f.graph.external, "external", "`LOCATION=PATH` of a file of external data; may be repeated")
	c.StringVar(&f.calibration, "calibration", "", "`FILE` of inputs (safetensors); needed for weights of 8 bits")
	c.StringVar(&f.settings, "settings", "", "`FILE` of settings, JSON")
	c.StringVar(&f.check, "check", "", "`FILE` of inputs on which the quantized model is compared with the float one (default: the calibration's)")
	c.IntVar(&f.alone, "alone", 0, "`NUMBER` of the calibration's inputs (with 4 bits: of --check's) on which each layer is quantized alone, to report the error that it adds")
	c.BoolVar(&f.quiet, "quiet", false, "print no table")
	c.StringVar(&f.graph.out, "out", "", "`FILE` where the quantized model goes")
	c.StringVar(&f.outExternal, "out-external", "", "`LOCATION=PATH` where the weights of a model of 2 GB or more go")
	c.StringVar(&f.outReport, "out-report", "", "`FILE` where the report goes, JSON: types, scales and ranges by node, nodes that stay float and why, errors, accuracy")
	if err := c.parse(args, out); err != nil {
		return err
	}
	switch {
	case f.alone < 0:
		return c.hint("--alone=%d: want 0 or more", f.alone)
	case f.alone > 0 && f.outReport == "":
		return c.hint("--alone=%d: the results are in the report; add --out-report", f.alone)
	case f.check != "" && f.outReport == "":
		return c.hint("--check=%s: the comparison is in the report; add --out-report", f.check)
	}
	return f.run(log)
}

// plan is what the command reads and writes.
func (f *quantizeFlags) plan() *files.Plan {
	p := &files.Plan{}
	inputs(p, f.graph.external, map[string]string{"src": f.graph.src, "settings": f.settings, "calibration": f.calibration, "check": f.check})
	outputs(p, map[string]string{"out": f.graph.out, "out-report": f.outReport})
	if _, path, ok := strings.Cut(f.outExternal, "="); ok && path != "" {
		p.Output("--out-external="+f.outExternal, path)
	}
	return p
}

func (f *quantizeFlags) run(log io.Writer) error {
	if err := f.plan().Check(); err != nil {
		return err
	}
	settings, err := f.readSettings()
	if err != nil {
		return err
	}
	if err := f.checkCalibration(settings.WeightBits); err != nil {
		return err
	}
	g, err := f.read()
	if err != nil {
		return err
	}
	// Passes make nodes that ONNX has not: who waits for the calibration should not learn it then.
	if err := onnx.Write(io.Discard, g); err != nil {
		return fmt.Errorf("%s: the model cannot be quantized: ONNX cannot express the simplified model: %w", f.graph.src, err)
	}
	calibration, check, labels, err := f.inputs(g)
	if err != nil {
		return err
	}
	report, err := quant.Run(g, settings, calibration, f.alone)
	if err != nil {
		return fmt.Errorf("%s: %w", f.graph.src, err)
	}
	if f.outReport != "" {
		float, err := f.read()
		if err != nil {
			return err
		}
		if err := quant.Equalize(float, settings); err != nil {
			return fmt.Errorf("%s: %w", f.graph.src, err)
		}
		if len(check) > 0 {
			if err := report.Compare(float, g, check, labels); err != nil {
				return fmt.Errorf("%s: %w", f.graph.src, err)
			}
		}
		if !f.quiet {
			fmt.Fprint(log, report.Text())
		}
	}
	return f.write(g, report)
}

// read is the model, simplified, with its batch norms in the weights before them.
func (f *quantizeFlags) read() (*ir.Graph, error) {
	g, err := f.graph.read()
	if err != nil {
		return nil, err
	}
	for _, pass := range []func(*ir.Graph) error{simplify.RunWhole, foldBatchNorm, simplify.RunWhole} {
		if err := pass(g); err != nil {
			return nil, fmt.Errorf("%s: %w", f.graph.src, err)
		}
	}
	return g, nil
}

func foldBatchNorm(g *ir.Graph) error {
	_, err := bnfold.Run(g)
	return err
}

func (f *quantizeFlags) readSettings() (quant.Settings, error) {
	if f.settings == "" {
		return quant.Defaults(), nil
	}
	text, err := files.Read(f.settings)
	if err != nil {
		return quant.Settings{}, err
	}
	s, err := quant.Parse(text)
	if err != nil {
		return s, fmt.Errorf("%s: quantization settings: %w", f.settings, err)
	}
	return s, nil
}

// checkCalibration refuses inputs that weights of so many bits have no use for, and that they miss.
func (f *quantizeFlags) checkCalibration(weightBits int) error {
	switch {
	case weightBits == 8 && f.calibration == "":
		return errors.New("--calibration is missing: scales of activations are chosen from its inputs, a safetensors file; add it, or set weight_bits to 4, which needs no scales of activations")
	case weightBits == 4 && f.calibration != "":
		return fmt.Errorf("--calibration=%s: activations stay float with weights of 4 bits; leave it out, and use --check=FILE for the report's inputs", f.calibration)
	case weightBits == 4 && f.alone > 0 && f.check == "":
		return fmt.Errorf("--alone=%d: there are no inputs; add --check", f.alone)
	}
	return nil
}

// inputs are those that scales are chosen by, or layers quantized alone, and those that the networks are compared on, with labels if there are some.
func (f *quantizeFlags) inputs(g *ir.Graph) (calibration, check []samples.Input, labels []int64, err error) {
	if f.calibration != "" {
		if calibration, labels, err = readSamples(g, f.calibration); err != nil {
			return nil, nil, nil, err
		}
	}
	if f.check == "" {
		return calibration, calibration, labels, nil
	}
	check, labels, err = readSamples(g, f.check)
	if f.calibration == "" {
		calibration = check
	}
	return calibration, check, labels, err
}

// readSamples are a file's inputs, and its labels if it has some.
func readSamples(g *ir.Graph, path string) ([]samples.Input, []int64, error) {
	file, err := openFile(path, "")
	if err != nil {
		return nil, nil, err
	}
	inputs, labels, err := samples.Labelled(g, file)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", path, err)
	}
	return inputs, labels, nil
}

// write writes all outputs, or none.
func (f *quantizeFlags) write(g *ir.Graph, report *quant.Report) error {
	out := files.New()
	defer out.Close()
	model, err := out.Create(f.graph.out)
	if err != nil {
		return err
	}
	if f.outExternal == "" {
		err = onnx.Write(model, g)
	} else {
		err = f.writeExternal(model, g, out)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", f.graph.src, err)
	}
	if f.outReport != "" {
		text, err := report.JSON()
		if err != nil {
			return err
		}
		out.Add(f.outReport, text)
	}
	return out.Commit()
}

func (f *quantizeFlags) writeExternal(model io.Writer, g *ir.Graph, out *files.Set) error {
	to, err := readLocated("out-external", []string{f.outExternal})
	if err != nil {
		return err
	}
	data, err := out.Create(to[0].path)
	if err != nil {
		return err
	}
	return onnx.WriteExternal(model, data, to[0].location, g)
}

// Package fill adds weights to an ONNX model whose own were removed. A formula computes the
// numbers from the model's description of each tensor, so they are the same on every machine.
package fill

import (
	"fmt"
	"path/filepath"

	"rules_dnn/gen/base/files"
	"rules_dnn/gen/onnx"
)

// File writes the model in with weights to out. If data is a path in the folder of out, all new
// weights go to that file. If data is empty, weights of more than 1 GB go to a file named like out
// with ".data" after it.
func File(in, out, data string) error {
	always := data != ""
	if !always {
		data = out + ".data"
	}
	if filepath.Dir(data) != filepath.Dir(out) {
		return fmt.Errorf("%s is not in the folder of %s: a model finds its data beside it", data, out)
	}
	var plan files.Plan
	plan.Input(in, in)
	plan.Output(out, out)
	plan.Output(data, data)
	if err := plan.Check(); err != nil {
		return err
	}
	model, err := files.Read(in)
	if err != nil {
		return err
	}
	filled, err := onnx.Fill(model, filepath.Base(data), always)
	if err != nil {
		return fmt.Errorf("%s: %w", in, err)
	}
	return write(filled, out, data, always)
}

// write writes the model, and its data where it has any or they are expected.
func write(filled *onnx.Filled, out, data string, always bool) error {
	set := files.New()
	defer set.Close()
	if filled.External || always {
		f, err := set.Create(data)
		if err != nil {
			return err
		}
		if err := filled.WriteData(f); err != nil {
			return fmt.Errorf("writing %s: %w", data, err)
		}
	}
	set.Add(out, filled.Model)
	return set.Commit()
}

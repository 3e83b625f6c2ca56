package trainer

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/elems"
	"rules_dnn/gen/ir/safetensors"
)

// Tensor is named numbers.
type Tensor struct {
	Name  string
	Shape []int64
	Data  []float32
}

// WriteFile writes a file as a whole or not at all.
func WriteFile(path string, write func(io.Writer) error) error {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*.part")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	if err = write(f); err == nil {
		err = f.Chmod(0o644) // what is temporary is its owner's alone
	}
	if err == nil {
		err = f.Sync()
	}
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

func writeBytes(path string, b []byte) error {
	return WriteFile(path, func(w io.Writer) error {
		_, err := w.Write(b)
		return err
	})
}

// WriteTensors writes numbers as safetensors.
func WriteTensors(path string, tensors []Tensor) error {
	f := &safetensors.File{}
	for _, x := range tensors {
		t := ir.NewTensor(ir.F32, x.Shape...)
		copy(elems.View(ir.F32, t.Data).F32, x.Data)
		f.Tensors = append(f.Tensors, safetensors.Tensor{Name: x.Name, Tensor: t})
	}
	return WriteFile(path, func(w io.Writer) error { return safetensors.Write(w, f) })
}

// ReadTensors reads numbers; what is no f32 is refused.
func ReadTensors(path string) ([]Tensor, error) {
	f, err := open(path)
	if err != nil {
		return nil, err
	}
	var out []Tensor
	for _, t := range f.Tensors {
		if t.Type != ir.F32 {
			return nil, fmt.Errorf("%s: tensor %s has type %s; want f32", filepath.Base(path), ir.Show(t.Name), t.Type)
		}
		x := ir.NewTensor(ir.F32, t.Shape...)
		raw, err := t.Bytes()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", filepath.Base(path), err)
		}
		copy(x.Data, raw)
		out = append(out, Tensor{t.Name, t.Shape, elems.View(ir.F32, x.Data).F32})
	}
	return out, nil
}

// open reads a file of tensors into memory: the file may be replaced.
func open(path string) (*safetensors.File, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	f, err := safetensors.Read(memory(text))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Base(path), err)
	}
	return f, nil
}

// writeMasks writes which elements are kept.
func writeMasks(path string, like []Tensor, masks map[string][]bool) error {
	f := &safetensors.File{}
	for _, x := range like {
		mask, ok := masks[x.Name]
		if !ok {
			continue
		}
		t := ir.NewTensor(ir.U8, x.Shape...)
		for i, kept := range mask {
			if kept {
				t.Data[i] = 1
			}
		}
		f.Tensors = append(f.Tensors, safetensors.Tensor{Name: x.Name, Tensor: t})
	}
	return WriteFile(path, func(w io.Writer) error { return safetensors.Write(w, f) })
}

func readMasks(path string) (map[string][]bool, error) {
	f, err := open(path)
	if err != nil {
		return nil, err
	}
	out := map[string][]bool{}
	for _, t := range f.Tensors {
		if t.Type != ir.U8 {
			return nil, fmt.Errorf("%s: mask %s has type %s; want u8", filepath.Base(path), ir.Show(t.Name), t.Type)
		}
		raw, err := t.Bytes()
		if err != nil {
			return nil, err
		}
		mask := make([]bool, len(raw))
		for i, x := range raw {
			mask[i] = x != 0
		}
		out[t.Name] = mask
	}
	return out, nil
}

func digest(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return !errors.Is(err, fs.ErrNotExist)
}

// sameTensors refuses tensors that are not those of a network: by name, shape, and numbers that are finite.
func sameTensors(got, want []Tensor) ([]Tensor, error) {
	out := make([]Tensor, len(want))
	for k, w := range want {
		i := slices.IndexFunc(got, func(t Tensor) bool { return t.Name == w.Name })
		if i < 0 {
			return nil, fmt.Errorf("weights %s are missing", ir.Show(w.Name))
		}
		if !slices.Equal(got[i].Shape, w.Shape) {
			return nil, fmt.Errorf("weights %s have shape %v; the network's have %v", ir.Show(w.Name), got[i].Shape, w.Shape)
		}
		for at, x := range got[i].Data {
			if v := float64(x); math.IsNaN(v) || math.IsInf(v, 0) {
				return nil, fmt.Errorf("element %d of weights %s is %v; a smaller learning rate may help", at, ir.Show(w.Name), v)
			}
		}
		out[k] = got[i]
	}
	for _, t := range got {
		if !slices.ContainsFunc(want, func(w Tensor) bool { return w.Name == t.Name }) {
			return nil, fmt.Errorf("tensor %s is not one of the network's weights", ir.Show(t.Name))
		}
	}
	return out, nil
}

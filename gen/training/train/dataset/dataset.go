// Package dataset reads the files of labelled images that the built-in trainer knows. It fetches nothing: the files are
// there.
package dataset

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"rules_dnn/gen/base/jsonfile"
	"rules_dnn/gen/training/train"
)

// Spec says which images, as JSON.
type Spec struct {
	// Kind is "cifar10", whose files are those of the binary version (a byte of class, 3072 of pixels), or "mnist", whose
	// files are pairs, images before labels (the idx format, gzip or not).
	Kind  string   `json:"kind"`
	Train []string `json:"train"`
	Test  []string `json:"test"`
	// Mean and Deviation are subtracted from and divided into pixels from 0 to 1, by channel.
	Mean      []float32 `json:"mean"`
	Deviation []float32 `json:"deviation"`
	// Most is how many images to take of each set; 0: all.
	Most int `json:"most"`
}

// Sets are the images to train with and those to test with.
type Sets struct{ Train, Test *train.Images }

// Open reads the sets. Paths are absolute, or relative to the folder.
func Open(spec []byte, folder string) (*Sets, error) {
	var s Spec
	if err := jsonfile.Parse(spec, &s); err != nil {
		return nil, fmt.Errorf("data: %w", err)
	}
	read := map[string]func([][]byte) (*train.Images, error){"cifar10": cifar, "mnist": mnist}[s.Kind]
	if read == nil {
		return nil, fmt.Errorf("data: kind is %q; want \"cifar10\" or \"mnist\"", s.Kind)
	}
	out := &Sets{}
	for _, set := range []struct {
		name  string
		files []string
		to    **train.Images
	}{{"train", s.Train, &out.Train}, {"test", s.Test, &out.Test}} {
		images, err := s.set(set.files, folder, read)
		if err != nil {
			return nil, fmt.Errorf("data: %s: %w", set.name, err)
		}
		*set.to = images
	}
	return out, nil
}

func (s *Spec) set(files []string, folder string, read func([][]byte) (*train.Images, error)) (*train.Images, error) {
	if len(files) == 0 {
		return nil, fmt.Errorf("no files are named")
	}
	var contents [][]byte
	for _, name := range files {
		if !filepath.IsAbs(name) {
			name = filepath.Join(folder, name)
		}
		b, err := plain(name)
		if err != nil {
			return nil, err
		}
		contents = append(contents, b)
	}
	images, err := read(contents)
	if err != nil {
		return nil, err
	}
	channels := int(images.Shape[0])
	if len(s.Mean) != len(s.Deviation) || len(s.Mean) != 0 && len(s.Mean) != channels {
		return nil, fmt.Errorf("%d means and %d deviations for images of %d channels", len(s.Mean), len(s.Deviation), channels)
	}
	images.Mean, images.Deviation = s.Mean, s.Deviation
	if s.Most > 0 && s.Most < images.Len() {
		images.Classes = images.Classes[:s.Most]
	}
	return images, nil
}

// plain is a file's bytes, of a compressed one those that it was made of.
func plain(name string) ([]byte, error) {
	b, err := os.ReadFile(name)
	if err != nil || !bytes.HasPrefix(b, []byte{0x1f, 0x8b}) {
		return b, err
	}
	z, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Base(name), err)
	}
	return io.ReadAll(z)
}

const (
	cifarPixels = 3 * 32 * 32
	cifarRow    = 1 + cifarPixels
)

// cifar reads rows of a class and pixels.
func cifar(files [][]byte) (*train.Images, error) {
	out := &train.Images{Shape: []int64{3, 32, 32}}
	for _, b := range files {
		if len(b) == 0 || len(b)%cifarRow != 0 {
			return nil, fmt.Errorf("a file of %d bytes; CIFAR-10's binary files have a multiple of %d", len(b), cifarRow)
		}
		for ; len(b) > 0; b = b[cifarRow:] {
			out.Classes = append(out.Classes, b[0])
			out.Pixels = append(out.Pixels, b[1:cifarRow]...)
		}
	}
	return out, nil
}

// Heads of idx files: bytes in three, or one, dimensions.
const idxImages, idxLabels = 0x803, 0x801

// mnist reads pairs of files of images and labels.
func mnist(files [][]byte) (*train.Images, error) {
	if len(files)%2 != 0 {
		return nil, fmt.Errorf("%d files; MNIST's are pairs, images before labels", len(files))
	}
	out := &train.Images{}
	for i := 0; i < len(files); i += 2 {
		images, labels := files[i], files[i+1]
		if len(images) < 16 || len(labels) < 8 || word(images, 0) != idxImages || word(labels, 0) != idxLabels {
			return nil, fmt.Errorf("files %d and %d are not a pair of MNIST's images and labels", i, i+1)
		}
		n, rows, columns := int64(word(images, 1)), int64(word(images, 2)), int64(word(images, 3))
		if rows > 1<<12 || columns > 1<<12 || int64(len(images)) != 16+n*rows*columns || int64(len(labels)) != 8+n || int64(word(labels, 1)) != n {
			return nil, fmt.Errorf("files %d and %d: %d images of %d x %d do not match their sizes, %d and %d bytes", i, i+1, n, rows, columns, len(images), len(labels))
		}
		out.Shape = []int64{1, rows, columns}
		out.Pixels, out.Classes = append(out.Pixels, images[16:]...), append(out.Classes, labels[8:]...)
	}
	return out, nil
}

func word(b []byte, i int) uint32 { return binary.BigEndian.Uint32(b[4*i:]) }

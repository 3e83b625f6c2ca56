package dataset

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func save(t *testing.T, folder, name string, b []byte) string {
	require.NoError(t, os.WriteFile(filepath.Join(folder, name), b, 0o666))
	return name
}

func zipped(b []byte) []byte {
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	_, _ = z.Write(b)
	_ = z.Close()
	return out.Bytes()
}

func idx(words ...uint32) []byte {
	var out []byte
	for _, w := range words {
		out = binary.BigEndian.AppendUint32(out, w)
	}
	return out
}

func TestOpen(t *testing.T) {
	folder := t.TempDir()
	row := append([]byte{7}, make([]byte, cifarPixels)...)
	row[1], row[1+2*1024+5] = 255, 51
	save(t, folder, "batch.bin", append(row, row...))
	s, err := Open([]byte(`{"kind": "cifar10", "train": ["batch.bin"], "test": ["batch.bin", "batch.bin"], "mean": [0.5, 0, 0], "deviation": [0.25, 1, 1], "most": 3}`), folder)
	require.NoError(t, err)
	assert.Equal(t, 2, s.Train.Len())
	assert.Equal(t, 3, s.Test.Len())
	image := make([]float32, cifarPixels)
	assert.Equal(t, 7, s.Test.Image(2, image))
	assert.Equal(t, []float32{2, -2}, image[:2])
	assert.Equal(t, float32(0.2), image[2*1024+5])

	save(t, folder, "images", zipped(append(idx(idxImages, 2, 1, 2), 0, 255, 51, 0)))
	save(t, folder, "labels", append(idx(idxLabels, 2), 3, 4))
	s, err = Open([]byte(`{"kind": "mnist", "train": ["images", "labels"], "test": ["images", "labels"]}`), folder)
	require.NoError(t, err)
	assert.Equal(t, 4, s.Train.Image(1, image[:2]))
	assert.Equal(t, []float32{0.2, 0}, image[:2])
	assert.Equal(t, []int64{1, 1, 2}, s.Train.Shape)
}

func TestBroken(t *testing.T) {
	folder := t.TempDir()
	save(t, folder, "short", make([]byte, 100))
	save(t, folder, "images", append(idx(idxImages, 2, 1, 2), 0, 255, 51))
	save(t, folder, "labels", append(idx(idxLabels, 2), 3, 4))
	save(t, folder, "bin", make([]byte, cifarRow))
	for spec, want := range map[string]string{
		`{"kind": "other"}`:                                               `data: kind is "other"; want "cifar10" or "mnist"`,
		`{"kind": "mnist", "trains": []}`:                                 `unknown field "trains"`,
		`{"kind": "cifar10", "train": []}`:                                "data: train: no files are named",
		`{"kind": "cifar10", "train": ["none"]}`:                          "none",
		`{"kind": "cifar10", "train": ["short"]}`:                         "a file of 100 bytes; CIFAR-10's binary files have a multiple of 3073",
		`{"kind": "mnist", "train": ["images"]}`:                          "1 files; MNIST's are pairs, images before labels",
		`{"kind": "mnist", "train": ["labels", "images"]}`:                "files 0 and 1 are not a pair of MNIST's images and labels",
		`{"kind": "mnist", "train": ["images", "labels"]}`:                "files 0 and 1: 2 images of 1 x 2 do not match their sizes, 19 and 10 bytes",
		`{"kind": "cifar10", "train": ["bin"], "mean": [1]}`:              "1 means and 0 deviations for images of 3 channels",
		`{"kind": "cifar10", "train": ["bin"], "test": ["bin", "short"]}`: "data: test: a file of 100 bytes",
	} {
		_, err := Open([]byte(spec), folder)
		assert.ErrorContains(t, err, want, fmt.Sprint(spec))
	}
}

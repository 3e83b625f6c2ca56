package onnx

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protowire"

	"rules_dnn/gen/ir"
)

const pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\nsize 102400\n"

// zipped returns an archive that has the files.
func zipped(t *testing.T, names ...string) string {
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for _, name := range names {
		f, err := w.Create(name)
		require.NoError(t, err)
		_, err = f.Write([]byte("contents"))
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	return out.String()
}

func gzipped(t *testing.T, text string) string {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, err := w.Write([]byte(text))
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return out.String()
}

func message(fields ...string) string {
	var out []byte
	for i, text := range fields {
		out = protowire.AppendString(protowire.AppendTag(out, protowire.Number(i+1), protowire.BytesType), text)
	}
	return string(out)
}

// TestFormats names what people give in place of a model, and what to do about it.
func TestFormats(t *testing.T) {
	pickle := "\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19.\x80\x02M\xe9\x03."
	for _, c := range []struct{ name, text, want, cure string }{
		{"nothing", "", "the file is empty", "export it again"},
		{"LFS", pointer, "a Git LFS pointer", "git lfs pull"},
		{"HTML", "<!DOCTYPE html>\n<html lang=\"en\"><body>Not found</body></html>", "a page of HTML", "download it again"},
		{"HTML, as some write it", "\xef\xbb\xbf\r\n  <HTML><HEAD></HEAD></HTML>", "a page of HTML", "download it again"},
		{"XML", "<?xml version=\"1.0\"?><Error><Code>AccessDenied</Code></Error>", "XML", "download it again"},
		{"OpenVINO", "<?xml version=\"1.0\"?>\n<net name=\"m\" version=\"11\"></net>", "OpenVINO", "the ONNX model from which it was converted"},
		{"ONNX's text", "<\n  ir_version: 8,\n  opset_import: [\"\" : 18]\n>\nagraph (float[N] x) => (float[N] y) { y = Relu(x) }", "as text,", "onnx.parser"},
		{"text of protobuf", "ir_version: 8\ngraph {\n}\n", "text of protobuf", "text_format"},
		{"JSON of a model", "{\n  \"irVersion\": \"8\", \"graph\": {}\n}", "an ONNX model as JSON", "json_format"},
		{"JSON of an error", "{\"message\":\"Not Found\"}", "JSON", "download it again"},
		{"PyTorch", zipped(t, "model/data.pkl", "model/version"), "a checkpoint of PyTorch", "torch.onnx.export"},
		{"Keras", zipped(t, "metadata.json", "config.json"), "a model of Keras", "tf2onnx"},
		{"a zip", zipped(t, "net.onnx"), "a zip archive", "unpack it"},
		{"an old checkpoint", pickle, "a pickle of Python", "torch.onnx.export"},
		{"a pickle of protocol 4", "\x80\x04\x95\x10\x00\x00\x00\x00\x00\x00\x00}\x94.", "a pickle of Python", "torch.onnx.export"},
		{"TFLite", "\x1c\x00\x00\x00TFL3\x14\x00\x20\x00", "LiteRT", "--tflite"},
		{"ORT", "\x1c\x00\x00\x00ORTM\x14\x00\x20\x00", ".ort", "the ONNX model from which it was converted"},
		{"HDF5", "\x89HDF\r\n\x1a\n\x00\x00\x00\x00", "HDF5", "tf2onnx"},
		{"SavedModel", "\x08\x01" + string(protowire.AppendString(protowire.AppendTag(nil, 2, protowire.BytesType), message(strings.Repeat("tags", 60), "graph"))), "a SavedModel", "--saved-model"},
		{"GraphDef", message(message("input", "Placeholder")), "a graph of TensorFlow", "--graphdef"},
		{"safetensors", string(binary.LittleEndian.AppendUint64(nil, 16)) + `{"w":{"dtype":1}}` + "data", "safetensors", "export the model to ONNX"},
		{"GGUF", "GGUF\x03\x00\x00\x00", "GGUF", "has weights but no network"},
		{"NumPy", "\x93NUMPY\x01\x00v\x00{'descr'", "NumPy", "not a network"},
		{"gzip", gzipped(t, "model"), "compressed by gzip", "gunzip"},
		{"bzip2", "BZh91AY&SY\x00", "compressed by bzip2", "bunzip2"},
		{"xz", "\xfd7zXZ\x00\x00", "compressed by xz", "unxz"},
		{"zstd", "\x28\xb5\x2f\xfd\x00", "compressed by zstd", "unzstd"},
		{"tar", strings.Repeat("n", 257) + "ustar\x0000", "a tar archive", "unpack"},
		{"zeros", strings.Repeat("\x00", 5000), "zeros", "is incomplete"},
	} {
		f := &ir.File{R: strings.NewReader(c.text), Size: int64(len(c.text))}
		_, err := Read(f, nil, Options{})
		if assert.Error(t, err, c.name) {
			assert.Contains(t, err.Error(), "reading ONNX model: the file is ", c.name)
			assert.Contains(t, err.Error(), c.want, c.name)
			assert.Contains(t, err.Error(), c.cure, c.name)
		}
		_, err = ExternalLocations(f)
		assert.ErrorContains(t, err, c.want, c.name)
		_, err = Fill([]byte(c.text), "", false)
		assert.ErrorContains(t, err, c.want, c.name)
	}
}

// TestFormatsOfModels takes no model for something else: formats count where reading failed. Cut off, a model has lost its end.
func TestFormatsOfModels(t *testing.T) {
	model, err := os.ReadFile("../../app/resnet20_cifar10_pruned.onnx")
	if os.IsNotExist(err) {
		t.Skip("Bazel's test has no such model")
	}
	require.NoError(t, err)
	for cut := 1; cut < len(model); cut += 1 + len(model)/200 {
		_, err := Read(&ir.File{R: bytes.NewReader(model[:cut]), Size: int64(cut)}, nil, Options{})
		require.Error(t, err, cut)
		assert.NotContains(t, err.Error(), "and no ONNX model", cut)
		if !strings.Contains(err.Error(), "holds no graph") {
			assert.Contains(t, err.Error(), "it is cut off after", cut)
		}
	}
}

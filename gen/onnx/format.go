package onnx

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"regexp"

	"rules_dnn/gen/ir"
)

// formatWindow is how many bytes of a file tell its format.
const formatWindow = 4096

// format is a kind of file that people have in place of an ONNX model.
type format struct {
	name string
	// cure says what to do.
	cure string
	// is reports whether a file begins so; size is the whole file's.
	is func(head []byte, size int64) bool
}

const (
	exportTorch = "export the model from PyTorch, torch.onnx.export(model, inputs, \"model.onnx\")"
	exportTF    = "convert it with tf2onnx, python -m tf2onnx.convert --%s FILE --output model.onnx"
	unpack      = "unpack it and name the .onnx file in it"
	fetch       = "download it again, and read the server's answer"
)

// formats are in the order in which they are tried: the more a format says of itself, the earlier.
var formats = []format{
	{"empty", "download or export it again; if a build generates it, read that build's output", func(_ []byte, size int64) bool { return size == 0 }},
	{"a Git LFS pointer", "run 'git lfs install' and 'git lfs pull' in its repository, or download the file that it points to", begins("version https://git-lfs")},
	{"a page of HTML", "it may be an error or a page about the model: " + fetch, matches(`(?i)^\s*<(!doctype html|html|head|body)`)},
	{"a model of OpenVINO (XML)", "use the ONNX model from which it was converted", matches(`^\s*(<\?xml[^>]*>\s*)?<net\b`)},
	{"XML", "it may be an error: " + fetch, begins("<?xml")},
	{"an ONNX model as text", "write it in the binary form, onnx.save(onnx.parser.parse_model(text), \"model.onnx\")", matches(`^\s*(#[^\n]*\s+)*<\s*(ir_version|opset_import)\s*:`)},
	{"an ONNX model as text of protobuf", "write it in the binary form, onnx.save(google.protobuf.text_format.Parse(text, onnx.ModelProto()), \"model.onnx\")", matches(`^\s*(ir_version|producer_name|opset_import|graph)\s*[:{]`)},
	{"an ONNX model as JSON", "write it in the binary form, onnx.save(google.protobuf.json_format.Parse(text, onnx.ModelProto()), \"model.onnx\")", matches(`(?s)^\s*\{\s*"(irVersion|opsetImport|producerName|graph)"\s*:`)},
	{"JSON", "it may be an error or the model's configuration: " + fetch, matches(`^\s*\{\s*["}]`)},
	{"a checkpoint of PyTorch (a zip archive)", exportTorch, holds("PK\x03\x04", "data.pkl")},
	{"a model of Keras (a zip archive)", fmt.Sprintf(exportTF, "keras"), holds("PK\x03\x04", "metadata.json", "config.json", "model.weights.h5")},
	{"a zip archive", unpack, begins("PK\x03\x04", "PK\x05\x06")},
	{"a pickle of Python, as older versions of PyTorch save checkpoints", exportTorch, matches(`(?s)^\x80[\x02-\x05](\x8a|\x95|c|\}|\]|q|K|X|\()`)},
	{"a model of LiteRT (TensorFlow Lite)", fmt.Sprintf(exportTF, "tflite"), at(4, "TFL3")},
	{"a model of ONNX Runtime's own format (.ort)", "use the ONNX model from which it was converted", at(4, "ORTM")},
	{"an HDF5 file, as Keras writes (.h5)", fmt.Sprintf(exportTF, "keras"), begins("\x89HDF\r\n\x1a\n")},
	{"a SavedModel of TensorFlow", "convert its folder with tf2onnx, python -m tf2onnx.convert --saved-model FOLDER --output model.onnx", isSavedModel},
	{"a graph of TensorFlow (.pb)", fmt.Sprintf(exportTF, "graphdef") + " --inputs NAMES --outputs NAMES", isGraphDef},
	{"a file of safetensors", "it has weights but no network: export the model to ONNX, with 'optimum-cli export onnx' for a Hugging Face model", isSafetensors},
	{"a file of GGUF", "it has weights but no network: export the original model to ONNX", begins("GGUF")},
	{"an array of NumPy", "it is data, not a network", begins("\x93NUMPY")},
	{"a plan of TensorRT", "use the ONNX model from which it was converted", begins("ptrt", "ftrt")},
	{"compressed by gzip", "gunzip it; from a .tar.gz, extract the .onnx file", begins("\x1f\x8b")},
	{"compressed by bzip2", "bunzip2 it", matches(`^BZh[1-9]1AY&SY`)},
	{"compressed by xz", "unxz it", begins("\xfd7zXZ\x00")},
	{"compressed by zstd", "unzstd it", begins("\x28\xb5\x2f\xfd")},
	{"a 7z archive", unpack, begins("7z\xbc\xaf\x27\x1c")},
	{"a tar archive", unpack, at(257, "ustar")},
	{"an encrypted or signed PEM file", "use the model itself", begins("-----BEGIN ")},
	{"zeros from its beginning", "its download or copy is incomplete: fetch it again", func(head []byte, _ int64) bool { return len(bytes.Trim(head, "\x00")) == 0 }},
}

func begins(texts ...string) func([]byte, int64) bool {
	return func(head []byte, _ int64) bool {
		for _, text := range texts {
			if bytes.HasPrefix(head, []byte(text)) {
				return true
			}
		}
		return false
	}
}

func at(offset int, text string) func([]byte, int64) bool {
	return func(head []byte, _ int64) bool {
		return len(head) >= offset && bytes.HasPrefix(head[offset:], []byte(text))
	}
}

// holds reports whether a file begins with a text and has one of the others near.
func holds(text string, others ...string) func([]byte, int64) bool {
	return func(head []byte, _ int64) bool {
		for _, other := range others {
			if bytes.HasPrefix(head, []byte(text)) && bytes.Contains(head, []byte(other)) {
				return true
			}
		}
		return false
	}
}

func matches(pattern string) func([]byte, int64) bool {
	// Bytes, not runes: each is the rune of its number.
	compiled := regexp.MustCompile(pattern)
	return func(head []byte, _ int64) bool {
		runes := make([]rune, len(head))
		for i, b := range bytes.TrimPrefix(head, []byte("\xef\xbb\xbf")) {
			runes[i] = rune(b)
		}
		return compiled.MatchString(string(runes))
	}
}

// isSafetensors reports whether a length of 64 bits comes first, and then as much JSON.
func isSafetensors(head []byte, size int64) bool {
	return len(head) > 9 && head[8] == '{' && binary.LittleEndian.Uint64(head) <= uint64(size-8)
}

// isSavedModel reports whether the schema's version comes first, as a varint, and a message that has messages then; the producer's
// name would be there in an ONNX model.
func isSavedModel(head []byte, _ int64) bool {
	return len(head) > 8 && head[0] == 0x08 && head[1] == 1 && head[2] == 0x12 && bytes.IndexByte(head[3:8], 0x0a) > 0
}

// isGraphDef reports whether a node comes first: a message that begins with a name, behind which the operator follows.
func isGraphDef(head []byte, _ int64) bool {
	i := 1
	for i < len(head) && i < 6 && head[i] >= 0x80 {
		i++
	}
	if len(head) < i+4 || head[0] != 0x0a || head[i+1] != 0x0a {
		return false
	}
	operator := i + 3 + int(head[i+2])
	return operator+2 < len(head) && head[operator] == 0x12 && head[operator+2] >= 'A' && head[operator+2] <= 'Z'
}

// formatOf returns the format of a file that is no ONNX model, or nil.
func formatOf(f *ir.File) *format {
	head := make([]byte, min(f.Size, formatWindow))
	if len(head) > 0 {
		if n, err := f.R.ReadAt(head, 0); n < len(head) && err != nil {
			return nil
		}
	}
	for i := range formats {
		if formats[i].is(head, f.Size) {
			return &formats[i]
		}
	}
	return nil
}

// explain says what the file is, where reading it as a model failed: another format, or a model that was cut off.
func explain(f *ir.File, err error) error {
	if x := formatOf(f); x != nil {
		return fmt.Errorf("the file is %s, not an ONNX model: %s", x.name, x.cure)
	}
	if errors.Is(err, errTruncated) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("%w (is the file an ONNX model? If so, it is cut off after %d bytes; download or export it again)", err, f.Size)
	}
	return fmt.Errorf("%w (is the file an ONNX model?)", err)
}

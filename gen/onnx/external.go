package onnx

import (
	"errors"
	"fmt"
	"path"
	"sort"
	"strconv"
	"strings"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/onnx/onnxpb"
)

// randomLocation marks tensors of graphs whose weights were taken out.
const randomLocation = "random"

// CleanLocation checks a location of external data and returns its canonical form, which names the
// file in graphs: "./w.bin" and "w.bin" are one file. Whatever reads or writes a location calls it.
func CleanLocation(loc string) (string, error) {
	reason := ""
	switch {
	case loc == "":
		return "", fmt.Errorf("the external data's location is missing")
	case strings.HasPrefix(loc, "/") || len(loc) > 1 && loc[1] == ':':
		reason = "it is not a path relative to the model"
	case strings.ContainsAny(loc, "\\\x00"):
		reason = "it contains a backslash or a zero byte"
	}
	for _, part := range strings.Split(loc, "/") {
		if part == ".." {
			reason = "it leaves the model's folder"
		}
	}
	if clean := path.Clean(loc); reason == "" && clean != "." {
		return clean, nil
	}
	if reason == "" {
		reason = "it is a folder"
	}
	return "", fmt.Errorf("external data at %s is refused: %s", show(loc), reason)
}

// external finds the elements of a tensor in a declared file.
func (im *importer) external(p *onnxpb.TensorProto, typ ir.DType, n int64) (*ir.Source, error) {
	if p.RawData != nil {
		return nil, fmt.Errorf("elements are both in the model and in external data")
	}
	d := map[string]string{}
	for _, e := range p.ExternalData {
		if _, ok := d[e.GetKey()]; ok {
			return nil, fmt.Errorf("external data has the entry %s twice", show(e.GetKey()))
		}
		d[e.GetKey()] = e.GetValue()
	}
	size := n * int64(typ.Size())
	if im.isRandom(d) {
		return im.random(d, typ, size)
	}
	loc, err := CleanLocation(d["location"])
	if err != nil {
		return nil, err
	}
	offset, err := entry(d, "offset", 0)
	if err != nil {
		return nil, err
	}
	length, err := entry(d, "length", size)
	if err != nil {
		return nil, err
	}
	if length != size {
		return nil, fmt.Errorf("external data at %s has %d bytes; the tensor needs %d", show(loc), length, size)
	}
	f, ok := im.externals[loc]
	if !ok {
		im.missing[loc]++
		return nil, errMissing
	}
	if offset > f.Size || size > f.Size-offset {
		beyond := fmt.Errorf("external data at %s, %d bytes from byte %d on, ends beyond the file (%d bytes)", show(loc), size, offset, f.Size)
		if x := formatOf(f); x != nil {
			return nil, fmt.Errorf("%w: it is %s, and has no elements: %s", beyond, x.name, x.cure)
		}
		return nil, beyond
	}
	return &ir.Source{File: f, Offset: offset, Length: size}, nil
}

// isRandom reports whether the tensor's weights were taken out: no file of that name is declared.
func (im *importer) isRandom(d map[string]string) bool {
	_, declared := im.externals[randomLocation]
	return takenOut(d) && !declared
}

func entry(d map[string]string, key string, def int64) (int64, error) {
	s, ok := d[key]
	if !ok {
		return def, nil
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("external data's %s is %s; want a number of bytes", key, show(s))
	}
	return n, nil
}

// errMissing reports that a file of external data is not declared; missingFiles reports all of them.
var errMissing = errors.New("external data is not declared")

// missingFiles reports the files of external data that the model needs and that are not declared.
func (im *importer) missingFiles() error {
	if len(im.missing) == 0 {
		return nil
	}
	var locs []string
	for loc, n := range im.missing {
		locs = append(locs, fmt.Sprintf("%s (%d tensors)", show(loc), n))
	}
	sort.Strings(locs)
	return fmt.Errorf("external data is not declared: %s; declare a file for each location", list(locs))
}

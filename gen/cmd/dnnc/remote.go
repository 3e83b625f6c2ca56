package main

import (
	"crypto/sha256"
	"fmt"
	"io"
	"slices"
	"strings"

	"rules_dnn/gen/base/files"
	"rules_dnn/gen/emit/cppapi"
)

// checkRemote refuses what does not go with a stub or a skeleton.
func (f *compileFlags) checkRemote() error {
	switch {
	case len(f.remote) > 0 && f.skeleton:
		return fmt.Errorf("--remote=%s and --skeleton: dnnc writes either a stub, which calls a skeleton, or a skeleton; leave out one of them", f.remote[0])
	case len(f.remote) > 0 && f.device != "":
		return fmt.Errorf("--remote=%s and --device=%s: a model runs on a DSP or on an OpenCL device; leave out one of them", f.remote[0], f.device)
	case f.observe && (len(f.remote) > 0 || f.skeleton):
		return fmt.Errorf("--observe: a DSP does not return the results of each block to the application; leave out --remote and --skeleton, to observe the model on the processor")
	case f.skeleton && f.mode != cppapi.Embed:
		return fmt.Errorf("--skeleton and --weights=%s: a skeleton library cannot open files of the application; want --weights=embed", f.weights)
	case f.skeleton && (f.device != "" || len(f.variants) > 0):
		return fmt.Errorf("--skeleton: the library runs on one chip only; leave out --device and --variant")
	}
	return nil
}

// addRemote tells the model of its other side, and whom that is to be of.
func (f *compileFlags) addRemote(m *cppapi.Model) error {
	if len(f.remote) == 0 && !f.skeleton {
		return nil
	}
	id, err := f.identity()
	if err != nil {
		return err
	}
	if f.skeleton {
		m.Skeleton = id
		return nil
	}
	m.Remote = &cppapi.Remote{Identity: *id, Versions: f.remote}
	return nil
}

// identity is the same of a stub and its skeletons, whose packed weights differ as their chips do: hashes of what they are made
// of, the graph and the files with its constants.
func (f *compileFlags) identity() (*cppapi.Identity, error) {
	var id cppapi.Identity
	if err := hashFiles(&id.Graph, f.graph); err != nil {
		return nil, err
	}
	paths := []string{f.consts, f.src}
	external, err := readLocated("external", f.external)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(external, func(a, b located) int { return strings.Compare(a.location, b.location) })
	for _, l := range external {
		paths = append(paths, l.path)
	}
	return &id, hashFiles(&id.Weights, paths...)
}

// hashFiles hashes the hashes of files, so that where one ends counts.
func hashFiles(out *[32]byte, paths ...string) error {
	all := sha256.New()
	for _, path := range paths {
		file, _, err := files.Open(path)
		if err != nil {
			return err
		}
		one := sha256.New()
		_, err = io.Copy(one, file)
		file.Close()
		if err != nil {
			return fmt.Errorf("reading %s: %w", path, err)
		}
		all.Write(one.Sum(nil))
	}
	all.Sum(out[:0])
	return nil
}

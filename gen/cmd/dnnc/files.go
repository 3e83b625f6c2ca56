package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"rules_dnn/gen/ir"
)

// openFile opens a file that constants are read from; it stays open while dnnc runs.
func openFile(path, name string) (*ir.File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if st.IsDir() {
		return nil, fmt.Errorf("%s is a folder, not a file", path)
	}
	return &ir.File{Name: name, R: f, Size: st.Size()}, nil
}

// openExternal opens the declared files of external data, given as LOCATION=PATH.
func openExternal(pairs []string) (map[string]*ir.File, error) {
	out := map[string]*ir.File{}
	for _, p := range pairs {
		location, path, ok := strings.Cut(p, "=")
		if !ok || location == "" {
			return nil, fmt.Errorf("--external=%s: want LOCATION=PATH", p)
		}
		if out[location] != nil {
			return nil, fmt.Errorf("--external=%s: the location is given twice", p)
		}
		f, err := openFile(path, location)
		if err != nil {
			return nil, err
		}
		out[location] = f
	}
	return out, nil
}

// outputs are files that appear together, once nothing can fail any more but writing them.
type outputs struct {
	files []output
	stale []stale
}

// stale are the files of a folder with such names that an earlier run wrote: they go unless
// they are written again.
type stale struct{ folder, prefix, suffix string }

type output struct {
	path string
	data []byte
	temp *os.File // holds the data where it is not nil
}

func (o *outputs) add(path string, data []byte) {
	o.files = append(o.files, output{path: path, data: data})
}

// create gives a file that is path's contents in the end.
func (o *outputs) create(path string) (*os.File, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path+".part", os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o666)
	if err != nil {
		return nil, err
	}
	o.files = append(o.files, output{path: path, temp: f})
	return f, nil
}

// commit writes all files, or none.
func (o *outputs) commit() error {
	for i, f := range o.files {
		if err := f.write(); err != nil {
			for _, done := range o.files[:i+1] {
				os.Remove(done.path)
			}
			return err
		}
	}
	return o.removeStale()
}

func (f output) write() error {
	if f.temp != nil {
		if err := f.temp.Close(); err != nil {
			return err
		}
		return os.Rename(f.temp.Name(), f.path)
	}
	if err := os.MkdirAll(filepath.Dir(f.path), 0o777); err != nil {
		return err
	}
	return os.WriteFile(f.path, f.data, 0o666)
}

// discard removes what create made and commit did not move.
func (o *outputs) discard() {
	for _, f := range o.files {
		if f.temp != nil {
			f.temp.Close()
			os.Remove(f.temp.Name())
		}
	}
}

func (o *outputs) removeStale() error {
	for _, s := range o.stale {
		entries, err := os.ReadDir(s.folder)
		if err != nil {
			return err
		}
		for _, e := range entries {
			path := filepath.Join(s.folder, e.Name())
			written := slices.ContainsFunc(o.files, func(f output) bool { return f.path == path })
			if written || !strings.HasPrefix(e.Name(), s.prefix) || !strings.HasSuffix(e.Name(), s.suffix) {
				continue
			}
			if err := os.Remove(path); err != nil {
				return err
			}
		}
	}
	return nil
}

package main

import (
	"fmt"
	"io"
	"path/filepath"

	"rules_dnn/gen/files"
)

// session holds the BUILD files of one run: several models may be in one package.
type session struct {
	o     *options
	files []*buildFile
}

func newSession(o *options) *session { return &session{o: o} }

// add brings the BUILD file of a model's package up to date, in memory.
func (s *session) add(name string) error {
	path, err := s.o.path(name)
	if err != nil {
		return err
	}
	m, err := readModel(path)
	if err != nil {
		return err
	}
	w, err := findWorkspace(path, s.o.workspace)
	if err != nil {
		return err
	}
	f, err := s.open(w, path)
	if err != nil {
		return err
	}
	e := &edit{o: s.o, w: w, f: f, m: m}
	if e.src, err = w.label(path, f.pkg); err != nil {
		return err
	}
	return e.run()
}

// open finds the BUILD file of the package that holds a file: a new one if there is none.
func (s *session) open(w *workspace, path string) (*buildFile, error) {
	dir := filepath.Dir(path)
	pkg, ok := w.packageOf(path)
	if ok && (!s.o.newPackage || hasFile(dir, buildFiles)) {
		dir = w.file(pkg, "")
	}
	rel, err := filepath.Rel(w.root, dir)
	if err != nil {
		return nil, err
	}
	if rel == "." {
		rel = ""
	}
	name := firstFile(dir, buildFiles)
	if name == "" {
		name = buildFiles[0]
	}
	for _, f := range s.files {
		if f.path == filepath.Join(dir, name) {
			return f, nil
		}
	}
	f, err := readBuildFile(filepath.Join(dir, name), filepath.ToSlash(filepath.Join(rel, name)), filepath.ToSlash(rel))
	if err == nil {
		s.files = append(s.files, f)
	}
	return f, err
}

// finish writes what changed, all of it or nothing, or prints it, and says what was done.
func (s *session) finish(out io.Writer) error {
	stale, changes := false, files.New()
	defer changes.Close()
	for _, f := range s.files {
		after := f.text()
		stale = stale || f.changed
		switch {
		case f.changed && (s.o.check || s.o.dryRun):
			fmt.Fprint(out, diff(f.name, string(f.before), string(after)))
		case f.changed:
			if err := changes.Edit(f.path, after); err != nil {
				return err
			}
		}
	}
	if err := changes.Commit(); err != nil {
		return err
	}
	for _, f := range s.files {
		for _, note := range f.notes {
			fmt.Fprintln(out, note)
		}
	}
	if s.o.check && stale {
		return errStale
	}
	return nil
}

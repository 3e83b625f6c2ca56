package main

import (
	"fmt"
	"io"
	"path"
	"path/filepath"
	"strings"

	"rules_dnn/gen/base/files"
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
	if err := s.left(w, f, m); err != nil {
		return err
	}
	e := &edit{o: s.o, w: w, f: f, m: m}
	if e.src, err = w.label(path, f.pkg); err != nil {
		return err
	}
	return e.run()
}

// open returns the BUILD file for a model's target: the one of the model's folder, or a new one.
// If the package above has files of the folder, which a new package would take from it, open
// returns that package's file.
func (s *session) open(w *workspace, file string) (*buildFile, error) {
	dir := filepath.Dir(file)
	if pkg, ok := w.packageOf(file); ok && !hasFile(dir, buildFiles) && !s.o.newPackage {
		above, err := s.file(w, w.file(pkg, ""))
		if err != nil {
			return nil, err
		}
		if e := (&edit{o: s.o, w: w, f: above}); s.o.name != "" && e.has(s.o.name) {
			return above, nil // the target that --name says is to compile this model
		}
		rel, err := filepath.Rel(w.file(pkg, ""), dir)
		if err != nil {
			return nil, err
		}
		if user := above.uses(filepath.ToSlash(rel)); user != "" {
			above.note("%s has %s, and would lose it if //%s were a package: the target goes there; --new-package makes one nevertheless",
				above.name, user, path.Join(above.pkg, filepath.ToSlash(rel)))
			return above, nil
		}
	}
	return s.file(w, dir)
}

// left refuses a model that a package above compiles as its own, since its folder was no package
// then: Bazel finds it there no more.
func (s *session) left(w *workspace, f *buildFile, m *model) error {
	for dir := filepath.Dir(f.path); dir != w.root; {
		dir = filepath.Dir(dir)
		if !hasFile(dir, buildFiles) {
			continue
		}
		above, err := s.file(w, dir)
		if err != nil {
			return err
		}
		e := &edit{o: s.o, w: w, f: above, m: m}
		for _, r := range e.rules() {
			if src := r.AttrString("src"); !isAbsolute(src) && e.isModel(src) {
				return fmt.Errorf("the src of %s is %s, and the package //%s holds that file now: write src = \"//%s:%s\" there and export the file in %s (exports_files), or remove the target from %s",
					above.label(r.Name()), src, f.pkg, f.pkg, filepath.Base(m.path), f.name, above.name)
			}
		}
	}
	return nil
}

// isAbsolute reports whether a label names its package.
func isAbsolute(label string) bool {
	return strings.HasPrefix(label, "//") || strings.HasPrefix(label, "@")
}

// file reads the BUILD file of a folder, once; it may be new.
func (s *session) file(w *workspace, dir string) (*buildFile, error) {
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

// finish writes all changes or none, or prints them, and reports what it did.
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

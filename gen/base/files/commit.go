package files

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// Commit writes what is not written yet and moves all files to their places. Where it fails, what was there before is there
// again. Sets of several processes that have a folder in common do so one after the other, so that the files are all of one of them.
//
// The last file of the set is away while the others move: where a process is killed just then, its absence shows that the others
// do not belong together.
func (s *Set) Commit() error {
	if err := s.finish(); err != nil {
		return err
	}
	unlock, err := lockFolders(s.allFolders())
	if err != nil {
		return err
	}
	defer unlock()
	busy.Lock()
	defer busy.Unlock()
	if err := s.checkPlaces(); err != nil {
		return err
	}
	var m moves
	if err := s.move(&m); err != nil {
		return errors.Join(err, m.undo())
	}
	m.forget()
	s.done = true
	return nil
}

// finish writes and closes all temporary files.
func (s *Set) finish() error {
	for _, f := range s.files {
		if f.temp == nil {
			temp, err := s.temp(filepath.Dir(f.path))
			if err != nil {
				return err
			}
			f.temp = temp
			if _, err := temp.Write(f.data); err != nil {
				return err
			}
		}
		if f.mode != 0 {
			if err := f.temp.Chmod(f.mode); err != nil {
				return err
			}
		}
		var err error
		if f.info, err = f.temp.Stat(); err != nil {
			return err
		}
		if err := f.temp.Close(); err != nil {
			return err
		}
	}
	return nil
}

func (s *Set) allFolders() []string {
	var list []string
	for _, f := range s.files {
		list = append(list, filepath.Dir(f.path))
	}
	for _, o := range s.owned {
		if _, err := os.Stat(o.folder); errors.Is(err, fs.ErrNotExist) {
			continue // nothing of an earlier set is there, nor of this one
		}
		list = append(list, o.folder)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// checkPlaces refuses two files of one path, and a path where no regular file is.
func (s *Set) checkPlaces() error {
	var plan Plan
	for _, f := range s.files {
		plan.Output(f.path, f.path)
	}
	return plan.Check()
}

// move moves the files to their places.
func (s *Set) move(m *moves) error {
	if len(s.files) == 0 {
		return nil
	}
	last := s.files[len(s.files)-1]
	if err := m.away(last.path); err != nil {
		return err
	}
	if err := s.moveStale(m); err != nil {
		return err
	}
	for _, f := range s.files {
		if f != last {
			if err := m.keep(f.path); err != nil {
				return err
			}
		}
		if err := os.Rename(f.temp.Name(), f.path); err != nil {
			return err
		}
		delete(temps, f.temp)
		m.placed(f)
	}
	return nil
}

// moveStale moves the owned files away that the set does not write.
func (s *Set) moveStale(m *moves) error {
	for _, o := range s.owned {
		entries, err := os.ReadDir(o.folder)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		for _, e := range entries {
			path := filepath.Join(o.folder, e.Name())
			written := slices.ContainsFunc(s.files, func(f *file) bool { return filepath.Clean(f.path) == path })
			if written || !o.names.MatchString(e.Name()) || !e.Type().IsRegular() {
				continue
			}
			if err := m.away(path); err != nil {
				return err
			}
		}
	}
	return nil
}

// moves are what to undo where a later one fails.
type moves struct{ list []move }

// move is what happened to a path.
type move struct {
	path   string
	before string      // where what was at path is now; empty: nothing was there
	after  fs.FileInfo // of what is at path now; nil: nothing of ours
}

// away moves what is at a path to another name.
func (m *moves) away(path string) error { return m.save(path, os.Rename) }

// keep gives what is at a path another name besides, so that there is something at the path all the time; where that cannot
// be, it is moved away.
func (m *moves) keep(path string) error {
	return m.save(path, func(from, to string) error {
		if st, err := os.Lstat(from); err == nil && st.Mode().IsRegular() && os.Link(from, to) == nil {
			return nil
		}
		return os.Rename(from, to)
	})
}

func (m *moves) save(path string, how func(from, to string) error) error {
	st, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		m.list = append(m.list, move{path: path})
		return nil
	}
	if err != nil {
		return err
	}
	if st.Mode()&fs.ModeSymlink == 0 {
		if err := regular(path, st.Mode()); err != nil {
			return err
		}
	}
	to := tempName(filepath.Dir(path))
	if err := how(path, to); err != nil {
		return err
	}
	m.list = append(m.list, move{path: path, before: to})
	return nil
}

// placed notes that a file is at its place.
func (m *moves) placed(f *file) {
	for i := range m.list {
		if m.list[i].path == f.path {
			m.list[i].after = f.info
		}
	}
}

// undo brings back what was there before, the last move first.
func (m *moves) undo() error {
	var errs []error
	for _, x := range slices.Backward(m.list) {
		if now, err := os.Lstat(x.path); x.after != nil && err == nil && os.SameFile(now, x.after) && x.before == "" {
			errs = append(errs, os.Remove(x.path))
		}
		if x.before == "" {
			continue
		}
		if err := os.Rename(x.before, x.path); err != nil {
			errs = append(errs, fmt.Errorf("%w; what was in %s is in %s now", err, x.path, x.before))
			continue
		}
		os.Remove(x.before) // another name of the same file: then it is not renamed
	}
	return errors.Join(errs...)
}

// forget takes away what was there before.
func (m *moves) forget() {
	for _, x := range m.list {
		if x.before != "" {
			os.Remove(x.before)
		}
	}
}

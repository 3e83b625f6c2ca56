package files

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sync"
)

// Set is a number of files that appear together. Each is written under a name of its own in the folder where it belongs, which
// looks like no output; Commit moves all of them to their places. Until then nothing that was there before has changed, and Close
// takes away what this set made, and nothing else; so does a signal that ends the process.
//
// One goroutine uses a set.
type Set struct {
	files   []*file
	owned   []owned
	folders []string // that the set made, each after its parents
	done    bool
}

// file is one of a set.
type file struct {
	path string
	data []byte      // what to write, where temp is nil
	mode fs.FileMode // where it is not 0: the permissions
	temp *os.File    // holds the contents until they are moved; its name is gone then
	info fs.FileInfo // of temp, once all is written
}

// owned are the files of a folder that a set or one like it wrote, by their names.
type owned struct {
	folder string
	names  *regexp.Regexp
}

// busy is held while a set makes, moves or takes away files, so that a signal finds each of them either noted or not there.
var busy sync.Mutex

// New makes a set. Close must follow.
func New() *Set {
	s := &Set{}
	watch(s)
	return s
}

// Add gives a file its contents.
func (s *Set) Add(path string, data []byte) {
	s.files = append(s.files, &file{path: path, data: data})
}

// Edit gives a file new contents, which keeps its permissions; of a link, the file that it leads to changes.
func (s *Set) Edit(path string, data []byte) error {
	f := &file{path: path, data: data}
	switch real, err := filepath.EvalSymlinks(path); {
	case err == nil:
		st, err := os.Stat(real)
		if err != nil {
			return err
		}
		f.path, f.mode = real, st.Mode().Perm()
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	s.files = append(s.files, f)
	return nil
}

// Create gives a file that is path's contents in the end. Commit closes it.
func (s *Set) Create(path string) (*os.File, error) {
	temp, err := s.temp(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	s.files = append(s.files, &file{path: path, temp: temp})
	return temp, nil
}

// Owns says that the files of a folder with such names are of sets like this one: those that this one does not write go with
// Commit.
func (s *Set) Owns(folder string, names *regexp.Regexp) {
	s.owned = append(s.owned, owned{folder, names})
}

// temp makes a new file in a folder, under a name that nothing has and that follows no link.
func (s *Set) temp(folder string) (*os.File, error) {
	const tries = 100
	for try := 1; ; try++ {
		f, err := s.tryTemp(folder)
		// A name may be taken; and a set that failed may take a folder back that was still empty.
		again := errors.Is(err, fs.ErrExist) || errors.Is(err, fs.ErrNotExist)
		if !again || try == tries {
			return f, err
		}
	}
}

// temps are the temporary files of all sets, which a signal takes away.
var temps = map[*os.File]*Set{}

func (s *Set) tryTemp(folder string) (*os.File, error) {
	busy.Lock()
	defer busy.Unlock()
	if err := s.makeFolder(folder); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(tempName(folder), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o666)
	if err == nil {
		temps[f] = s
	}
	return f, err
}

// tempName is a name that no other process chooses, and that no pattern of sources or outputs fits.
func tempName(folder string) string {
	return filepath.Join(folder, fmt.Sprintf(".dnnc-%016x.tmp", rand.Uint64()))
}

// makeFolder makes a folder and its parents, and notes which there were not.
func (s *Set) makeFolder(folder string) error {
	var missing []string
	for p := filepath.Clean(folder); ; p = filepath.Dir(p) {
		if _, err := os.Stat(p); !errors.Is(err, fs.ErrNotExist) || filepath.Dir(p) == p {
			break
		}
		missing = append(missing, p)
	}
	err := os.MkdirAll(folder, 0o777)
	slices.Reverse(missing)
	for _, p := range missing {
		if st, e := os.Stat(p); e == nil && st.IsDir() {
			s.folders = append(s.folders, p)
		}
	}
	return err
}

// Close takes away what the set made and did not commit.
func (s *Set) Close() {
	busy.Lock()
	s.discard()
	busy.Unlock()
	unwatch(s)
}

// discard is Close while busy is held.
func (s *Set) discard() {
	for f, of := range temps {
		if of == s {
			f.Close()
			os.Remove(f.Name())
			delete(temps, f)
		}
	}
	if s.done {
		return
	}
	for _, p := range slices.Backward(s.folders) {
		os.Remove(p) // unless another process has files there by now
	}
	s.folders = nil
}

// Write writes one file, whole or not at all.
func Write(path string, data []byte) error {
	s := New()
	defer s.Close()
	s.Add(path, data)
	return s.Commit()
}

package files

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// Plan is what a command is about to read and to write, by the words that its user knows the files by ("--out=net.txt"). It is
// checked before any work, so that no command destroys what it reads.
type Plan struct {
	inputs, outputs []named
	folders         []folder
}

type named struct{ what, path string }

// folder is one where files of such names will be written.
type folder struct {
	named
	names *regexp.Regexp
}

// Input notes a file that is read.
func (p *Plan) Input(what, path string) { p.inputs = append(p.inputs, named{what, path}) }

// Output notes a file that is written.
func (p *Plan) Output(what, path string) { p.outputs = append(p.outputs, named{what, path}) }

// Folder notes a folder where files of such names are written.
func (p *Plan) Folder(what, path string, names *regexp.Regexp) {
	p.folders = append(p.folders, folder{named{what, path}, names})
}

// Check refuses an output that cannot be a file, or is an input or another output too.
func (p *Plan) Check() error {
	for _, f := range p.folders {
		if st, err := os.Stat(f.path); err == nil && !st.IsDir() {
			return fmt.Errorf("%s is not a folder: name another path", f.what)
		}
	}
	for _, o := range p.outputs {
		if st, err := os.Stat(o.path); err == nil && !st.Mode().IsRegular() {
			return fmt.Errorf("%s is %s; want a file, or an unused path", o.what, kind(st.Mode()))
		}
	}
	if err := p.checkOutputs(); err != nil {
		return err
	}
	return p.checkInputs()
}

// checkOutputs refuses two outputs of one path, and one below another.
func (p *Plan) checkOutputs() error {
	places := map[string]named{}
	for _, f := range p.folders {
		places[place(f.path)] = f.named
	}
	for _, o := range p.outputs {
		at := place(o.path)
		if other, ok := places[at]; ok {
			return fmt.Errorf("%s and %s are the same path (upper and lower case are equal); use different paths", other.what, o.what)
		}
		places[at] = o
		if err := p.foreign(o); err != nil {
			return err
		}
	}
	for _, o := range append(p.folderNames(), p.outputs...) {
		for below, at := "", place(o.path); below != at; {
			below, at = at, filepath.Dir(at)
			if other, ok := places[at]; ok && below != at && !p.isFolder(other) {
				return fmt.Errorf("%s lies below %s, which is a file; use another path", o.what, other.what)
			}
		}
	}
	return p.checkLinks()
}

func (p *Plan) folderNames() []named {
	var list []named
	for _, f := range p.folders {
		list = append(list, f.named)
	}
	return list
}

func (p *Plan) isFolder(n named) bool {
	for _, f := range p.folders {
		if f.named == n {
			return true
		}
	}
	return false
}

// checkLinks refuses two outputs that are one file by two names.
func (p *Plan) checkLinks() error {
	for i, o := range p.outputs {
		for _, other := range p.outputs[:i] {
			if same(o.path, other.path) {
				return fmt.Errorf("%s and %s are links to one file; use different files", other.what, o.what)
			}
		}
	}
	return nil
}

// checkInputs refuses an output that is read too.
func (p *Plan) checkInputs() error {
	for _, in := range p.inputs {
		for _, o := range p.outputs {
			if same(in.path, o.path) {
				return fmt.Errorf("%s is the same file as %s, which is read; use another path for the output", o.what, in.what)
			}
		}
		if err := p.foreign(in); err != nil {
			return err
		}
	}
	return nil
}

// foreign refuses a file that has the name and the folder of those that a command writes besides.
func (p *Plan) foreign(n named) error {
	at := place(n.path)
	for _, f := range p.folders {
		if filepath.Dir(at) == place(f.path) && f.names.MatchString(filepath.Base(n.path)) {
			return fmt.Errorf("%s has the name of a file that is written to %s; rename it", n.what, f.what)
		}
	}
	return nil
}

// same reports whether two paths are one file that is there.
func same(a, b string) bool {
	x, err := os.Stat(a)
	if err != nil {
		return false
	}
	y, err := os.Stat(b)
	return err == nil && os.SameFile(x, y)
}

// place is the same for all spellings of a path: it is absolute, without links in the folders that are there already, and in
// lower case, since there are file systems that see no difference.
func place(path string) string {
	abs, err := filepath.Abs(path)
	if err != nil {
		abs = filepath.Clean(path)
	}
	rest := filepath.Base(abs)
	for dir := filepath.Dir(abs); ; dir = filepath.Dir(dir) {
		real, err := filepath.EvalSymlinks(dir)
		if err == nil {
			return strings.ToLower(filepath.Join(real, rest))
		}
		if !errors.Is(err, fs.ErrNotExist) || filepath.Dir(dir) == dir {
			return strings.ToLower(abs)
		}
		rest = filepath.Join(filepath.Base(dir), rest)
	}
}

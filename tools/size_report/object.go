package main

import (
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"strings"

	"rules_dnn/gen/base/files"
)

// kind is what a section is for.
type kind int

const (
	code kind = iota
	constants
	weights
	data
	zeros
	unwinding
	linking
	kinds
)

var kindText = [kinds]string{
	code:      "code",
	constants: "constants",
	weights:   "weights",
	data:      "data, written when loaded or run",
	zeros:     "zeros, which take no place in the file",
	unwinding: "tables to unwind the stack",
	linking:   "symbols and tables of the linker",
}

// kindOf returns the kind of a section, or false if the section is not loaded.
func kindOf(s *elf.Section) (kind, bool) {
	switch {
	case s.Flags&elf.SHF_ALLOC == 0 || s.Type == elf.SHT_NULL:
		return 0, false
	case s.Flags&elf.SHF_EXECINSTR != 0:
		return code, true
	case s.Type == elf.SHT_NOBITS:
		return zeros, true
	case strings.HasPrefix(s.Name, ".eh_frame") || strings.HasPrefix(s.Name, ".ARM.ex") || s.Name == ".gcc_except_table":
		return unwinding, true
	case s.Flags&elf.SHF_WRITE != 0 && s.Type != elf.SHT_DYNAMIC:
		return data, true
	case s.Type == elf.SHT_PROGBITS:
		return constants, true
	}
	return linking, true
}

// function is code that has a name. Functions of one name are counted together: each file of
// kernels has its own copy of what several use.
type function struct {
	name   string
	bytes  int64
	copies int
}

// addFile adds a library, an object or a program, or a manifest.
func (r *report) addFile(path string) error {
	f, size, err := files.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if isManifest(path) {
		return r.addManifest(path, f)
	}
	magic := make([]byte, len(archiveMagic))
	if _, err := io.ReadFull(f, magic); err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("%s: %w", path, err)
	}
	switch {
	case string(magic) == thinMagic:
		return fmt.Errorf("%s is a thin archive, which only names its objects; pass the objects instead", path)
	case strings.HasPrefix(string(magic), machoMagic):
		return fmt.Errorf("%s is of macOS or iOS; supported are ELF files, as on Linux and Android", path)
	case string(magic) == archiveMagic:
		list, err := members(f, size)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		for _, m := range list {
			if m.measuresOnly() {
				continue
			}
			before := r.sections[code]
			if err := r.addObject(m.data); err != nil {
				return fmt.Errorf("%s(%s): %w", path, m.name, err)
			}
			r.addMember(m.name, r.sections[code]-before)
		}
	case strings.HasPrefix(string(magic), elfMagic):
		if err := r.addObject(f); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	default:
		return fmt.Errorf("%s is no library: want an archive, an ELF object or program, or a *.manifest.json", path)
	}
	r.files = append(r.files, path)
	return nil
}

// addObject adds an ELF file's sections and functions.
func (r *report) addObject(data io.ReaderAt) error {
	f, err := elf.NewFile(data)
	if err != nil {
		return err
	}
	if r.machine == 0 {
		r.machine = f.Machine
	}
	if f.Machine != r.machine {
		return fmt.Errorf("the file is for %s, what was read before it for %s", f.Machine, r.machine)
	}
	for _, s := range f.Sections {
		if k, loaded := kindOf(s); loaded {
			r.sections[k] += int64(s.Size)
		}
	}
	symbols, err := f.Symbols()
	if errors.Is(err, elf.ErrNoSymbols) {
		r.stripped = true
		return nil
	}
	if err != nil {
		return err
	}
	r.addSymbols(f, symbols)
	return nil
}

// place is where a symbol lies; several may lie at one, as constructors of an object and of a base
// do.
type place struct {
	section elf.SectionIndex
	at      uint64
}

func (r *report) addSymbols(f *elf.File, symbols []elf.Symbol) {
	seen := map[place]bool{}
	for _, s := range symbols {
		at := place{s.Section, s.Value}
		if int(s.Section) >= len(f.Sections) || s.Section == elf.SHN_UNDEF || s.Size == 0 || seen[at] {
			continue
		}
		k, loaded := kindOf(f.Sections[s.Section])
		switch t := elf.ST_TYPE(s.Info); {
		case !loaded:
		case t == elf.STT_FUNC && k == code:
			seen[at] = true
			r.addFunction(plainName(s.Name), int64(s.Size))
		case t == elf.STT_OBJECT && k == constants && strings.HasSuffix(s.Name, "_weights"):
			seen[at] = true
			r.sections[constants] -= int64(s.Size)
			r.sections[weights] += int64(s.Size)
		}
	}
}

func (r *report) addFunction(name string, bytes int64) {
	if r.functions == nil {
		r.functions = map[string]*function{}
	}
	x := r.functions[name]
	if x == nil {
		x = &function{name: name}
		r.functions[name] = x
	}
	x.bytes += bytes
	x.copies++
}

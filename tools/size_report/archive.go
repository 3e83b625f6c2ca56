package main

import (
	"bytes"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// The magic bytes of the file formats.
const (
	archiveMagic = "!<arch>\n"
	thinMagic    = "!<thin>\n"
	elfMagic     = "\x7fELF"
	machoMagic   = "\xcf\xfa\xed\xfe"
)

// member is a file of an archive.
type member struct {
	name string
	data *io.SectionReader
}

// measuresOnly reports whether only programs that measure the model link the object: it describes
// the blocks, and has code that finds the machine's limits.
func (m member) measuresOnly() bool {
	name, _, _ := strings.Cut(m.name, ".")
	return strings.HasSuffix(name, "_profile")
}

// headerBytes are those before each member: name, 16 bytes, numbers, the size at 48, and two that
// end it.
const headerBytes = 60

// members returns the objects of an archive as ar writes it on Linux and BSD, without its tables
// of symbols and names.
func members(r io.ReaderAt, size int64) ([]member, error) {
	var out []member
	names := ""
	for at := int64(len(archiveMagic)); at < size; {
		var h [headerBytes]byte
		if _, err := r.ReadAt(h[:], at); err != nil || h[58] != '`' || h[59] != '\n' {
			return nil, fmt.Errorf("at byte %d: no header of a member, or not all of it", at)
		}
		n, err := strconv.ParseInt(strings.TrimSpace(string(h[48:58])), 10, 64)
		if at += headerBytes; err != nil || n < 0 || n > size-at {
			return nil, fmt.Errorf("at byte %d: a member has %q bytes, but the file has only %d of them", at, bytes.TrimSpace(h[48:58]), size-at)
		}
		data := io.NewSectionReader(r, at, n)
		name := strings.TrimRight(string(h[:16]), " ")
		switch at += n + n%2; {
		case name == "/" || name == "/SYM64/" || strings.HasPrefix(name, "__.SYMDEF"):
			continue
		case name == "//": // long names
			b := make([]byte, n)
			if _, err := io.ReadFull(data, b); err != nil {
				return nil, err
			}
			names = string(b)
			continue
		}
		if name, data, err = longName(name, names, data); err != nil {
			return nil, err
		}
		if !strings.HasPrefix(name, "__.SYMDEF") {
			out = append(out, member{name, data})
		}
	}
	return out, nil
}

// longName finds a name that is not in the header: "/12" is at byte 12 of the table of names,
// "#1/12" in the first 12 bytes of the data.
func longName(name, names string, data *io.SectionReader) (string, *io.SectionReader, error) {
	if n, ok := strings.CutPrefix(name, "#1/"); ok {
		length, err := strconv.ParseInt(n, 10, 64)
		if err != nil || length < 0 || length > data.Size() {
			return "", nil, fmt.Errorf("a member's name is %q", name)
		}
		b := make([]byte, length)
		_, err = io.ReadFull(data, b)
		return strings.TrimRight(string(b), "\x00"), io.NewSectionReader(data, length, data.Size()-length), err
	}
	if at, err := strconv.Atoi(strings.TrimPrefix(name, "/")); strings.HasPrefix(name, "/") {
		if err != nil || at < 0 || at > len(names) {
			return "", nil, fmt.Errorf("a member's name is %q", name)
		}
		name, _, _ = strings.Cut(names[at:], "\n")
	}
	return strings.TrimSuffix(name, "/"), data, nil
}

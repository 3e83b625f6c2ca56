package main

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"fmt"
)

// object is an ELF file of 64 bits, as far as a report reads it.
type object struct {
	machine  elf.Machine
	sections []section
	symbols  []symbol
	stripped bool
}

type section struct {
	name  string
	typ   elf.SectionType
	flags elf.SectionFlag
	size  int
}

// symbol lies at an address of the section of a number.
type symbol struct {
	name     string
	typ      elf.SymType
	section  int
	at, size uint64
}

// strings is a table of strings.
type stringTable struct{ bytes.Buffer }

func (s *stringTable) add(name string) uint32 {
	at := s.Len()
	s.WriteString(name + "\x00")
	return uint32(at)
}

func write(b *bytes.Buffer, x any) {
	if err := binary.Write(b, binary.LittleEndian, x); err != nil {
		panic(err)
	}
}

// file is the object's bytes: header, symbols, their names, the sections' names, the sections'
// bytes, and the table of sections.
func (o object) file() []byte {
	const headerSize, sectionSize, symbolSize = 64, 64, 24
	var names, sectionNames stringTable
	names.add("")
	sectionNames.add("")
	var symbols bytes.Buffer
	write(&symbols, elf.Sym64{})
	for _, s := range o.symbols {
		write(&symbols, elf.Sym64{Name: names.add(s.name), Info: elf.ST_INFO(elf.STB_GLOBAL, s.typ), Shndx: uint16(s.section), Value: s.at, Size: s.size})
	}
	headers := []elf.Section64{{}}
	var body bytes.Buffer
	place := func(h elf.Section64, data []byte) {
		if h.Off = headerSize + uint64(body.Len()); elf.SectionType(h.Type) != elf.SHT_NOBITS {
			body.Write(data)
		}
		h.Size = uint64(len(data))
		headers = append(headers, h)
	}
	for _, s := range o.sections {
		place(elf.Section64{Name: sectionNames.add(s.name), Type: uint32(s.typ), Flags: uint64(s.flags)}, make([]byte, s.size))
	}
	if !o.stripped {
		table := uint32(len(headers))
		place(elf.Section64{Name: sectionNames.add(".symtab"), Type: uint32(elf.SHT_SYMTAB), Link: table + 1, Entsize: symbolSize}, symbols.Bytes())
		place(elf.Section64{Name: sectionNames.add(".strtab"), Type: uint32(elf.SHT_STRTAB)}, names.Bytes())
	}
	name := sectionNames.add(".shstrtab")
	place(elf.Section64{Name: name, Type: uint32(elf.SHT_STRTAB)}, sectionNames.Bytes())
	var out bytes.Buffer
	h := elf.Header64{Type: uint16(elf.ET_REL), Machine: uint16(o.machine), Version: 1, Shoff: headerSize + uint64(body.Len()), Ehsize: headerSize,
		Shentsize: sectionSize, Shnum: uint16(len(headers)), Shstrndx: uint16(len(headers) - 1)}
	copy(h.Ident[:], elfMagic+"\x02\x01\x01")
	write(&out, h)
	out.Write(body.Bytes())
	for _, s := range headers {
		write(&out, s)
	}
	return out.Bytes()
}

// archived puts a file into an archive under a name as it stands in the header.
func archived(header string, data []byte) []byte {
	out := fmt.Appendf(nil, "%-16s%-12s%-6s%-6s%-8s%-10d`\n", header, "0", "0", "0", "644", len(data))
	out = append(out, data...)
	if len(data)%2 == 1 {
		out = append(out, '\n')
	}
	return out
}

func archive(parts ...[]byte) []byte { return append([]byte(archiveMagic), bytes.Join(parts, nil)...) }

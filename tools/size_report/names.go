package main

import (
	"strconv"
	"strings"
)

// plainName returns the name in a C++ symbol, with its namespaces and without the types of its
// arguments: "_ZN3abc4nameEv" is abc::name. It returns symbols that it cannot read, such as
// templates and operators, unchanged.
func plainName(symbol string) string {
	rest, ok := strings.CutPrefix(symbol, "_Z")
	if !ok {
		return symbol
	}
	nested := strings.HasPrefix(rest, "N")
	rest = strings.TrimLeft(strings.TrimPrefix(rest, "N"), "LK")
	var parts []string
	for {
		n := len(rest) - len(strings.TrimLeft(rest, "0123456789"))
		length, err := strconv.Atoi(rest[:n])
		if err != nil || length > len(rest)-n {
			break
		}
		part := rest[n : n+length]
		if rest = rest[n+length:]; part == "_GLOBAL__N_1" {
			part = "(anonymous)"
		}
		parts = append(parts, part)
		if !nested {
			break
		}
		rest = strings.TrimPrefix(rest, "L")
	}
	// Before the end of a nested name stands only what was read.
	if len(parts) == 0 || nested && !strings.HasPrefix(rest, "E") || strings.HasPrefix(rest, "I") {
		return symbol
	}
	return strings.Join(parts, "::") + suffix(symbol)
}

// suffix returns the suffix that compilers add to the name of a part of a function: ".cold".
func suffix(symbol string) string {
	if i := strings.Index(symbol, "."); i >= 0 {
		return symbol[i:]
	}
	return ""
}

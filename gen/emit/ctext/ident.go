package ctext

import (
	"fmt"
	"strings"
	"unicode"

	"rules_dnn/gen/base/limit"
)

// readable reports whether a rune may stand in a comment: letters, digits, marks, signs and
// the plain space; no control, format (bidirectional overrides) or other space characters.
func readable(r rune) bool { return r == ' ' || unicode.IsGraphic(r) && !unicode.IsSpace(r) }

// Ident is s as the middle of an identifier: ASCII letters and digits stay, each run
// of anything else becomes one underscore; underscores at either end go, and what exceeds
// limit.Identifier. It may be empty and may begin with a digit or be a keyword: Namer makes whole identifiers.
func Ident(s string) string {
	var b strings.Builder
	gap := false
	for i := range len(s) {
		c := s[i]
		if !isAlnum(c) {
			gap = true
			continue
		}
		if b.Len() >= limit.Identifier-1 {
			break
		}
		if gap && b.Len() > 0 {
			b.WriteByte('_')
		}
		gap = false
		b.WriteByte(c)
	}
	return b.String()
}

func isAlnum(c byte) bool { return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z' }

// IsIdent reports whether s is a usable C and C++ identifier that is no keyword, does not
// begin with an underscore and holds no double underscore (both are reserved).
func IsIdent(s string) bool {
	if s == "" || s[0] >= '0' && s[0] <= '9' || s[0] == '_' || strings.Contains(s, "__") || keywords[s] {
		return false
	}
	for i := range len(s) {
		if !isAlnum(s[i]) && s[i] != '_' {
			return false
		}
	}
	return true
}

// Namer gives identifiers that differ from each other within one scope.
type Namer struct {
	used    map[string]bool
	numbers map[string]int // of names: how many like it are taken
}

// NewNamer is a namer of a scope in which the reserved names are taken.
func NewNamer(reserved ...string) *Namer {
	n := &Namer{used: map[string]bool{}, numbers: map[string]int{}}
	for _, r := range reserved {
		n.used[r] = true
	}
	return n
}

// Name is an identifier like s. fallback is its beginning where s has no letter to begin
// with ("x" makes "x_2d" of "2d"); a name that is taken gets a number.
func (n *Namer) Name(s, fallback string) string {
	id := Ident(s)
	switch {
	case id == "":
		id = fallback
	case id[0] >= '0' && id[0] <= '9':
		id = fallback + "_" + id
	}
	if keywords[id] {
		id += "_"
	}
	name := id
	for i := n.numbers[id]; n.used[name]; i++ {
		name = fmt.Sprintf("%s_%d", strings.TrimSuffix(id, "_"), i+2)
		n.numbers[id] = i + 1
	}
	n.used[name] = true
	return name
}

// IsTaken reports whether an identifier means something else where C++ has names of namespaces: a keyword, a macro that
// headers or compilers may define, the standard library's namespace or one of the runtime's names.
func IsTaken(s string) bool { return keywords[s] || s == "std" || IsRuntime(s) }

// IsRuntime reports whether the runtime's own names begin so, or are in the namespace of this name.
func IsRuntime(s string) bool { return s == "dnn" || s == "rules_dnn" }

// keywords are C23's and C++23's, and macros that the headers we include may define.
var keywords = set(`
	alignas alignof and and_eq asm auto bitand bitor bool break case catch char char8_t char16_t char32_t
	class co_await co_return co_yield compl concept const const_cast consteval constexpr constinit continue
	decltype default delete do double dynamic_cast else enum explicit export extern false float for friend
	goto if inline int long mutable namespace new noexcept not not_eq nullptr operator or or_eq private
	protected public register reinterpret_cast requires restrict return short signed sizeof static
	static_assert static_cast struct switch template this thread_local throw true try typedef typeid typename
	typeof typeof_unqual union unsigned using virtual void volatile wchar_t while xor xor_eq
	NULL EOF linux unix main assert errno stdin stdout stderr INFINITY NAN I complex imaginary noreturn
	int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t size_t ptrdiff_t intptr_t uintptr_t
	i386 arm mips sparc sun hpux vax sgi hexagon`)

func set(words string) map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(words) {
		m[w] = true
	}
	return m
}

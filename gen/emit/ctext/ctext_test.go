package ctext

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// nasty are names that would break a naive printer.
var nasty = []string{
	"", "image", `"; int x = 0; //`, `*/ int x; /*`, "//", "/", "a\nb", "end\\", "tab\there", "??/", "what??=",
	"\x00\x01\xff", "größe", "\u202eevil\u202c", "a\u2028b", "/*/", "**/", "1\x002", "%s%n", "/\x00*", "\\\n", "*\\/",
}

func TestString(t *testing.T) {
	for in, want := range map[string]string{
		"":       `""`,
		`a"b\`:   `"a\"b\\"`,
		"a\nb":   `"a\012b"`,
		"\xff1":  `"\3771"`,
		"??/":    `"\?\?/"`,
		"größe9": `"gr\303\266\303\237e9"`,
	} {
		assert.Equal(t, want, String(in))
	}
}

func TestComment(t *testing.T) {
	for in, want := range map[string]string{
		"a*/b":        "a* /b",
		"a/*b":        "a/ *b",
		"http://x":    "http://x",
		"a\nb":        "a<0a>b",
		`end\`:        "end<5c>",
		"??/":         "<3f>?/",
		"größe":       "größe",
		"\u202evil":   "<202e>vil",
		"a\u00a0b":    "a<a0>b",
		"x\xffy":      "x<ff>y",
		"conv1/Relu_": "conv1/Relu_",
	} {
		assert.Equal(t, want, Comment(in), "%q", in)
	}
	for _, s := range nasty {
		c := Comment(s)
		for _, bad := range []string{"*/", "/*", "\n", "\\", "??"} {
			assert.NotContains(t, c, bad, "%q", s)
		}
	}
}

func TestNamer(t *testing.T) {
	n := NewNamer("taken")
	var got []string
	for _, s := range []string{"image", "image", "a-b", "a_b", "2d", "", "int", "int", "taken", "__x__y__", "größe", "int_"} {
		id := n.Name(s, "x")
		assert.True(t, IsIdent(id), "%q gave %q", s, id)
		got = append(got, id)
	}
	assert.Equal(t, "image image_2 a_b a_b_2 x_2d x int_ int_2 taken_2 x_y gr_e int_3", strings.Join(got, " "))
}

func TestIsIdent(t *testing.T) {
	for s, want := range map[string]bool{"a": true, "a_1": true, "": false, "_a": false, "1a": false, "a__b": false, "for": false, "a-b": false, "ä": false} {
		assert.Equal(t, want, IsIdent(s), s)
	}
}

// TestCompilerReadsBack: the literals mean the same bytes to a C compiler, and the comments end where they should.
func TestCompilerReadsBack(t *testing.T) {
	cc := compiler(t)
	var src, want strings.Builder
	src.WriteString("#include <stdio.h>\nint main(void) {\n")
	n := NewNamer()
	for _, s := range nasty {
		id := n.Name(s, "s")
		src.WriteString("  // " + Comment(s) + "\n  /* " + Comment(s) + " */\n")
		src.WriteString("  static const char " + id + "[] = " + String(s) + ";\n  fwrite(" + id + ", 1, sizeof(" + id + "), stdout);\n")
		want.WriteString(s + "\x00")
	}
	src.WriteString("  return 0;\n}\n")
	dir := t.TempDir()
	c, bin := filepath.Join(dir, "x.c"), filepath.Join(dir, "x")
	require.NoError(t, os.WriteFile(c, []byte(src.String()), 0o644))
	out, err := exec.Command(cc, "-std=c99", "-trigraphs", "-Wall", "-Wextra", "-Werror", c, "-o", bin).CombinedOutput()
	require.NoError(t, err, "%s\n%s", out, src.String())
	got, err := exec.Command(bin).Output()
	require.NoError(t, err)
	assert.Equal(t, want.String(), string(got))
}

// compiler is a C compiler of the machine; without one the test is skipped.
func compiler(t *testing.T) string {
	for _, name := range []string{"gcc", "clang", "cc"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Skip("no C compiler on this machine: the printed text is not compiled")
	return ""
}

// TestLongNames: an identifier shows the beginning of a long name; those that agree in it get numbers.
func TestLongNames(t *testing.T) {
	n := NewNamer()
	long := strings.Repeat("long name ", 1000)
	assert.Equal(t, strings.Repeat("long_name_", 6)+"lon", n.Name(long, "x"))
	assert.Equal(t, strings.Repeat("long_name_", 6)+"lon_2", n.Name(long+"!", "x"))
}

// TestTaken: what rules refuse as a namespace and what dnnc does is the same.
func TestTaken(t *testing.T) {
	src, err := os.ReadFile("../../../rules/private/names.bzl")
	require.NoError(t, err)
	_, list, ok := strings.Cut(string(src), `_TAKEN = {word: None for line in """`)
	require.True(t, ok)
	list, _, ok = strings.Cut(list, `"""`)
	require.True(t, ok)
	words := strings.Fields(list)
	require.Len(t, words, len(keywords)+1, "std is none of them")
	for _, w := range words {
		require.True(t, IsTaken(w), w)
	}
	require.Contains(t, string(src), `_OURS = ["dnn", "rules_dnn"]`)
	require.True(t, IsRuntime("dnn") && IsTaken("rules_dnn"))
	for _, w := range []string{"model", "int_", "standard", "app"} {
		require.False(t, IsTaken(w), w)
	}
}

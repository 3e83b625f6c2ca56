package cppapi

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// root is the repository's: runtime/ lies there, both for go test and under Bazel.
const root = "../../.."

var strict = []string{"-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wconversion", "-Werror"}

// project is a folder with printed files, to compile.
type project struct {
	t       *testing.T
	dir     string
	objects []string
	flags   []string
}

func newProject(t *testing.T, flags ...string) *project {
	p := &project{t: t, dir: t.TempDir(), flags: flags}
	for _, m := range []*Model{fake(), computed(), constant()} {
		f, err := Print(m)
		require.NoError(t, err)
		p.write(m.HeaderName(), f.Header)
		p.write(m.InternalName(), f.Internal)
		p.write(m.SourceName(), f.Source)
		p.write(m.ProfileName(), f.Profile)
	}
	asm, err := WeightsAsm(fake(), "fake.weights")
	require.NoError(t, err)
	p.write("fake.weights.S", asm)
	p.write("fake.weights", string(WeightsHeader(fake().Weights))+floats(1, 2, 3, 4))
	p.write("rows.weights", string(WeightsHeader(computed().Weights))+rowsWeights)
	return p
}

// floats are little-endian bytes of small whole numbers.
func floats(list ...int) string {
	bits := map[int]string{1: "\x00\x00\x80\x3f", 2: "\x00\x00\x00\x40", 3: "\x00\x00\x40\x40", 4: "\x00\x00\x80\x40"}
	var b strings.Builder
	for _, x := range list {
		b.WriteString(bits[x])
	}
	return b.String()
}

func (p *project) write(name, text string) {
	require.NoError(p.t, os.WriteFile(filepath.Join(p.dir, name), []byte(text), 0o644))
}

// compile makes an object of a file, which is relative to the repository's root or printed.
func (p *project) compile(compiler, file string, flags ...string) {
	out := filepath.Join(p.dir, strings.ReplaceAll(filepath.Base(file), ".", "_")+".o")
	args := append(append([]string{"-c", file, "-o", out, "-I" + root, "-I" + p.dir}, p.flags...), flags...)
	p.run(compiler, args...)
	p.objects = append(p.objects, out)
}

func (p *project) run(name string, args ...string) string {
	out, err := exec.Command(name, args...).CombinedOutput()
	require.NoError(p.t, err, "%s %s\n%s", name, strings.Join(args, " "), out)
	return string(out)
}

// build compiles the runtime, the printed sources and the test program, and links them
// with the C compiler: no library of C++ may be needed.
func (p *project) build(cc, cxx string) string {
	cpp := append([]string{"-std=c++17", "-fno-exceptions", "-fno-rtti"}, strict...)
	runtime, err := filepath.Glob(root + "/runtime/dnn_*.cc")
	require.NoError(p.t, err)
	require.NotEmpty(p.t, runtime)
	for _, f := range runtime {
		p.compile(cxx, f, cpp...)
	}
	for _, m := range []*Model{fake(), computed(), constant()} {
		p.compile(cxx, filepath.Join(p.dir, m.SourceName()), cpp...)
		p.compile(cxx, filepath.Join(p.dir, m.ProfileName()), cpp...)
	}
	p.compile(cxx, "testdata/programs.cc", cpp...)
	p.compile(cxx, "testdata/wrapper.cc", cpp...)
	p.compile(cc, "testdata/driver.c", append([]string{"-std=c11"}, strict...)...)
	p.compile(cc, filepath.Join(p.dir, "fake.weights.S"))
	bin := filepath.Join(p.dir, "driver")
	p.run(cc, append(append([]string{"-o", bin, "-pthread"}, p.flags...), p.objects...)...)
	return bin
}

// TestCompiled builds printed APIs and runs testdata/driver.c, which calls them in
// every right and wrong way, plainly and under sanitizers.
func TestCompiled(t *testing.T) {
	for _, c := range []struct {
		name, cc, cxx string
		flags         []string
	}{
		{"gcc", "gcc", "g++", []string{"-O2"}},
		{"clang", "clang", "clang++", []string{"-O2"}},
		{"address", "gcc", "g++", []string{"-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover"}},
		{"thread", "gcc", "g++", []string{"-O1", "-g", "-fsanitize=thread"}},
		{"arm64", "aarch64-linux-gnu-gcc", "aarch64-linux-gnu-g++", []string{"-O2", "-static"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, tool := range []string{c.cc, c.cxx} {
				if _, err := exec.LookPath(tool); err != nil {
					t.Skipf("no %s on this machine", tool)
				}
			}
			p := newProject(t, c.flags...)
			command := []string{p.build(c.cc, c.cxx), filepath.Join(p.dir, "rows.weights")}
			if strings.HasPrefix(c.cc, "aarch64") {
				if _, err := exec.LookPath("qemu-aarch64"); err != nil {
					t.Skip("compiled; no qemu-aarch64 on this machine to run it")
				}
				command = append([]string{"qemu-aarch64"}, command...)
			}
			assert.Contains(t, p.run(command[0], command[1:]...), "all checks passed")
		})
	}
}

// TestHeaderAlone: the public header compiles by itself as C and as C++.
func TestHeaderAlone(t *testing.T) {
	for _, c := range [][]string{
		{"gcc", "c", "-std=c99"}, {"gcc", "c++", "-std=c++17"}, {"gcc", "c++", "-std=c++20"}, {"clang", "c", "-std=c99"}, {"clang", "c++", "-std=c++17"},
	} {
		if _, err := exec.LookPath(c[0]); err != nil {
			t.Logf("no %s on this machine", c[0])
			continue
		}
		p := newProject(t)
		for _, m := range []*Model{fake(), computed(), constant()} {
			name := "one.c"
			p.write(name, "#include \""+m.HeaderName()+"\"\n")
			p.run(c[0], append([]string{"-x", c[1], c[2], "-fsyntax-only", "-I" + p.dir, filepath.Join(p.dir, name)}, strict...)...)
		}
	}
}

// TestPrefixes: what is printed compiles with any prefix and namespace that is not refused.
func TestPrefixes(t *testing.T) {
	for _, name := range []string{"int", "static", "thread", "dnn_", "std", "size", "main", "v1", "model", "Status", "__a", "m_dnn"} {
		t.Run(name, func(t *testing.T) {
			p := newProject(t)
			m := fake()
			m.Prefix, m.Namespace, m.Variants[0].Prefix = name, name, name
			f, err := Print(m)
			if err != nil {
				require.ErrorContains(t, err, "namespace")
				m.Namespace = "a::b_" + name
				f, err = Print(m)
			}
			require.NoError(t, err)
			p.write(m.HeaderName(), f.Header)
			p.write(m.InternalName(), f.Internal)
			p.write(m.SourceName(), f.Source)
			p.write(m.ProfileName(), f.Profile)
			p.write("use.cc", "#include \""+m.HeaderName()+"\"\nvoid use() { "+m.Namespace+"::Model model; (void)model; }\n")
			for _, file := range []string{m.SourceName(), m.ProfileName(), "use.cc"} {
				p.run("g++", "-std=c++17", "-fsyntax-only", "-I"+root, "-I"+p.dir, filepath.Join(p.dir, file))
			}
			p.write("use.c", "#include \""+m.HeaderName()+"\"\n")
			p.run("gcc", "-std=c99", "-fsyntax-only", "-I"+p.dir, filepath.Join(p.dir, "use.c"))
		})
	}
}

package cppapi

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// npy is a file of the given numbers, all of which one byte holds, as little-endian elements.
func npy(descr, shape string, elementBytes int, values ...byte) string {
	header := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': %s, }", descr, shape)
	header += strings.Repeat(" ", 63-(10+len(header))%64) + "\n"
	data := make([]byte, len(values)*elementBytes)
	for i, v := range values {
		data[i*elementBytes] = v
	}
	return fmt.Sprintf("\x93NUMPY\x01\x00%c%c%s%s", len(header)&0xff, len(header)>>8, header, data)
}

// server is a running benchmark program.
type server struct {
	t   *testing.T
	cmd *exec.Cmd
	in  *os.File
	out *json.Decoder
}

// served names a model to the program around it.
const served = `extern "C" const void* PREFIX_describe();
extern "C" const void* PREFIX_profile();
extern "C" const void* dnn_served_model() { return PREFIX_describe(); }
extern "C" const void* dnn_served_profile() { return PREFIX_profile(); }
extern "C" const char* dnn_served_weights() { return nullptr; }
`

// program compiles the benchmark's program around a model.
func (p *project) program(prefix string, flags []string) string {
	p.write("served.cc", strings.ReplaceAll(served, "PREFIX", prefix))
	bin := filepath.Join(p.dir, "serve")
	compile := append([]string{"-std=c++17", "-o", bin, "-pthread", "-I" + root, "-I" + p.dir, "testdata/programs.cc", filepath.Join(p.dir, "served.cc"), filepath.Join(p.dir, "fake.weights.S")}, flags...)
	for _, m := range []*Model{fake(), computed(), constant()} {
		compile = append(compile, filepath.Join(p.dir, m.SourceName()), filepath.Join(p.dir, m.ProfileName()))
	}
	for _, pattern := range []string{"/runtime/serve/*.cc", "/runtime/bench/*.cc", "/runtime/dnn_*.cc"} {
		sources, err := filepath.Glob(root + pattern)
		require.NoError(p.t, err)
		require.NotEmpty(p.t, sources, pattern)
		compile = append(compile, sources...)
	}
	p.run("g++", compile...)
	return bin
}

func startServer(p *project, prefix string, flags, args []string) *server {
	s := &server{t: p.t, cmd: exec.Command(p.program(prefix, flags), args...)}
	r, w, err := os.Pipe()
	require.NoError(p.t, err)
	s.in, s.cmd.Stdin, s.cmd.Stderr = w, r, os.Stderr
	out, err := s.cmd.StdoutPipe()
	require.NoError(p.t, err)
	require.NoError(p.t, s.cmd.Start())
	s.out = json.NewDecoder(out)
	p.t.Cleanup(func() {
		_ = w.Close()
		assert.NoError(p.t, s.cmd.Wait())
	})
	return s
}

func (s *server) ask(line string) map[string]any {
	_, err := s.in.WriteString(line + "\n")
	require.NoError(s.t, err)
	var answer map[string]any
	require.NoError(s.t, s.out.Decode(&answer), line)
	return answer
}

func (s *server) fails(line, with string) {
	s.t.Helper()
	answer := s.ask(line)
	assert.Contains(s.t, fmt.Sprint(answer["error"]), with, line)
}

var sanitize = []string{"-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover"}

func TestServe(t *testing.T) {
	if _, err := exec.LookPath("g++"); err != nil {
		t.Skip("no g++ on this machine")
	}
	p := newProject(t)
	file := func(name, text string) string {
		p.write(name, text)
		quoted, err := json.Marshal(filepath.Join(p.dir, name))
		require.NoError(t, err)
		return string(quoted)
	}
	image := file("x.npy", npy("<f4", "(2, 3, 1)", 4, 0, 0, 0, 0, 0, 0))
	scalar := file("s.npy", npy("<i8", "()", 8, 5))
	flat := file("flat.npy", npy("<f4", "(6,)", 4, 0, 0, 0, 0, 0, 0))
	double := file("double.npy", npy("<f8", "(2, 3, 1)", 8, 0, 0, 0, 0, 0, 0))
	wide := file("wide.npy", npy("<f4", "(65, 3, 0)", 4))
	short := file("short.npy", npy("<f4", "(2, 3, 2)", 4, 0))
	big := file("big.npy", npy(">f4", "(1, 3, 1)", 4, 0, 0, 0))
	huge := file("huge.npy", npy("<f4", "(4294967296, 4294967296)", 4))
	text := file("text.npy", "no array")
	name := `"*/ int x; \""`

	s := startServer(p, "app_fake", sanitize, []string{"--serve"})
	inputs := func(image, scalar string) string {
		return `{"cmd":"inputs","files":{"image":` + image + `,` + name + `:` + scalar + `}}`
	}
	s.fails(inputs(image, scalar), "no model is loaded")
	s.fails(`{"cmd":"run"}`, "no model is loaded")
	s.fails(`{"cmd":"load","threads":1.5}`, "whole number")
	s.fails(`{"cmd":"load","threads":"1"}`, "must be a number")
	s.fails(`{"cmd":"load","command_buffers":1}`, "command_buffers must be a string")
	s.fails(`{"cmd":"load","command_buffers":"yes"}`, "command_buffers: want auto, always or never, not yes")
	s.fails(`{"cmd":"load","command_buffers":"always"}`, "command_buffers is for models on OpenCL: this one runs on the processor")
	answer := s.ask(`{"cmd":"load","threads":2}`)
	assert.Equal(t, true, answer["ok"])
	assert.Equal(t, "rules_dnn test", answer["version"])
	s.fails(`{"cmd":"run"}`, "there are no inputs")
	s.fails(`{"cmd":"outputs","dir":"/nowhere"}`, "no run")
	s.fails(`{"cmd":"inputs","files":{"image":`+image+`}}`, "no file for input */ int x")
	s.fails(`{"cmd":"inputs","files":{"picture":`+image+`}}`, "no input picture; its inputs: image, */")
	s.fails(`{"cmd":"inputs","files":{"image":3}}`, "must be a string")
	s.fails(`{"cmd":"inputs"}`, "files must be an object")
	s.fails(inputs(flat, scalar), "no input's shape determines the symbol batch size")
	s.fails(inputs(double, scalar), "input image: the array is f64, the model wants f32")
	s.fails(inputs(wide, scalar), "the dimension batch size is 65; it must be 1 to 64")
	s.fails(inputs(short, scalar), "its size does not match its shape")
	s.fails(inputs(big, scalar), "its type '>f4' is not supported")
	s.fails(inputs(huge, scalar), "too large")
	s.fails(inputs(text, scalar), "it is not a .npy file")
	s.fails(inputs(`"/nowhere"`, scalar), "cannot be read")
	s.fails(inputs(image, image), "input */ int x; \": the array is f32, the model wants i64")
	assert.Equal(t, map[string]any{"ok": true}, s.ask(inputs(image, scalar)))
	s.fails(`{"cmd":"run","seconds":-1}`, "seconds must be a number of at least 0")
	ms := s.ask(`{"cmd":"run","seconds":0.01,"min_runs":3}`)["ms"].([]any)
	assert.GreaterOrEqual(t, len(ms), 3)
	for _, x := range ms {
		assert.Positive(t, x)
	}
	s.fails(`{"cmd":"outputs","dir":"/nowhere"}`, "cannot be written")
	dir, err := json.Marshal(p.dir)
	require.NoError(t, err)
	files := s.ask(`{"cmd":"outputs","dir":` + string(dir) + `}`)["files"].(map[string]any)
	assert.Len(t, files, 2)
	assert.Equal(t, npy("|u1", "(1,2,)", 1, 0, 1), read(t, files["int"]))
	assert.Contains(t, read(t, files["image"]), "(2,4,)")
	assert.Equal(t, "\x00\x00\xa0\x41", read(t, files["image"])[128+12:128+16], "the scalar 5, times the weight 4")
	info := s.ask(`{"cmd":"info"}`)
	assert.Greater(t, info["peak_bytes"], 1000.0)
	assert.Equal(t, 32.0, info["arena_bytes"])
	assert.Equal(t, 16.0, info["weights_bytes"])
	for line, with := range map[string]string{
		``: "a value is missing", `{`: "want a key", `[1`: "want , or ]", `{"cmd":"x"}`: "unknown command x; commands: load",
		`{}`: "cmd is missing", `3`: "cmd is missing", `{"cmd":1}`: "cmd must be a string", `{"cmd":"load"} x`: "nothing may follow",
		`{"a":01}`: "begin with 0", `{"a":1e999}`: "too large", `"\x"`: "no such escape", `"\ud800"`: "surrogate", `"`: "does not end",
		`{"cmd":"caf\u00e9 \ud83d\ude00"}`: "unknown command café 😀", "{\"cmd\":\"\xff\"}": "unknown command \ufffd",
		strings.Repeat("[", 100): "nested too deeply", `{"a":tru}`: "no value begins so", `{"a":-}`: "no value begins so",
	} {
		s.fails(line, with)
	}
}

func read(t *testing.T, path any) string {
	b, err := os.ReadFile(path.(string))
	require.NoError(t, err)
	return string(b)
}

// TestServeComputed: outputs have the shape that the run computed, and weights come from a file.
func TestServeComputed(t *testing.T) {
	if _, err := exec.LookPath("g++"); err != nil {
		t.Skip("no g++ on this machine")
	}
	p := newProject(t)
	s := startServer(p, "rows", []string{"-O1"}, []string{"--serve", "--weights=" + filepath.Join(p.dir, "rows.weights")})
	damaged := filepath.Join(p.dir, "damaged.weights")
	p.write("damaged.weights", read(t, filepath.Join(p.dir, "rows.weights"))[:64]+strings.ToUpper(rowsWeights))
	for arg, want := range map[string]string{
		"--weights=" + damaged:    "loading " + damaged + ": the weights file is damaged",
		"--weights=" + p.dir:      "the file cannot be read",
		"--weights=/nowhere":      "the file cannot be read",
		"--weights=" + s.cmd.Path: "belong to another model, or are not a weights file",
		"--threads=1":             "loading: the weights are missing",
	} {
		out, err := exec.Command(s.cmd.Path, "--dims=N=3", arg).CombinedOutput()
		assert.Error(t, err, arg)
		assert.Contains(t, string(out), want, arg)
	}
	p.write("x.npy", npy("<f4", "(3,)", 4, 1, 0, 1))
	p.write("odd.npy", npy("<f4", "(4,)", 4, 1, 0, 1, 0))
	assert.Equal(t, true, s.ask(`{"cmd":"load","threads":1}`)["ok"])
	s.ask(`{"cmd":"inputs","files":{"x":"` + filepath.Join(p.dir, "x.npy") + `"}}`)
	s.fails(`{"cmd":"inputs","files":{"x":"`+filepath.Join(p.dir, "odd.npy")+`"}}`, "threes: ((N) % (3)) is 1 and 0")
	s.ask(`{"cmd":"inputs","files":{"x":"` + filepath.Join(p.dir, "x.npy") + `"}}`)
	assert.Len(t, s.ask(`{"cmd":"run","min_runs":2}`)["ms"], 2)
	files := s.ask(`{"cmd":"outputs","dir":"` + p.dir + `"}`)["files"].(map[string]any)
	assert.Equal(t, npy("<i8", "(1,2,)", 8, 0, 2), read(t, files["where"]))
}

package main

import (
	"encoding/binary"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/fusion/tuning"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/onnx"
	"rules_dnn/gen/target"
	"rules_dnn/tools/check"
)

// network writes y = max(x * w, 0), with x of shape [N, 5].
func network(t *testing.T) string {
	n := sym.Var("N")
	x := &ir.Value{Name: "x", Type: ir.F32, Shape: ir.Shape{n, sym.Const(5)}, HasShape: true}
	w := ir.ConstValue("w", check.Input(ir.F32, []int64{5, 3}, 1, 1))
	p := &ir.Value{Name: "p", Type: ir.F32}
	y := &ir.Value{Name: "y", Type: ir.F32, Shape: ir.Shape{n, sym.Const(3)}, HasShape: true}
	p.Def = &ir.Node{Op: "MatMul", Version: 13, Name: "product", Inputs: []*ir.Value{x, w}, Outputs: []*ir.Value{p}, Attrs: ir.Attrs{}}
	y.Def = &ir.Node{Op: "Relu", Version: 14, Name: "relu", Inputs: []*ir.Value{p}, Outputs: []*ir.Value{y}, Attrs: ir.Attrs{}}
	g := &ir.Graph{Name: "g", Opset: 17, Inputs: []*ir.Value{x}, Outputs: []*ir.Value{y}, Nodes: []*ir.Node{p.Def, y.Def},
		Symbols: []ir.Symbol{{Name: "N", Lo: 1, Hi: 64}}}
	path := filepath.Join(t.TempDir(), "net.onnx")
	f, err := os.Create(path)
	require.NoError(t, err)
	require.NoError(t, onnx.Write(f, g))
	require.NoError(t, f.Close())
	return path
}

// atRoot goes to the repository's root, where the command runs.
func atRoot(t *testing.T) { t.Chdir("../..") }

// TestCompiledModel compares a compiled model with the interpreter. ofTests is the dnnc that tests
// run with: one that the environment names or, where that is "", one that is built.
func ofTests(t *testing.T) string {
	t.Helper()
	dnnc := os.Getenv("DNNC")
	if _, err := exec.LookPath("go"); dnnc == "" && err != nil {
		t.Skip("there is no go to build dnnc with")
	}
	return dnnc
}

func TestCompiledModel(t *testing.T) {
	if _, err := findCxx(&options{}); err != nil {
		t.Skip(err)
	}
	dnnc := ofTests(t)
	atRoot(t)
	path := network(t)
	o, err := parse([]string{path, "--dims=N=1..64", "--run=N=1", "--run=N=7", "--reference=interpreter", "--dnnc=" + dnnc})
	require.NoError(t, err)
	work := t.TempDir()
	o.runtime = t.TempDir()
	o.dnnc, err = compiler(o, work)
	require.NoError(t, err)
	chips, err := chooseChips(o, work)
	require.NoError(t, err)
	m, err := open(o, work)
	require.NoError(t, err)
	ref, err := chooseReference(o, m, work)
	require.NoError(t, err)
	p, err := makeProgram(o, m, chips, work)
	require.NoError(t, err)
	require.NoError(t, new(outcome).compareRuns(o, m, p, ref, work, io.Discard))
	o.tolerance = -1
	require.EqualError(t, new(outcome).compareRuns(o, m, p, ref, work, io.Discard), "2 outputs differ by more than -1 of their range")
	o.runs = list{"N=65"}
	require.ErrorContains(t, new(outcome).compareRuns(o, m, p, ref, work, io.Discard), "input x of shape [65, 5]")
	t.Run("Tune", func(t *testing.T) { tuneCompiled(t, path, o.dnnc, o.runtime) })
	t.Run("Variants", func(t *testing.T) { variantsCompiled(t, path, o.dnnc, o.runtime) })
	t.Run("FloatLayers", func(t *testing.T) { floatLayersCompiled(t, path, o.dnnc, o.runtime) })
	t.Run("Layers", func(t *testing.T) { layersCompiled(t, o.dnnc, o.runtime) })
}

// tuneCompiled measures two kernels of the model's block; compiled by the record, it has the faster
// one.
func tuneCompiled(t *testing.T, network, dnnc, runtime string) {
	path := filepath.Join(t.TempDir(), "net.tune.json")
	args := []string{network, "--dims=N=1..64", "--run=N=7", "--dnnc=" + dnnc}
	o, err := parse(append(args, "--tune="+path, "--candidates=2", "--rounds=1", "--seconds=0"))
	require.NoError(t, err)
	o.runtime = runtime
	var log strings.Builder
	require.NoError(t, tune(o, &log))
	assert.Contains(t, log.String(), "round 1 of 1, candidates 2 of 2: ")
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	r, err := tuning.Parse(data)
	require.NoError(t, err)
	require.Len(t, r.Chips, 1)
	require.Len(t, r.Chips[0].Blocks, 1, string(data))
	require.Len(t, r.Chips[0].Blocks[0].Kernels, 2)

	log.Reset()
	o.search = 1
	require.NoError(t, tune(o, &log))
	assert.Contains(t, log.String(), "performance model: estimates, because 2 measured kernels of 1 blocks are too few")
	assert.Contains(t, log.String(), "untuned defaults take ")
	data, err = os.ReadFile(path)
	require.NoError(t, err)
	r, err = tuning.Parse(data)
	require.NoError(t, err)
	require.Len(t, r.Chips[0].Blocks[0].Kernels, 3, "one more, that a search found")

	work := t.TempDir()
	o, err = parse(append(args, "--tuning="+path))
	require.NoError(t, err)
	_, err = chooseChips(o, work)
	require.NoError(t, err)
	m, err := open(o, work)
	require.NoError(t, err)
	require.NoError(t, generate(o, m, work, &times{}))
	text, err := os.ReadFile(work + "/model.manifest.json")
	require.NoError(t, err)
	times, err := r.For(r.Chips[0].Chip)
	require.NoError(t, err)
	var fastest []string // or nearly: the times of such a small block differ by less than noise on a busy machine
	kernels := times[r.Chips[0].Blocks[0].Key]
	for _, k := range kernels {
		if k.Micros <= 1.1*kernels[0].Micros && strings.Contains(string(text), `"kernel": "`+k.Name+`"`) {
			fastest = append(fastest, k.Name)
		}
	}
	assert.Len(t, fastest, 1, "kernels %+v", kernels)
}

// variantsCompiled compares each chip of a library with the interpreter, and measures kernels of
// the one that runs.
func variantsCompiled(t *testing.T, network, dnnc, runtime string) {
	all := []string{"x86_64", "x86_64_v3"}
	list := strings.Join(all, ",")
	o, err := parse([]string{network, "--dims=N=1..64", "--run=N=7", "--reference=interpreter", "--dnnc=" + dnnc, "--chip=" + list})
	require.NoError(t, err)
	o.runtime = runtime
	library, err := chooseChips(o, t.TempDir())
	require.NoError(t, err)
	if !runsHere(library[1]) {
		t.Skip("this machine has one of the chips only")
	}
	for _, chip := range all {
		t.Setenv("DNN_VARIANT", chip)
		var out strings.Builder
		_, err = compare(o, &out)
		require.NoError(t, err, chip)
		assert.Contains(t, out.String(), "for "+list+", 1 thread(s)")
	}
	t.Setenv("DNN_VARIANT", "z80")
	_, err = compare(o, io.Discard)
	require.ErrorContains(t, err, "name a variant that the model does not have")

	t.Setenv("DNN_VARIANT", all[0])
	path := filepath.Join(t.TempDir(), "net.tune.json")
	o.tune, o.candidates, o.rounds, o.seconds = path, 2, 1, 0
	require.NoError(t, tune(o, io.Discard))
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	r, err := tuning.Parse(data)
	require.NoError(t, err)
	require.Len(t, r.Chips, 1)
	assert.Equal(t, all[0], r.Chips[0].Chip, "the chip whose kernels were measured")
	require.NotEmpty(t, r.Chips[0].Blocks)
	t.Setenv("DNN_VARIANT", "")
	o.tune, o.tuning, o.rounds = "", path, 0
	_, err = compare(o, io.Discard)
	require.NoError(t, err, "compiled by a record of one of the chips")
}

func TestReport(t *testing.T) {
	x, y := check.Input(ir.F32, []int64{4}, 0, 1), check.Input(ir.F32, []int64{4}, 1, 1)
	near := func(name string, got, want *ir.Tensor, tolerance float64, near bool) {
		_, _, ok := report(io.Discard, name, got, want, tolerance, 0, "WRONG")
		assert.Equal(t, near, ok)
	}
	near("y", x, x, 0, true)
	near("y", x, y, 1e-4, false)
	near("y", nil, y, 1, false)
	near("y", check.Input(ir.F64, []int64{4}, 0, 1), x, 1, false)
	short := check.Input(ir.BF16, []int64{4}, 0, 1)
	bits := *short
	bits.Type = ir.U16 // as files hold them
	near("y", &bits, short, 0, true)
	near("y", &bits, check.Input(ir.BF16, []int64{4}, 1, 1), 1e-4, false)
}

func TestParse(t *testing.T) {
	t.Setenv("BUILD_WORKING_DIRECTORY", "/home/user")
	o, err := parse([]string{"--fill", "net.onnx", "--dims", "N=3", "--dims=H=1..8", "--disable=anchors"})
	require.NoError(t, err)
	assert.Equal(t, "/home/user/net.onnx", o.model)
	assert.Equal(t, list{"N=3", "H=1..8"}, o.dims)
	assert.Equal(t, "anchors", o.disable)
	assert.True(t, o.fill)
	assert.Equal(t, "python3", o.python)
	o, err = parse([]string{"net.onnx", "--python=venv/bin/python"})
	require.NoError(t, err)
	assert.Equal(t, "/home/user/venv/bin/python", o.python)
	for args, want := range map[string]string{
		"":                                       "found 0 models",
		"a.onnx b.onnx":                          "found 2 models (a.onnx b.onnx)",
		"a.onnx --reference=tvm":                 "want ort, interpreter, graph or none",
		"a.onnx --reference=none --layers":       "--reference=none compares nothing",
		"a.onnx --threads=0":                     "want a number from 1",
		"a.onnx --int-limit=0":                   "want a number from 1",
		"a.onnx --no-such-option=01":             "flag provided but not defined",
		"a.onnx --tune=a --tuning=b":             "--tune measures one model on this machine",
		"a.onnx --tune=a --peers=all --rounds=1": "--tune measures one model on this machine",
		"a.onnx --list=l --tune=a --tuning=b":    "--tune measures one model on this machine",
	} {
		_, err := parse(strings.Fields(args))
		assert.ErrorContains(t, err, want, args)
	}
}

func TestInputs(t *testing.T) {
	o, err := parse([]string{network(t), "--dims=N=2..64"})
	require.NoError(t, err)
	m, err := open(o, t.TempDir())
	require.NoError(t, err)
	env, err := m.sizes("")
	require.NoError(t, err)
	assert.Equal(t, map[string]int64{"N": 2}, env, "the lower bound")
	env, err = m.sizes("N=7")
	require.NoError(t, err)
	inputs, err := m.inputsOf(o, env)
	require.NoError(t, err)
	assert.Equal(t, []int64{7, 5}, inputs["x"].Shape)

	own := filepath.Join(t.TempDir(), "x.npy")
	require.NoError(t, check.WriteNpy(own, ir.NewTensor(ir.F32, 7, 5)))
	o.inputs = list{"x=" + own}
	inputs, err = m.inputsOf(o, env)
	require.NoError(t, err)
	assert.Equal(t, ir.NewTensor(ir.F32, 7, 5), inputs["x"])

	for text, want := range map[string][2]float32{"8": {8, 8}, "-1..3": {-1, 3}} {
		o.inputs = list{"x=" + text}
		inputs, err = m.inputsOf(o, env)
		require.NoError(t, err)
		for i := 0; i < len(inputs["x"].Data); i += 4 {
			x := math.Float32frombits(binary.LittleEndian.Uint32(inputs["x"].Data[i:]))
			assert.True(t, x >= want[0] && x <= want[1], "%v", x)
		}
	}
	o.inputs = list{"x=missing.npy"}
	_, err = m.inputsOf(o, env)
	require.ErrorContains(t, err, "--input x=missing.npy: open")

	_, err = m.sizes("M=7")
	require.EqualError(t, err, "--run M=7: the model has no symbol M; it has: N")
	_, err = m.sizes("N")
	require.ErrorContains(t, err, "want SYMBOL=NUMBER")
	o.inputs = list{"z=" + own}
	_, err = m.inputsOf(o, env)
	require.ErrorContains(t, err, `the model has no input "z"`)
}

func TestMadeUp(t *testing.T) {
	for name, limit := range map[string]int64{"input_ids": 1000, "token_type_ids": 2} {
		ints, err := madeUp(&ir.Value{Name: name, Type: ir.I64}, []int64{500}, 0, 1000).Ints()
		require.NoError(t, err)
		top := int64(0)
		for _, x := range ints {
			top = max(top, x)
		}
		assert.Less(t, top, limit, name)
		assert.Greater(t, top, limit/2-1, name)
	}
	ints, err := madeUp(&ir.Value{Name: "attention_mask", Type: ir.I64}, []int64{2}, 0, 1000).Ints()
	require.NoError(t, err)
	assert.Equal(t, []int64{1, 1}, ints)
}

func TestChips(t *testing.T) {
	atRoot(t)
	dir := t.TempDir()
	one, err := chooseChips(&options{}, dir)
	require.NoError(t, err)
	assert.True(t, runsHere(one[0]), "%s", one)
	one, err = chooseChips(&options{chip: "arm64"}, dir)
	require.NoError(t, err)
	assert.Equal(t, "arm64", one.String())
	facts, err := os.ReadFile(dir + "/chip.json")
	require.NoError(t, err)
	written, err := target.Parse(facts)
	require.NoError(t, err)
	assert.Equal(t, one[0], written)
	_, err = chooseChips(&options{chip: "z80"}, dir)
	require.ErrorContains(t, err, "want a JSON file, or one of platforms/chips/chips.bzl")
}

// TestList compares a list of two models, of which one is not there.
func TestList(t *testing.T) {
	if _, err := findCxx(&options{}); err != nil {
		t.Skip(err)
	}
	dnnc := ofTests(t)
	atRoot(t)
	net := network(t)
	list := filepath.Join(t.TempDir(), "list.txt")
	require.NoError(t, os.WriteFile(list, []byte("# Models.\n\nnet.onnx --run=N=2 --run=N=3\nmissing.onnx\nnet.onnx --dims=N=7 --tune=net.tune.json --candidates=2 --seconds=0\nother.onnx\n"), 0o666))
	args := []string{"--list=" + list, "--models=" + filepath.Dir(net), "--reference=interpreter", "--dnnc=" + dnnc, "--only=net|missing"}
	o, err := parse(args)
	require.NoError(t, err)
	var table, log strings.Builder
	require.EqualError(t, compareList(o, args, &table, &log), "1 of the list failed: missing.onnx")
	rows := strings.Split(strings.TrimSpace(table.String()), "\n")
	require.Len(t, rows, 6)
	assert.Contains(t, rows[2], "| net.onnx | x f32[2 5] | ")
	assert.Contains(t, rows[3], "| net.onnx | x f32[3 5] | ")
	assert.Contains(t, rows[4], "| missing.onnx | **open ")
	assert.Contains(t, rows[5], "| net.onnx tuned | x f32[7 5] | ")
	assert.Contains(t, log.String(), "round 20 of 20, candidates 2 of 2: ", "--rounds of the comparison are others")
	assert.FileExists(t, filepath.Join(filepath.Dir(net), "net.tune.json"))
}

// TestNoModel: a list of which nothing is taken is an error, and no empty table.
func TestNoModel(t *testing.T) {
	list := filepath.Join(t.TempDir(), "list.txt")
	require.NoError(t, os.WriteFile(list, []byte("net.onnx\n"), 0o666))
	args := []string{"--list=" + list, "--only=^other$", "--peers=all", "--rounds=1"}
	o, err := parse(args)
	require.NoError(t, err)
	require.EqualError(t, comparePeers(o, args, io.Discard, io.Discard), "--only=^other$ matches no model of "+list)
}

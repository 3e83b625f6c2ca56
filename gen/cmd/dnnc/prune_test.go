package main

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/compress/masks"
	"rules_dnn/gen/compress/prune"
	"rules_dnn/gen/emit/manifest"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/irtest"
	"rules_dnn/gen/kernel/fkw"
	"rules_dnn/gen/onnx"
	"rules_dnn/gen/pipeline"
)

func settings(t *testing.T, text string) string {
	require.NoError(t, os.WriteFile("settings.json", []byte(text), 0o644))
	return "--settings=settings.json"
}

func readReport(t *testing.T, name string) *prune.Report {
	text, err := os.ReadFile(name)
	require.NoError(t, err)
	r, err := prune.ParseReport(text)
	require.NoError(t, err)
	return r
}

// pruneResnet projects the application's network into pruned.onnx, and gives its source.
func pruneResnet(t *testing.T, text string, more ...string) string {
	src := absolute(t, resnet)
	t.Chdir(t.TempDir())
	mustRun(t, append([]string{"prune", "--src=" + src, settings(t, text), "--out=pruned.onnx", "--out-masks=net.masks", "--out-report=net.pruning.json"}, more...)...)
	return src
}

// TestPrune: the paper's rates on the application's network. Of the file only weights differ, each of which is as it was or zero.
func TestPrune(t *testing.T) {
	src := pruneResnet(t, `{"connectivity": 3.6}`, "--out-page=net.html")
	r := readReport(t, "net.pruning.json")
	require.False(t, r.Retrained)
	require.InDelta(t, 8.1, ratio(r), 0.4, "patterns of 4 of 9 entries times 3.6, but for the first layer, 1x1 ones and the last")
	require.Len(t, r.Layers, 20, "all convolutions but the first")
	require.Equal(t, []string{"c.weight", "f.weight"}, r.Dense)
	require.Empty(t, r.Skipped)
	require.Len(t, r.Patterns, 9)
	page, err := os.ReadFile("net.html")
	require.NoError(t, err)
	require.Contains(t, string(page), "<h1>Pruning of resnet20_cifar10.onnx</h1>")
	require.Equal(t, 9+18*8+2, strings.Count(string(page), "<title>")-1, "of the network, and of each layer")

	before, err := os.ReadFile(src)
	require.NoError(t, err)
	after, err := os.ReadFile("pruned.onnx")
	require.NoError(t, err)
	require.Equal(t, len(before), len(after))
	zeroed, other := 0, 0
	for at := range before {
		if before[at] != after[at] {
			other++
			if after[at] == 0 {
				zeroed++
			}
		}
	}
	require.Equal(t, other, zeroed, "a byte that differs is zero")
	require.NotZero(t, zeroed)

	// What is pruned stays so by its masks, and is called retrained: nothing is dropped.
	out := mustRun(t, "prune", "--src=pruned.onnx", "--masks=net.masks", "--out=again.onnx", "--out-report=again.json")
	require.Empty(t, out)
	again, err := os.ReadFile("again.onnx")
	require.NoError(t, err)
	require.True(t, bytes.Equal(after, again))
	require.True(t, readReport(t, "again.json").Retrained)

	out = mustRun(t, "prune", "--src="+src, "--masks=net.masks", "--out=again.onnx")
	require.Contains(t, out, "warning (pruning)")
	again, err = os.ReadFile("again.onnx")
	require.NoError(t, err)
	require.True(t, bytes.Equal(after, again), "masks do what the settings did that they come from")
}

func ratio(r *prune.Report) float64 {
	all, kept := int64(0), int64(0)
	for _, l := range r.Layers {
		all, kept = all+l.Weights, kept+l.KeptWeights
	}
	return float64(all) / float64(kept)
}

// TestPruneWarns: of weights that were dropped without retraining, when pruning and when compiling; the manifest says what computes them.
func TestPruneWarns(t *testing.T) {
	chip := factsFile(t, "x86_64_v3")
	src := pruneResnet(t, `{}`, "--warnings=none")
	const line = "were dropped without retraining"
	args := []string{"prune", "--src=" + src, "--settings=settings.json", "--out=pruned.onnx"}
	require.Contains(t, mustRun(t, args...), "resnet20_cifar10.onnx: warning (pruning): ")
	require.Empty(t, mustRun(t, append(args, "--accept=pruning")...))
	_, err := dnnc(append(args, "--warnings=error")...)
	require.ErrorContains(t, err, line)

	mustRun(t, graphArgs("pruned.onnx")...)
	require.Contains(t, mustRun(t, compileArgs("pruned.onnx", chip, "--pruning=net.pruning.json")...), line)
	_, err = dnnc(compileArgs("pruned.onnx", chip, "--pruning=net.pruning.json", "--warnings=error")...)
	require.ErrorContains(t, err, line)
	require.Empty(t, mustRun(t, compileArgs("pruned.onnx", chip, "--pruning=net.pruning.json", "--accept=pruning")...))
	text, err := os.ReadFile("net.manifest.json")
	require.NoError(t, err)
	var m manifest.Manifest
	require.NoError(t, json.Unmarshal(text, &m))
	require.Equal(t, "pruning", m.Warnings[0].Kind)
	require.Equal(t, 18, m.Pruning.Layers, "convolutions of 3x3")
	require.Contains(t, m.Pruning.Kernels, "kernels for processors skip dropped weights, unless another kernel is estimated to be faster by 10 % (with packed, always)")
	require.Greater(t, m.Pruning.Weights, m.Pruning.KeptWeights)

	require.NoError(t, os.WriteFile("bad.json", []byte("[]"), 0o644))
	_, err = dnnc(compileArgs("pruned.onnx", chip, "--pruning=bad.json")...)
	require.ErrorContains(t, err, "bad.json: report of pruning: ")
}

// TestPrunedPage: a compiled network's manifest and page say of each pruned layer how its weights are stored: left out where that is estimated to be
// faster, and as they were where it is not allowed.
func TestPrunedPage(t *testing.T) {
	chip := factsFile(t, "x86_64_v4")
	pruneResnet(t, `{"connectivity": 3.6, "share": 16}`, "--warnings=none")
	mustRun(t, graphArgs("pruned.onnx")...)
	trained := `{"before": {"accuracy": 0.9239}, "after": {"accuracy": 0.9166}, "residuals": []}`
	require.NoError(t, os.WriteFile("log.json", []byte(trained), 0o644))
	read := func(more ...string) (*manifest.Manifest, string) {
		mustRun(t, compileArgs("pruned.onnx", chip, append(more, "--pruning=net.pruning.json", "--pruning-log=log.json", "--out-pruning-page=net.report.html", "--accept=pruning")...)...)
		text, err := os.ReadFile("net.manifest.json")
		require.NoError(t, err)
		m := &manifest.Manifest{}
		require.NoError(t, json.Unmarshal(text, m))
		require.Len(t, m.Pruning.Chosen, 20)
		page, err := os.ReadFile("net.report.html")
		require.NoError(t, err)
		return m, string(page)
	}
	sparse := func(m *manifest.Manifest) int {
		n := 0
		for _, l := range m.Pruning.Chosen {
			require.Len(t, l.Blocks, 1, l.Node)
			require.Positive(t, l.Blocks[0].Cycles, l.Node)
			if strings.HasPrefix(l.Blocks[0].Encoding, "fkw ") {
				_, err := fkw.Parse(l.Blocks[0].Encoding)
				require.NoError(t, err)
				n++
			}
		}
		return n
	}
	m, page := read()
	require.Equal(t, "l.0.c1.weight", m.Pruning.Chosen[0].Weights)
	require.GreaterOrEqual(t, sparse(m), 12)
	require.Contains(t, page, fmt.Sprintf("On x86_64_v4, kernels of %d of 20 pruned layers skip", sparse(m)))
	require.Equal(t, sparse(m), strings.Count(page, ">FKW, "))
	require.Contains(t, page, "91.66 %")

	m, page = read("--disable=anchors")
	require.Zero(t, sparse(m))
	require.Contains(t, page, "On x86_64_v4, no kernel skips dropped weights")
	require.Equal(t, 20, strings.Count(page, "<td>dense<br/>"))
}

// TestPruneAsksForPacked: weights whose layers are to be packed take less, also where other kernels are faster: all by settings or, of masks, by --packed, and
// those that a policy names. Masks keep what was asked for.
func TestPruneAsksForPacked(t *testing.T) {
	chip := factsFile(t, "x86_64_v4")
	src := pruneResnet(t, `{"connectivity": 3.6}`, "--warnings=none")
	graphed := func(report string) (bytes int64, packed, asked []string) {
		mustRun(t, graphArgs("pruned.onnx")...)
		mustRun(t, compileArgs("pruned.onnx", chip, "--pruning="+report, "--accept=pruning")...)
		text, err := os.ReadFile("net.manifest.json")
		require.NoError(t, err)
		m := &manifest.Manifest{}
		require.NoError(t, json.Unmarshal(text, m))
		for _, l := range m.Pruning.Chosen {
			if strings.HasPrefix(l.Blocks[0].Encoding, "fkw ") {
				packed = append(packed, l.Weights)
			}
			if l.Packed {
				asked = append(asked, l.Weights)
			}
		}
		return m.WeightsBytes, packed, asked
	}
	most, by, asked := graphed("net.pruning.json")
	require.Empty(t, asked)
	require.NotContains(t, by, "l.8.c2.weight", "its kernels are faster by another tenth and more where they are not packed")

	mustRun(t, "prune", "--src="+src, settings(t, `{"connectivity": 3.6, "packed": true}`), "--warnings=none", "--out=pruned.onnx", "--out-masks=packed.masks", "--out-report=all.json")
	least, all, asked := graphed("all.json")
	require.Len(t, asked, 20)
	require.Len(t, all, 16, "all but the convolutions of a stride of 2, two of them of 1x1: no kernel packs what filters of these do not share")
	require.Less(t, 4*least, most, "bytes of weights")

	for _, given := range [][]string{{"--masks=net.masks", "--packed"}, {"--masks=packed.masks"}} {
		mustRun(t, append([]string{"prune", "--src=" + src, "--warnings=none", "--out=pruned.onnx", "--out-report=again.json"}, given...)...)
		bytes, again, _ := graphed("again.json")
		require.Equal(t, least, bytes, given)
		require.Equal(t, all, again, given)
	}

	require.NoError(t, os.WriteFile("p.star", []byte("def policy(layer):\n  return settings(packed = layer.name == \"l.8.c2.weight\")\n"), 0o644))
	mustRun(t, "prune", "--src="+src, settings(t, `{"connectivity": 3.6}`), "--policy=p.star", "--warnings=none", "--out=pruned.onnx", "--out-report=one.json")
	_, one, asked := graphed("one.json")
	require.Equal(t, []string{"l.8.c2.weight"}, asked)
	require.Equal(t, append(by, "l.8.c2.weight"), one)

	_, err := dnnc("prune", "--src="+src, "--settings=settings.json", "--packed", "--out=x.onnx")
	require.ErrorContains(t, err, `--packed: only for --masks; with --settings, write "packed": true in the file`)
}

// TestPrunedIn16Bits checks that a pruned network in 16 bits has the packed layers, warnings and
// counts of the network in f32, and fewer bytes.
func TestPrunedIn16Bits(t *testing.T) {
	chips := []string{factsFile(t, "x86_64_v3"), factsFile(t, "arm64_cortex_a76")}
	pruneResnet(t, `{"connectivity": 3.6, "packed": true}`, "--warnings=none")
	mustRun(t, graphArgs("pruned.onnx")...)
	for _, chip := range chips {
		read := func(precision string) (*manifest.Manifest, string) {
			told := mustRun(t, compileArgs("pruned.onnx", chip, "--precision="+precision, "--pruning=net.pruning.json", "--out-pruning-page=net.report.html")...)
			require.Equal(t, 1, strings.Count(told, "warning (pruning)"), told)
			text, err := os.ReadFile("net.manifest.json")
			require.NoError(t, err)
			m := &manifest.Manifest{}
			require.NoError(t, json.Unmarshal(text, m))
			page, err := os.ReadFile("net.report.html")
			require.NoError(t, err)
			return m, string(page)
		}
		packed := func(m *manifest.Manifest) (layers []string) {
			for _, l := range m.Pruning.Chosen {
				if strings.HasPrefix(l.Blocks[0].Encoding, "fkw ") {
					layers = append(layers, l.Weights)
				}
			}
			return layers
		}
		r := readReport(t, "net.pruning.json")
		whole, _ := read("fp32")
		for precision, storage := range map[string]string{"fp16": "f16", "bf16": "bf16"} {
			m, page := read(precision)
			require.Equal(t, storage, m.Precision.Storage)
			require.Equal(t, packed(whole), packed(m))
			require.Equal(t, whole.Pruning.KeptWeights, m.Pruning.KeptWeights)
			require.Less(t, m.WeightsBytes, whole.WeightsBytes*4/5, "positions take as many bytes, and few dense weights are f32")
			require.Contains(t, page, fmt.Sprintf("%.1f kB</td><td class=\"n\">", float64(2*r.Total.Weights)/1024))
		}
	}
}

// TestPackedOfAllReaders: what a report asks for is asked for of each node that reads the weights, which would be stored twice otherwise.
func TestPackedOfAllReaders(t *testing.T) {
	file := filepath.Join(t.TempDir(), "report.json")
	text := `{"kernels": "some", "layers": [{"label": "Conv \"a\"", "also": ["Conv \"b\""], "packed": true}, {"label": "Conv \"c\""}]}`
	require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
	f, s := &compileFlags{pruning: file}, &pipeline.State{}
	require.NoError(t, f.readPruning(s))
	require.Equal(t, map[string]bool{`Conv "a"`: true, `Conv "b"`: true}, s.Packed)
}

// TestPrunedPageOfDevice: layers that the device computes are among those of the page.
func TestPrunedPageOfDevice(t *testing.T) {
	chip, buffers := factsFile(t, "x86_64_v3"), absolute(t, devices+"opencl_buffers.json")
	pruneResnet(t, `{"connectivity": 3.6}`, "--warnings=none")
	mustRun(t, graphArgs("pruned.onnx")...)
	mustRun(t, compileArgs("pruned.onnx", chip, "--device="+buffers, "--out-device-source=net.cl", "--pruning=net.pruning.json", "--out-pruning-page=net.report.html", "--accept=pruning")...)
	text, err := os.ReadFile("net.manifest.json")
	require.NoError(t, err)
	m := &manifest.Manifest{}
	require.NoError(t, json.Unmarshal(text, m))
	launched := 0
	for _, l := range m.Pruning.Chosen {
		require.NotEmpty(t, l.Blocks, l.Node)
		for _, b := range l.Blocks {
			if b.Device {
				launched++
			}
		}
	}
	require.NotZero(t, launched)
	page, err := os.ReadFile("net.report.html")
	require.NoError(t, err)
	require.Equal(t, launched, strings.Count(string(page), ", on the device<br/>"))
}

// TestPageRefused: a page wants what it shows.
func TestPageRefused(t *testing.T) {
	for want, more := range map[string][]string{
		"--out-pruning-page=p.html: the page shows the report of dnnc prune; add --pruning": {"--out-pruning-page=p.html"},
		"--pruning-log=l.json: only --out-pruning-page shows it":                            {"--pruning=r.json", "--pruning-log=l.json"},
	} {
		_, err := dnnc(compileArgs("net.onnx", "chip.json", more...)...)
		require.ErrorContains(t, err, want)
	}
}

// small writes a model of three layers with external data, weights.bin.
func small(t *testing.T) {
	g := irtest.Parse(t, "input %x f32[1, 4, 8, 8]\n%y f32[1, 4, 8, 8] = Relu.14(%x) \"r\"\noutput %y\n")
	x := g.Outputs[0]
	for i, name := range []string{"a", "b", "c"} {
		w := ir.NewTensor(ir.F32, 4, 4, 3, 3)
		for k := range 144 {
			binary.LittleEndian.PutUint32(w.Data[4*k:], math.Float32bits(float32((k*37+i*11)%101-50)))
		}
		n := &ir.Node{Op: "Conv", Version: 11, Name: "conv_" + name, Inputs: []*ir.Value{x, ir.ConstValue(name, w)}, Attrs: ir.Attrs{"pads": []int64{1, 1, 1, 1}}}
		x = &ir.Value{Name: "y_" + name, Type: ir.F32, Shape: x.Shape, HasShape: true, Def: n}
		n.Outputs = []*ir.Value{x}
		g.Nodes = append(g.Nodes, n)
	}
	g.Outputs[0] = x
	var model, data bytes.Buffer
	require.NoError(t, onnx.WriteExternal(&model, &data, "sub/weights.bin", g))
	require.NoError(t, os.WriteFile("model.onnx", model.Bytes(), 0o644))
	require.NoError(t, os.WriteFile("weights.bin", data.Bytes(), 0o644))
}

// TestPruneExternal: weights in a file of their own change there, and the model not at all.
func TestPruneExternal(t *testing.T) {
	t.Chdir(t.TempDir())
	small(t)
	args := []string{"prune", "--src=model.onnx", "--external=sub/weights.bin=weights.bin", settings(t, `{"connectivity": 2}`), "--out=out.onnx"}
	_, err := dnnc(args...)
	require.ErrorContains(t, err, `weights in the external data "sub/weights.bin" are pruned: name the changed file with --out-external=sub/weights.bin=PATH`)
	require.NoFileExists(t, "out.onnx")
	mustRun(t, append(args, "--out-external=sub/weights.bin=out.bin", "--warnings=none", "--out-masks=masks")...)
	files := tree(t)
	require.Equal(t, files["model.onnx"], files["out.onnx"])
	require.Equal(t, len(files["weights.bin"]), len(files["out.bin"]))
	require.Equal(t, files["weights.bin"][:4*144], files["out.bin"][:4*144], "the first layer is exempt")
	require.Greater(t, strings.Count(files["out.bin"][4096:], "\x00"), 4*9*16*2*7/9)
	spelled := append([]string{"prune", "--src=model.onnx", "--external=./sub//weights.bin=weights.bin"}, args[3:]...)
	mustRun(t, append(spelled, "--out-external=sub/./weights.bin=spelled.bin", "--warnings=none")...)
	require.Equal(t, files["out.bin"], tree(t)["spelled.bin"], "a location in another form is the same one")
	for want, more := range map[string]string{
		"want LOCATION=PATH":     "--out-external=x",
		"no --external has this": "--out-external=other=y",
		"given twice":            "--out-external=sub/weights.bin=z",
		"which is read; use another path for the output": "--out-external=sub/weights.bin=weights.bin",
	} {
		extra := []string{more}
		if want == "given twice" {
			extra = append(extra, "--out-external=sub/weights.bin=w")
		}
		_, err := dnnc(append(args, extra...)...)
		assert.ErrorContains(t, err, want)
	}
}

// TestHostileMasks: masks of another network, and weights that are no numbers.
func TestHostileMasks(t *testing.T) {
	t.Chdir(t.TempDir())
	small(t)
	ok := func() *masks.Layer {
		return &masks.Layer{Name: "b", Shape: []int64{4, 4, 3, 3}, Groups: 1, Share: 1, Patterns: []fkw.Pattern{0x1b}, Kernels: bytes.Repeat([]byte{1}, 16)}
	}
	apply := func(l *masks.Layer) error {
		var b bytes.Buffer
		require.NoError(t, masks.Write(&b, &masks.Set{Layers: []*masks.Layer{l}}))
		require.NoError(t, os.WriteFile("masks", b.Bytes(), 0o644))
		_, err := dnnc("prune", "--src=model.onnx", "--external=sub/weights.bin=weights.bin", "--masks=masks", "--out=out.onnx", "--out-external=sub/weights.bin=out.bin")
		return err
	}
	require.NoError(t, apply(ok()))
	require.NoError(t, os.Remove("out.onnx"))
	for want, change := range map[string]func(*masks.Layer){
		`mask of "d": the network has no such weights`: func(l *masks.Layer) { l.Name = "d" },
		"the network's have [4 4 3 3]":                 func(l *masks.Layer) { l.Shape = []int64{4, 4, 5, 5} },
		"its filters are on axis 1":                    func(l *masks.Layer) { l.FilterAxis = 1 },
		"it has 2 groups":                              func(l *masks.Layer) { l.Groups = 2 },
	} {
		l := ok()
		change(l)
		require.ErrorContains(t, apply(l), want)
		require.NoFileExists(t, "out.onnx")
	}
	data, err := os.ReadFile("weights.bin")
	require.NoError(t, err)
	binary.LittleEndian.PutUint32(data[4096+4*20:], 0x7fc00000)
	require.NoError(t, os.WriteFile("weights.bin", data, 0o644))
	require.ErrorContains(t, apply(ok()), `layer "b" (weights of Conv "conv_b"): element 20 of the weights is NaN; want finite numbers`)
	require.NoError(t, os.WriteFile("masks", []byte("no masks at all"), 0o644))
	_, err = dnnc("prune", "--src=model.onnx", "--external=sub/weights.bin=weights.bin", "--masks=masks", "--out=out.onnx")
	require.ErrorContains(t, err, "masks: reading masks: reading safetensors: ")
}

// TestPruneErrors: what is asked for and cannot be.
func TestPruneErrors(t *testing.T) {
	src := pruneResnet(t, `{}`, "--accept=pruning")
	for want, text := range map[string]string{
		"nothing is pruned":                      `{"patterns": 0}`,
		"settings.json: pruning settings: ":      `{"share": 3}`,
		`exempt names "x", which is not a layer`: `{"exempt": ["x"]}`,
		"unknown field":                          `{"pattern": 8}`,
	} {
		_, err := dnnc("prune", "--src="+src, settings(t, text), "--out=x.onnx")
		require.ErrorContains(t, err, want)
	}
	_, err := dnnc("prune", "--src="+src, "--out=x.onnx")
	require.ErrorContains(t, err, "want one of --settings")
	_, err = dnnc("prune", "--src="+src, "--out=x.onnx", "--settings=settings.json", "--masks=net.masks")
	require.ErrorContains(t, err, "want one of --settings")
	tiny(t, relu)
	_, err = dnnc("prune", "--src=model.onnx", settings(t, `{}`), "--out=x.onnx")
	require.ErrorContains(t, err, "nothing is pruned")
}

// TestPrunePolicy: a policy decides for each layer, and its mistakes name file and line.
func TestPrunePolicy(t *testing.T) {
	t.Chdir(t.TempDir())
	small(t)
	write := func(body string) []string {
		require.NoError(t, os.WriteFile("p.star", []byte("def policy(layer):\n  "+body+"\n"), 0o644))
		return []string{"prune", "--src=model.onnx", "--external=sub/weights.bin=weights.bin", "--policy=p.star", "--warnings=none",
			"--out=out.onnx", "--out-external=sub/weights.bin=out.bin", "--out-report=report.json"}
	}
	set := settings(t, `{"exempt_first": false, "connectivity": 2}`)
	mustRun(t, append(write("return dense if layer.position == 0 else settings(connectivity = 2 * layer.position, patterns = 3)"), set)...)
	r := readReport(t, "report.json")
	require.Equal(t, []string{"a"}, r.Dense)
	require.Equal(t, []int64{8, 4}, []int64{r.Layers[0].KeptKernels, r.Layers[1].KeptKernels})
	require.Len(t, r.Patterns, 3)
	require.EqualValues(t, 3*4*4*9*64, r.Total.MACs, "padding counts")
	_, err := dnnc(append(write("return settings(entries = 12)"), set)...)
	require.ErrorContains(t, err, `p.star:2:18: in policy: settings: entries = 12; want 1 to 9, the kernel's taps (layer "a")`)
	_, err = dnnc(append(write("return 1 // 0"), set)...)
	require.ErrorContains(t, err, "p.star:2:12: in policy: floored division by zero")
	_, err = dnnc(append(write("return dense"), "--masks=masks")...)
	require.ErrorContains(t, err, "only --settings has a policy")
}

// attemptPrune prunes model.onnx, as far as it has weights: what fails leaves nothing.
func attemptPrune(t *testing.T) {
	t.Helper()
	set := settings(t, `{"exempt_first": false, "connectivity": 2, "fully_connected": 2, "entries": {"3x3": 4, "1x1": 1}}`)
	for _, more := range []string{"--warnings=none", "--shrink"} {
		_, err := dnnc("prune", "--src=model.onnx", set, "--out=pruned.onnx", "--out-masks=masks", "--out-report=report", "--out-page=page", more)
		if err == nil {
			continue
		}
		assert.NotContains(t, err.Error(), "internal error")
		assert.Less(t, len(err.Error()), 20000)
		for _, name := range []string{"pruned.onnx", "masks", "report", "page"} {
			assert.NoFileExists(t, name)
		}
	}
}

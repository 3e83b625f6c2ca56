package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/onnx"
)

// TestShapes: each shape is a network that the compiler reads, and grows with its number.
func TestShapes(t *testing.T) {
	seen := map[string]bool{}
	for _, s := range shapes {
		t.Run(s.name, func(t *testing.T) {
			assert.False(t, seen[s.name], "another shape has the name")
			seen[s.name] = true
			nodes := func(n int) int {
				b, err := proto.Marshal(s.make(n))
				require.NoError(t, err)
				g, err := onnx.Read(&ir.File{Name: "net.onnx", R: bytes.NewReader(b), Size: int64(len(b))}, nil, onnx.Options{})
				require.NoError(t, err)
				parts := 0
				for _, x := range g.Nodes {
					parts += 1 + len(x.Inputs) + len(x.Outputs)
				}
				return parts
			}
			assert.Greater(t, nodes(64), 3*nodes(16))
			assert.NotEmpty(t, s.doc)
		})
	}
}

func TestNote(t *testing.T) {
	p := point{mb: 20}
	p.note("simplify          61.5 ms\nfuse             302.0 ms\nmemory    30500 kB\n")
	p.note("select            12.0 ms\nmemory    10000 kB\n")
	assert.Equal(t, point{mb: 30.5, pass: "fuse", passSeconds: 0.302}, p)
}

// TestModels: a row for each network of a folder that --only lets through, beside another compiler;
// one that is refused has the reason, and more than is allowed fails.
func TestModels(t *testing.T) {
	repository, err := filepath.Abs("../..")
	require.NoError(t, err)
	t.Chdir(repository)
	dir := t.TempDir()
	compiler := func(name, text string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte("#!/bin/sh\n"+text), 0o755))
		return path
	}
	took := compiler("dnnc", "echo 'select            12.0 ms' >&2; echo 'memory    20000 kB' >&2\n")
	refuses := compiler("older", "echo 'memory 1 kB' >&2; echo 'dnnc: no such operator' >&2; exit 1\n")
	for _, name := range []string{"a.onnx", "b.onnx", "c.txt"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), nil, 0o600))
	}
	o, err := parse([]string{"--models", dir, "--only", "a", "--dnnc", took, "--beside", took, "--runs", "2"}, nil)
	require.NoError(t, err)
	var out bytes.Buffer
	require.NoError(t, o.run(&out))
	assert.Regexp(t, `(?m)^\| a \| [0-9.]+ \| 20 \| select \| 0\.01 \| [0-9.]+ \| 20 \| .* \| 1\.00 \|$`, out.String())
	assert.NotContains(t, out.String(), "| b |")

	out.Reset()
	o.beside, o.mostMB = refuses, 10
	assert.ErrorContains(t, o.run(&out), "a takes ")
	assert.Contains(t, out.String(), "| 0.01 | dnnc: no such operator |\n")
	o.only = regexp.MustCompile("x")
	assert.ErrorContains(t, o.run(&out), "there are no networks NAME.onnx in it that --only lets through")
}

// TestPage: a line for each shape, a circle for each network, and what one looks for when one
// points at it.
func TestPage(t *testing.T) {
	text := page([]point{{shape: "chain", n: 1000, seconds: 0.1, mb: 17}, {shape: "chain", n: 10000, seconds: 1, mb: 53}, {shape: "<wide>", n: 1000, seconds: 0.1, mb: 20}})
	assert.Equal(t, 3, bytes.Count([]byte(text), []byte("<circle")))
	assert.Equal(t, 2, bytes.Count([]byte(text), []byte("<polyline")))
	for _, want := range []string{"<title>How dnnc's time grows</title>", "chain, 10000: 1.00 s, 53 MB", "&lt;wide&gt;", ">0.1 s</text>", ">10000</text>"} {
		assert.Contains(t, text, want)
	}
	assert.Contains(t, page(nil), "<svg")
}

func TestParse(t *testing.T) {
	o, err := parse([]string{"--nodes", "10,20", "--only", "chain"}, nil)
	require.NoError(t, err)
	assert.Equal(t, []int{10, 20}, o.nodes)
	for _, args := range [][]string{{"--nodes", "10,x"}, {"--nodes", "0"}, {"--only", "("}, {"more"}, {"--beside", "dnnc"}, {"--runs", "2"}, {"--models", "a", "--runs", "0"}, {"--models", "a", "--html", "b"}} {
		_, err := parse(args, nil)
		assert.Error(t, err, "%v", args)
	}
	var help bytes.Buffer
	_, err = parse([]string{"--help"}, &help)
	require.Error(t, err)
	assert.Contains(t, help.String(), "examples")
}

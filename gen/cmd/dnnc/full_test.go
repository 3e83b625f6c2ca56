package main

import (
	"errors"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/pipeline"
)

// TestNoHalfOutput: where weights cannot be read or written after all, no output is left.
func TestNoHalfOutput(t *testing.T) {
	src, chip := absolute(t, resnet), factsFile(t, "x86_64")
	t.Chdir(t.TempDir())
	mustRun(t, graphArgs(src)...)
	before := tree(t)
	f := compileFlags{graph: "net.graph.txt", consts: "net.consts", src: src, chip: chip, api: "net", prefix: "net", namespace: "net",
		header: "out/net.h", kernels: "out/kernels", weightsOut: "out/net.weights", asm: "out/net.weights.S", mf: "out/net.manifest.json", shards: 1}
	compiled := func() *pipeline.State {
		s, err := f.read()
		require.NoError(t, err)
		done, err := pipeline.Run(pipeline.CompilePasses, s, pipeline.Options{})
		require.NoError(t, err)
		require.True(t, done)
		return s
	}
	s := compiled()
	last := s.Program.Constants[len(s.Program.Constants)-1].Value
	last.Const = ir.Computed(last.Const.Type, last.Const.Shape, 1, func([]byte, int64) error { return errors.New("the disk is gone") })
	err := f.write(s)
	require.ErrorContains(t, err, "writing out/net.weights: constant ")
	require.ErrorContains(t, err, "the disk is gone")
	assert.Equal(t, before, tree(t))

	// A folder where a file should go: the weights are written then.
	require.NoError(t, os.MkdirAll("out/net.h/taken", 0o777))
	require.Error(t, f.write(compiled()))
	assert.Equal(t, before, tree(t))
	require.NoError(t, os.RemoveAll("out/net.h"))
	require.NoError(t, f.write(compiled()))
	assert.NotEmpty(t, tree(t)["out/net.weights"])
}

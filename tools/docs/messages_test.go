package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestMessages: messages.txt lists what the sources say.
func TestMessages(t *testing.T) {
	root := checkout(t)
	pages, err := messagesPage(&repository{root: root})
	require.NoError(t, err)
	data, err := os.ReadFile(filepath.Join(root, folder, "messages.txt"))
	require.NoError(t, err)
	require.Equal(t, pages["messages.txt"], string(data), "run 'go run ./tools/docs -update'")
}

// TestMissingMessage: a page that lacks a message is stale.
func TestMissingMessage(t *testing.T) {
	root := t.TempDir()
	for _, dir := range []string{"gen/cmd/dnnc", "platforms", "rules", "runtime", "toolchains"} {
		require.NoError(t, os.MkdirAll(filepath.Join(root, dir), 0o755))
	}
	source := filepath.Join(root, "gen/cmd/dnnc/main.go")
	stale := func(code string) []string {
		require.NoError(t, os.WriteFile(source, []byte("package main\n"+code), 0o644))
		pages, err := messagesPage(&repository{root: root})
		require.NoError(t, err)
		stale, err := compare(root, pages)
		require.NoError(t, err)
		require.NoError(t, write(root, pages, stale))
		return stale
	}
	const one, two = "var a = errors.New(\"a file is missing\")\n", "var b = errors.New(\"a name is missing\")\n"
	require.Equal(t, []string{"messages.txt"}, stale(one))
	require.Empty(t, stale("// A comment is no message.\n"+one))
	require.Equal(t, []string{"messages.txt"}, stale(one+two))
	require.Equal(t, []string{"messages.txt"}, stale(two))
}

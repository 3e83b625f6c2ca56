package command

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// place makes empty files below a folder.
func place(t *testing.T, names ...string) string {
	root, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	for _, name := range names {
		path := filepath.Join(root, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte("module rules_dnn\n"), 0o644))
	}
	return root
}

// in goes to a folder, in which a user of `bazel run` was in another one; "" is none.
func in(t *testing.T, folder, user string) {
	t.Chdir(folder)
	t.Setenv(workingDirectory, user)
	t.Setenv("BUILD_WORKSPACE_DIRECTORY", "")
}

func TestEnterFiles(t *testing.T) {
	const file = "runtime/x.cc"
	root := place(t, "repo/"+file, "repo/a/b/c", "user/c", "t.runfiles/_main/c", "t.runfiles/rules_dnn~/"+file, "elsewhere/c")
	for _, c := range []struct{ from, user, want string }{
		{"repo", "", "repo"},
		{"repo/a/b", "", "repo"},
		{"t.runfiles/_main", "user", "t.runfiles/rules_dnn~"},
		{"t.runfiles/rules_dnn~", "user", "t.runfiles/rules_dnn~"},
	} {
		user := c.user
		if user != "" {
			user = filepath.Join(root, user)
		}
		in(t, filepath.Join(root, c.from), user)
		require.NoError(t, EnterFiles(file), c.from)
		here, err := os.Getwd()
		require.NoError(t, err)
		assert.Equal(t, filepath.Join(root, c.want), here, c.from)
		if user == "" {
			user = filepath.Join(root, c.from)
		}
		assert.Equal(t, filepath.Join(user, "x.onnx"), Path("x.onnx"))
		assert.Equal(t, "/x.onnx", Path("/x.onnx"))
		assert.Empty(t, Path(""))
	}
	in(t, filepath.Join(root, "elsewhere"), "")
	assert.ErrorContains(t, EnterFiles(file), "there is no runtime/x.cc of rules_dnn around "+filepath.Join(root, "elsewhere")+"; run this command with 'bazel run'")
}

func TestEnterRepository(t *testing.T) {
	root := place(t, "repo/go.mod", "repo/a/c", "user/c", "t.runfiles/_main/c")
	in(t, filepath.Join(root, "repo/a"), "")
	out := "out"
	require.NoError(t, EnterRepository(&out))
	assert.Equal(t, filepath.Join(root, "repo/a/out"), out)
	in(t, filepath.Join(root, "t.runfiles/_main"), filepath.Join(root, "user"))
	assert.ErrorContains(t, EnterRepository(), "run this command from the repository of rules_dnn")
	t.Setenv("BUILD_WORKSPACE_DIRECTORY", filepath.Join(root, "repo"))
	require.NoError(t, EnterRepository())
}

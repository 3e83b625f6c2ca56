package files

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var sources = regexp.MustCompile(`^x[0-9]*\.cc$`)

func pipe(t *testing.T, path string) {
	t.Helper()
	require.NoError(t, syscall.Mkfifo(path, 0o644))
}

// tree is all that is below the working directory: contents of files, and of all else what it is.
func tree(t *testing.T) map[string]string {
	t.Helper()
	list := map[string]string{}
	require.NoError(t, filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.Type().IsRegular():
			data, err := os.ReadFile(path)
			list[path] = string(data)
			return err
		case path != ".":
			list[path] = d.Type().String()
		}
		return nil
	}))
	return list
}

func write(t *testing.T, path, text string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
}

// example is a set of four files, two of which are in folders that may not be there, with stale sources.
func example(t *testing.T) *Set {
	t.Helper()
	s := New()
	t.Cleanup(s.Close)
	f, err := s.Create("weights")
	require.NoError(t, err)
	_, err = f.WriteString("new weights")
	require.NoError(t, err)
	s.Add("k/x0.cc", []byte("new source"))
	s.Add("a/b/header", []byte("new header"))
	s.Add("manifest", []byte("new manifest"))
	s.Owns("k", sources)
	return s
}

// before is an earlier build, and what else is there.
func before(t *testing.T) map[string]string {
	t.Helper()
	t.Chdir(t.TempDir())
	write(t, "weights", "old weights")
	write(t, "k/x0.cc", "old source")
	write(t, "k/x1.cc", "old source 1")
	write(t, "k/mine.cc", "mine")
	write(t, "manifest", "old manifest")
	require.NoError(t, os.Mkdir("k/x2.cc", 0o755))
	return tree(t)
}

// TestCommit: all files are there, and stale ones are not; what others have stays.
func TestCommit(t *testing.T) {
	old := before(t)
	s := example(t)
	during := tree(t)
	for path, text := range old {
		assert.Equal(t, text, during[path], "before Commit nothing changes")
	}
	require.NoError(t, s.Commit())
	s.Close()
	drwx := old["k"]
	assert.Equal(t, map[string]string{"weights": "new weights", "k": drwx, "k/x0.cc": "new source", "k/mine.cc": "mine", "k/x2.cc": drwx,
		"a": drwx, "a/b": drwx, "a/b/header": "new header", "manifest": "new manifest"}, tree(t))
}

// TestClose: what was not committed leaves nothing behind, no folder either.
func TestClose(t *testing.T) {
	old := before(t)
	s := example(t)
	require.NoError(t, s.finish())
	assert.Greater(t, len(tree(t)), len(old))
	s.Close()
	assert.Equal(t, old, tree(t))

	s = example(t)
	require.NoError(t, s.finish())
	write(t, "a/b/mine", "of another process")
	s.Close()
	assert.Equal(t, "of another process", tree(t)["a/b/mine"])
}

// TestUndo: where one of the moves fails, whichever it is, all is as it was.
func TestUndo(t *testing.T) {
	for k := range 4 {
		old := before(t)
		s := example(t)
		require.NoError(t, s.finish())
		require.NoError(t, os.Remove(s.files[k].temp.Name()))
		var m moves
		require.Error(t, s.move(&m), "%d", k)
		require.NoError(t, m.undo())
		s.Close()
		assert.Equal(t, old, tree(t), "%d", k)
	}
}

// TestOthersUndo: undoing leaves what another program put in the place of our file.
func TestOthersUndo(t *testing.T) {
	before(t)
	s := example(t)
	require.NoError(t, s.finish())
	var m moves
	require.NoError(t, s.move(&m))
	write(t, "other", "of another program")
	require.NoError(t, os.Rename("other", "a/b/header"))
	require.NoError(t, m.undo())
	assert.Equal(t, "of another program", tree(t)["a/b/header"])
	assert.Equal(t, "old weights", tree(t)["weights"])
}

// TestPlaces: folders, pipes and devices in an output's place stay, and nothing else changes.
func TestPlaces(t *testing.T) {
	for want, change := range map[string]func(){
		"a folder": func() { require.NoError(t, os.Mkdir("manifest", 0o755)) },
		"a pipe":   func() { pipe(t, "manifest") },
		"a device": func() { device(t, "manifest") },
	} {
		before(t)
		require.NoError(t, os.Remove("manifest"))
		change()
		old := tree(t)
		s := example(t)
		assert.ErrorContains(t, s.Commit(), "manifest is "+want+"; want a file, or an unused path")
		s.Close()
		assert.Equal(t, old, tree(t))
	}
	before(t)
	s := example(t)
	s.Add("./k/../weights", nil)
	assert.ErrorContains(t, s.Commit(), "same path")
}

// device makes a node of /dev/null where this user may, or else a link to it.
func device(t *testing.T, path string) {
	t.Helper()
	if syscall.Mknod(path, syscall.S_IFCHR|0o666, 1<<8|3) != nil {
		require.NoError(t, os.Symlink("/dev/null", path))
	}
}

// TestLinks: a link in an output's place is replaced and never followed, nor is one that has a temporary file's name.
func TestLinks(t *testing.T) {
	before(t)
	write(t, "precious", "precious")
	require.NoError(t, os.Remove("manifest"))
	require.NoError(t, os.Symlink("precious", "manifest"))
	require.NoError(t, os.Symlink("nowhere", "a.link"))
	s := example(t)
	s.Add("a.link", []byte("new"))
	require.NoError(t, s.Commit())
	files := tree(t)
	assert.Equal(t, "precious", files["precious"])
	assert.Equal(t, "new manifest", files["manifest"])
	assert.Equal(t, "new", files["a.link"])
	assert.NotContains(t, files, "nowhere")
}

// TestUndoLink: a link in an output's place is a link again.
func TestUndoLink(t *testing.T) {
	before(t)
	require.NoError(t, os.Remove("weights"))
	require.NoError(t, os.Symlink("manifest", "weights"))
	s := example(t)
	require.NoError(t, s.finish())
	var m moves
	require.NoError(t, s.move(&m))
	require.NoError(t, m.undo())
	to, err := os.Readlink("weights")
	require.NoError(t, err)
	assert.Equal(t, "manifest", to)
}

// TestEdit: a file that is edited keeps its permissions, and one that a link leads to changes itself.
func TestEdit(t *testing.T) {
	t.Chdir(t.TempDir())
	write(t, "real/file", "old")
	require.NoError(t, os.Chmod("real/file", 0o640))
	require.NoError(t, os.Symlink("real/file", "link"))
	s := New()
	defer s.Close()
	require.NoError(t, s.Edit("link", []byte("new")))
	require.NoError(t, s.Edit("fresh", []byte("fresh")))
	require.NoError(t, s.Commit())
	st, err := os.Lstat("link")
	require.NoError(t, err)
	assert.Equal(t, fs.ModeSymlink, st.Mode().Type())
	st, err = os.Stat("real/file")
	require.NoError(t, err)
	assert.Equal(t, fs.FileMode(0o640), st.Mode())
	assert.Equal(t, "new", tree(t)["real/file"])
	assert.Equal(t, "fresh", tree(t)["fresh"])
}

// TestTempName: no pattern of outputs fits a temporary file.
func TestTempName(t *testing.T) {
	name := tempName("folder")
	assert.Equal(t, "folder", filepath.Dir(name))
	assert.True(t, strings.HasPrefix(filepath.Base(name), ".") && strings.HasSuffix(name, ".tmp"))
	assert.NotEqual(t, name, tempName("folder"))
}

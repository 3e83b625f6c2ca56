package files

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestOpen: a file is read; all else is refused, at once.
func TestOpen(t *testing.T) {
	t.Chdir(t.TempDir())
	require.NoError(t, os.WriteFile("file", []byte("text"), 0o644))
	require.NoError(t, os.Symlink("file", "link"))
	require.NoError(t, os.Symlink("none", "dangling"))
	require.NoError(t, os.Symlink("/dev/null", "device"))
	pipe(t, "pipe")
	for _, path := range []string{"file", "link"} {
		f, size, err := Open(path)
		require.NoError(t, err)
		require.NoError(t, f.Close())
		assert.EqualValues(t, 4, size)
		data, err := Read(path)
		require.NoError(t, err)
		assert.Equal(t, "text", string(data))
	}
	for path, want := range map[string]string{
		"none": "none: no such file", "dangling": "dangling: no such file", ".": ". is a folder, not a file",
		"pipe": "pipe is a pipe, not a file", "device": "device is a device, not a file", "/dev/zero": "/dev/zero is a device, not a file",
		"file/x": "not a directory",
	} {
		done := make(chan error, 1)
		go func() {
			_, err := Read(path)
			done <- err
		}()
		select {
		case err := <-done:
			assert.ErrorContains(t, err, want)
		case <-time.After(10 * time.Second):
			t.Fatalf("%s: it waits", path)
		}
	}
}

// TestPlan: what would destroy an input or another output is refused, in whatever way it is written.
func TestPlan(t *testing.T) {
	t.Chdir(t.TempDir())
	here, err := os.Getwd()
	require.NoError(t, err)
	require.NoError(t, os.Mkdir("d", 0o755))
	require.NoError(t, os.WriteFile("in", nil, 0o644))
	require.NoError(t, os.WriteFile("old", nil, 0o644))
	require.NoError(t, os.Symlink("in", "in.link"))
	require.NoError(t, os.Link("in", "in.hard"))
	require.NoError(t, os.Link("old", "old.hard"))
	require.NoError(t, os.Symlink("d", "d.link"))
	require.NoError(t, os.Symlink("/dev/null", "device"))
	pipe(t, "pipe")
	for _, c := range []struct {
		outputs []string
		folder  string
		want    string
	}{
		{[]string{"x", "y", "d/x", "new/x", "new/y"}, "k", ""},
		{[]string{"k/x.h", "d/x"}, "k", ""},
		{[]string{"dangling"}, "k", ""},
		{[]string{"in"}, "k", "--o=in is the same file as --in=in, which is read; use another path for the output"},
		{[]string{"./d/../in"}, "k", "is the same file as --in=in, which is read"},
		{[]string{"in.link"}, "k", "is the same file as --in=in, which is read"},
		{[]string{"in.hard"}, "k", "is the same file as --in=in, which is read"},
		{[]string{here + "/in"}, "k", "is the same file as --in=in, which is read"},
		{[]string{"x", "x"}, "k", "--o=x and --o=x are the same path"},
		{[]string{"x", "./d/../x"}, "k", "are the same path"},
		{[]string{"x", "X"}, "k", "are the same path (upper and lower case are equal)"},
		{[]string{"d/x", "d.link/x"}, "k", "are the same path"},
		{[]string{"d/a/b/x", "d.link/a/b/X"}, "k", "are the same path"},
		{[]string{"x", here + "/x"}, "k", "are the same path"},
		{[]string{"old", "old.hard"}, "k", "are links to one file"},
		{[]string{"x", "x/y"}, "k", "--o=x/y lies below --o=x, which is a file"},
		{[]string{"x"}, "x/k", "--folder=x/k lies below --o=x, which is a file"},
		{[]string{"k"}, "k", "are the same path"},
		{[]string{"d"}, "k", "--o=d is a folder; want a file, or an unused path"},
		{[]string{"d.link"}, "k", "is a folder; want a file"},
		{[]string{"pipe"}, "k", "is a pipe; want a file"},
		{[]string{"device"}, "k", "is a device; want a file"},
		{[]string{"x"}, "in", "--folder=in is not a folder"},
		{[]string{"k/x.cc"}, "k", "--o=k/x.cc has the name of a file that is written to --folder=k"},
		{[]string{"d.link/x.cc"}, "d", "has the name of a file that is written to"},
	} {
		var p Plan
		p.Input("--in=in", "in")
		p.Input("--in=none", "none")
		for _, o := range c.outputs {
			p.Output("--o="+o, o)
		}
		p.Folder("--folder="+c.folder, c.folder, sources)
		if err := p.Check(); c.want == "" {
			assert.NoError(t, err, "%v", c.outputs)
		} else {
			assert.ErrorContains(t, err, c.want, "%v", c.outputs)
		}
	}
	var p Plan
	p.Input("--in=d/x.cc", filepath.Join("d", "x.cc"))
	p.Folder("--folder=d", "d", sources)
	assert.ErrorContains(t, p.Check(), "--in=d/x.cc has the name of a file that is written to --folder=d")
}

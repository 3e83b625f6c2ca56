package files

import (
	"fmt"
	"math/rand"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const (
	rolesEnv = "FILES_TEST_ROLE"
	parts    = 6
)

// TestMain is the test, or a process that commits sets in the working directory for ever, all files of a set with one text.
func TestMain(m *testing.M) {
	role := os.Getenv(rolesEnv)
	if role == "" {
		os.Exit(m.Run())
	}
	for n := 0; ; n++ {
		if err := commitParts(fmt.Sprint(role, n)); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		if n == 0 {
			fmt.Println("started")
		}
	}
}

func commitParts(text string) error {
	s := New()
	defer s.Close()
	f, err := s.Create("out/part0")
	if err != nil {
		return err
	}
	if _, err := f.WriteString(text); err != nil {
		return err
	}
	for i := 1; i < parts; i++ {
		s.Add(fmt.Sprintf("out/sub%d/part%d", i%2, i), []byte(text))
	}
	s.Add("out/last", []byte(text))
	return s.Commit()
}

// committer starts such a process, and returns when it has committed once.
func committer(t *testing.T, role string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), rolesEnv+"="+role)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	_, err = out.Read(make([]byte, 100))
	require.NoError(t, err)
	return cmd
}

// wait waits until a process has ended, which it does at once.
func wait(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	late := time.AfterFunc(time.Minute, func() {
		t.Errorf("%v does not end", cmd)
		_ = cmd.Process.Kill()
	})
	_ = cmd.Wait()
	late.Stop()
}

// outcome is the texts of the files in out, and how many temporary files there are; nothing else may be there.
func outcome(t *testing.T) (texts map[string]bool, temporary, files int) {
	t.Helper()
	texts = map[string]bool{}
	for path, text := range tree(t) {
		base := filepath.Base(path)
		switch {
		case strings.HasPrefix(base, "part") || base == "last":
			texts[text] = true
			files++
		case strings.HasPrefix(base, ".dnnc-") && strings.HasSuffix(base, ".tmp"):
			temporary++
		case !strings.HasPrefix(base, "sub") && base != "out":
			t.Errorf("%s is there", path)
		}
	}
	return texts, temporary, files
}

// TestRace: of two processes that write the same files, whoever looks while nobody moves files sees those of one of them.
func TestRace(t *testing.T) {
	t.Chdir(t.TempDir())
	a, b := committer(t, "a"), committer(t, "b")
	seen := map[string]bool{}
	for range 300 {
		unlock, err := lockFolders([]string{"out", "out/sub0", "out/sub1"})
		require.NoError(t, err)
		texts, _, files := outcome(t)
		unlock()
		require.Len(t, texts, 1)
		require.Equal(t, parts+1, files)
		for text := range texts {
			seen[text] = true
		}
		time.Sleep(time.Millisecond)
	}
	assert.Greater(t, len(seen), 20, "they did write")
	for _, cmd := range []*exec.Cmd{a, b} {
		require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
		wait(t, cmd)
	}
	texts, temporary, files := outcome(t)
	assert.Len(t, texts, 1)
	assert.Zero(t, temporary)
	assert.Equal(t, parts+1, files)
}

// TestSignals: a process that is told to end leaves the files of one set and nothing else, and ends by the signal.
func TestSignals(t *testing.T) {
	t.Chdir(t.TempDir())
	r := rand.New(rand.NewSource(1))
	for i := range 60 {
		sig := []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP}[i%3]
		if signal.Ignored(sig) {
			continue // as processes in the background do, which start this test
		}
		cmd := committer(t, fmt.Sprint("run", i, "-"))
		time.Sleep(time.Duration(r.Intn(3000)) * time.Microsecond)
		require.NoError(t, cmd.Process.Signal(sig))
		wait(t, cmd)
		status := cmd.ProcessState.Sys().(syscall.WaitStatus)
		assert.True(t, status.Signaled() && status.Signal() == sig, "%v", cmd.ProcessState)
		texts, temporary, files := outcome(t)
		require.Len(t, texts, 1)
		require.Zero(t, temporary)
		require.Equal(t, parts+1, files)
	}
}

// TestKill: a process that is killed leaves the files of one set, or no last one, and perhaps temporary files.
func TestKill(t *testing.T) {
	t.Chdir(t.TempDir())
	r := rand.New(rand.NewSource(1))
	mixed := 0
	for i := range 60 {
		cmd := committer(t, fmt.Sprint("run", i, "-"))
		time.Sleep(time.Duration(r.Intn(3000)) * time.Microsecond)
		require.NoError(t, cmd.Process.Kill())
		wait(t, cmd)
		texts, _, _ := outcome(t)
		if len(texts) > 1 {
			mixed++
			assert.NoFileExists(t, "out/last")
		}
	}
	t.Logf("%d of 60 were killed while files moved", mixed)
}

// TestIgnored: what a process ignores, as under nohup, does not end it while a set is open.
func TestIgnored(t *testing.T) {
	t.Chdir(t.TempDir())
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command("sh", "-c", `trap "" HUP; exec "$0"`, self)
	cmd.Env = append(os.Environ(), rolesEnv+"=nohup")
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	_, err = out.Read(make([]byte, 100))
	require.NoError(t, err)
	require.NoError(t, cmd.Process.Signal(syscall.SIGHUP))
	time.Sleep(50 * time.Millisecond)
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	wait(t, cmd)
	assert.Equal(t, syscall.SIGTERM, cmd.ProcessState.Sys().(syscall.WaitStatus).Signal())
}

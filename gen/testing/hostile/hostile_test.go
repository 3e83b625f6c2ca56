package hostile

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var (
	seed  = flag.Uint64("seed", 1, "seed of what the cases choose")
	only  = flag.String("only", "", "take only these classes, or cases whose CLASS/NAME contains this text, separated by commas")
	most  = flag.Int("most", 0, "take at most this many cases of each class, spread over it; 0: see -whole")
	whole = flag.Bool("whole", false, "take all cases; by default, a third of each class that has more than 60")
	copts = flag.String("copts", "-O1 -fsanitize=undefined -fno-sanitize-recover=all", "flags of the C++ compiler, separated by spaces")
)

const repository = "../../.."

// attempt is a case and what came of it.
type attempt struct {
	*Case
	number int
	dir    string
	// refused is dnnc's error; nil where it compiled.
	refused error
	// statuses are those of the runs that must fail, and did.
	statuses int
	wrong    []string
	took     time.Duration // of processors, by dnnc
}

func (a *attempt) fail(format string, args ...any) {
	a.wrong = append(a.wrong, fmt.Sprintf(format, args...))
}

// label names the case in messages.
func (a *attempt) label() string { return a.Class + "/" + a.Name }

// parts is the number of tests that share the cases, so that Bazel may run them as shards.
const parts = 4

// chosen returns the cases of one part that the flags ask for: every parts-th, beginning with case
// number part.
func chosen(t *testing.T, part int) []*attempt {
	all, err := Cases(*seed)
	require.NoError(t, err)
	byClass := map[string][]*Case{}
	for _, c := range all {
		wanted := *only == "" || slices.ContainsFunc(strings.Split(*only, ","), func(s string) bool {
			return s == c.Class || s == c.Class+"/"+c.Name || strings.Contains(s, "/") && strings.Contains(c.Class+"/"+c.Name, s)
		})
		if wanted {
			byClass[c.Class] = append(byClass[c.Class], c)
		}
	}
	require.NotEmpty(t, byClass, "no case is chosen")
	var out []*attempt
	root := t.TempDir()
	for _, class := range Classes() {
		list := byClass[class]
		n := len(list)
		switch {
		case *most > 0:
			n = min(n, *most)
		case !*whole && *only == "":
			n = min(n, max(60, n/3))
		}
		for i := part; i < n; i += parts {
			a := &attempt{Case: list[i*len(list)/n], number: len(tried) + len(out)}
			a.dir = filepath.Join(root, fmt.Sprint("c", a.number))
			out = append(out, a)
		}
	}
	return out
}

// each calls f for every attempt, as many at a time as there are processors.
func each(list []*attempt, f func(*attempt)) {
	var wait sync.WaitGroup
	next := make(chan *attempt)
	for range max(1, runtime.NumCPU()) {
		wait.Add(1)
		go func() {
			defer wait.Done()
			for a := range next {
				f(a)
			}
		}()
	}
	for _, a := range list {
		next <- a
	}
	close(next)
	wait.Wait()
}

// minCases guards against cases that vanish.
const minCases = 1500

// tried holds the cases of the parts that have run.
var tried []*attempt

func TestHostile0(t *testing.T) { testPart(t, 0) }
func TestHostile1(t *testing.T) { testPart(t, 1) }
func TestHostile2(t *testing.T) { testPart(t, 2) }
func TestHostile3(t *testing.T) { testPart(t, 3) }

// testPart compiles every case of a part with dnnc, in a process of its own with bounded time and
// memory. What compiles runs in the interpreters of stages and of loops, and as C++ with the
// sanitizer for undefined behaviour. It prints a table of all parts that have run.
func testPart(t *testing.T, part int) {
	list := chosen(t, part)
	d := newDnnc(t)
	each(list, d.compile)
	var compiled []*attempt
	for _, a := range list {
		if a.refused == nil && len(a.wrong) == 0 {
			compiled = append(compiled, a)
		}
	}
	each(compiled, interpret)
	newBuild(t).run(t, compiled)
	tried = append(tried, list...)
	t.Logf("seed %d\n%s", *seed, table(tried))
	for _, a := range list {
		for _, w := range a.wrong {
			t.Errorf("%s: %s", a.label(), w)
		}
		if len(a.wrong) > 0 {
			keep(t, a)
		}
	}
	if *only == "" && *most == 0 {
		assert.GreaterOrEqual(t, len(list), minCases/parts)
	}
}

// keep puts a wrong case's model into the folder that HOSTILE_KEEP names.
func keep(t *testing.T, a *attempt) {
	folder := os.Getenv("HOSTILE_KEEP")
	if folder == "" {
		return
	}
	name := strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' || strings.ContainsRune("/\\\"'*?$`", r) {
			return '_'
		}
		return r
	}, a.label())
	if len(name) > 100 {
		name = name[:100]
	}
	require.NoError(t, os.MkdirAll(folder, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(folder, name+".onnx"), a.Model, 0o644))
}

// TestSeeds: the same seed makes the same cases, another one makes others.
func TestSeeds(t *testing.T) {
	first, err := Cases(1)
	require.NoError(t, err)
	again, err := Cases(1)
	require.NoError(t, err)
	other, err := Cases(2)
	require.NoError(t, err)
	require.Equal(t, len(first), len(again))
	differ := len(first) != len(other)
	for i, c := range first {
		require.Equal(t, c.Name, again[i].Name)
		require.Equal(t, c.Model, again[i].Model, "%s/%s", c.Class, c.Name)
		differ = differ || !slices.Equal(c.Model, other[i].Model)
	}
	assert.True(t, differ, "the seed changes nothing")
}

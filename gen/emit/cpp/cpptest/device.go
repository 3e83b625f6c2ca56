package cpptest

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"rules_dnn/gen/emit/cpp"
	"rules_dnn/gen/emit/opencl"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/program/plan"
	"rules_dnn/gen/target"
)

// Statuses of cases that a device of the machine cannot run, and of a machine without one.
const (
	noOpenCL    = 19
	noDevice    = 20
	Unsupported = 21
)

// OnDevice is the host with an OpenCL device beside it, which runs what the programs launch. The runtime's backend finds it.
func OnDevice(device *target.Target) *Machine {
	m := Host
	m.Device, m.Flushes = device, false
	return &m
}

// together is how many programs have one source of kernels: the driver's compiler begins anew for each.
const together = 20

// deviceSource is the kernels of some programs.
type deviceSource struct {
	*opencl.Source
	file string
}

// sources prints the kernels of all cases, and names them for the host programs.
func (b *build) deviceSources(t testing.TB, cases []Case) []*deviceSource {
	out := make([]*deviceSource, len(cases))
	alike := map[string][]int{}
	var kinds []string
	for i, c := range cases {
		s, err := opencl.Print(c.Program, b.Device)
		require.NoError(t, err, c.Name)
		kind := fmt.Sprint(s.Needs, s.IndexBytes)
		if alike[kind] == nil {
			kinds = append(kinds, kind)
		}
		alike[kind] = append(alike[kind], i)
	}
	for _, kind := range kinds {
		for all := alike[kind]; len(all) > 0; {
			some := all[:min(together, len(all))]
			all = all[len(some):]
			var programs []*plan.Program
			for _, i := range some {
				programs = append(programs, cases[i].Program)
			}
			printed, err := opencl.PrintTogether(programs, b.Device)
			require.NoError(t, err)
			file := filepath.Join(b.dir, fmt.Sprintf("device%d.cl", some[0]))
			require.NoError(t, os.WriteFile(file, []byte(printed[0].Text), 0o644))
			for k, i := range some {
				out[i] = &deviceSource{printed[k], file}
			}
		}
	}
	return out
}

// write writes what the driver makes the program's DeviceInfo of: nothing of a program without launches.
func (s *deviceSource) write(w *bytes.Buffer, c *Case) error {
	number := func(x int64) { w.Write(binary.LittleEndian.AppendUint64(nil, uint64(x))) }
	texts := func(list ...string) {
		for _, x := range list {
			number(int64(len(x)))
			w.WriteString(x)
		}
	}
	p, d := c.Program, c.Program.Device
	kernels, flags := cpp.DeviceKernels(p), cpp.DeviceFlags(p)
	texts(s.file)
	for _, list := range [][]string{kernels, s.Needs, flags} {
		number(int64(len(list)))
		texts(list...)
	}
	sizes := []sym.Expr{sym.Const(int64(s.IndexBytes)), sym.Const(d.GroupItems), sym.Const(d.Workers), d.ArenaBytes, d.ScratchBytes,
		sym.Const(cpp.DeviceWeightsAt(p)), sym.Const(d.WeightsBytes), sym.Const(int64(len(d.Images)))}
	for _, x := range d.Images {
		sizes = append(sizes, x.Width, x.Height)
	}
	for _, e := range sizes {
		x, err := e.Eval(c.Dims)
		if err != nil {
			return err
		}
		number(x)
	}
	return nil
}

// writeBackend adds the sources of the runtime that a device takes.
func (b *build) writeBackend(t testing.TB, root string) {
	files, err := filepath.Glob(filepath.Join(root, "runtime/opencl/*.cc"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, f := range append(files, "runtime/dnn_sizes.cc", "runtime/dnn_sha256.cc", "runtime/dnn_words.cc") {
		_, name, found := strings.Cut(filepath.ToSlash(f), "runtime/")
		require.True(t, found, f)
		b.write(t, "backend_"+filepath.Base(f), fmt.Sprintf("#include \"runtime/%s\"\n", name))
	}
}

// withDevice skips the test where the machine has no device, as the first case tells.
func withDevice(t testing.TB, rs []Result) {
	for _, r := range rs {
		if r.Status == noOpenCL || r.Status == noDevice {
			t.Skip("no OpenCL device on this machine: install pocl-opencl-icd and ocl-icd-libopencl1 (Debian), or run this in `./bazelw exec`")
		}
	}
}

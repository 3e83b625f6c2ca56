package main

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"

	"rules_dnn/tools/check"
)

// starts are the seconds from a program's start to its first answer: where the driver compiles its
// kernels, and where these were kept.
type starts struct{ compiled, kept float64 }

func (s starts) String() string {
	return fmt.Sprintf("first answer after %.2f s, and %.2f s with the kernels that were kept then", s.compiled, s.kept)
}

// measureStarts starts a model's program twice, with a folder for compiled kernels that is empty
// the first time.
func measureStarts(o *options, m *model, p *program, work string, out io.Writer) (*starts, error) {
	env, err := m.sizes(o.allRuns()[0])
	if err != nil {
		return nil, err
	}
	inputs, err := m.inputsOf(o, env)
	if err != nil {
		return nil, err
	}
	s := &starts{}
	command := append(slices.Clone(p.command), "--cache="+filepath.Join(work, "kept"))
	for _, seconds := range []*float64{&s.compiled, &s.kept} {
		server, err := check.Start(work, o.threads, command...)
		if err != nil {
			return nil, err
		}
		_, err = server.Run(inputs)
		*seconds = server.LoadSeconds + server.RunSeconds
		if err := errors.Join(err, server.Close()); err != nil {
			return nil, err
		}
	}
	fmt.Fprintln(out, s)
	return s, nil
}

const startsHead = "| model | million weights | kernels | error / range | first answer s | with kept kernels s | share |"

// startsRow prints how soon a model's programs answer.
func startsRow(table io.Writer, name string, x *outcome) {
	if x == nil || x.starts == nil {
		return
	}
	fmt.Fprintf(table, "| %s | %.3g | %d | %.2g | %.2f | %.2f | %.0f %% |\n", name, float64(x.weights)/1e6, x.divided.kernels, x.runs[0].rel, x.starts.compiled, x.starts.kept,
		100*x.starts.kept/x.starts.compiled)
}

package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"rules_dnn/gen/target/chips"
)

// models prints a row for each network of a folder, with what another compiler takes beside, if
// there is one. It fails where a network takes more than is allowed; one that is refused has the
// reason in its row.
func (o *options) models(out io.Writer, folder string) error {
	all, err := filepath.Glob(filepath.Join(o.folder, "*.onnx"))
	if err != nil {
		return err
	}
	all = slices.DeleteFunc(all, func(path string) bool { return !o.only.MatchString(networkName(path)) })
	if len(all) == 0 {
		return fmt.Errorf("--models=%s: there are no networks NAME.onnx in it that --only lets through", o.folder)
	}
	facts, err := chips.Facts(o.chip)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(folder, "chip.json"), facts, 0o666); err != nil {
		return err
	}
	head, line := "| network | seconds | MB | slowest pass | its seconds |", "| --- | --- | --- | --- | --- |"
	if o.beside != "" {
		head, line = head+" beside: seconds | MB | times its seconds | times its MB |", line+" --- | --- | --- | --- |"
	}
	fmt.Fprintln(out, head+"\n"+line)
	var over []string
	for _, path := range all {
		name := networkName(path)
		p, err := o.least(o.dnnc, folder, path)
		if err != nil {
			fmt.Fprintf(out, "| %s | %s |\n", name, lastLine(err))
			continue
		}
		fmt.Fprintf(out, "| %s | %.2f | %.0f | %s | %.2f |", name, p.seconds, p.mb, p.pass, p.passSeconds)
		if o.beside != "" {
			if q, err := o.least(o.beside, folder, path); err != nil {
				fmt.Fprintf(out, " %s |", lastLine(err))
			} else {
				fmt.Fprintf(out, " %.2f | %.0f | %.2f | %.2f |", q.seconds, q.mb, p.seconds/q.seconds, p.mb/q.mb)
			}
		}
		fmt.Fprintln(out)
		if o.exceeds(p) {
			over = append(over, fmt.Sprintf("%s takes %.1f s and %.0f MB", name, p.seconds, p.mb))
		}
	}
	if len(over) > 0 {
		return errors.New(strings.Join(over, "\n  "))
	}
	return nil
}

// least returns the minimum of a compiler's times for a network over some runs, because a busy
// machine takes longer.
func (o *options) least(dnnc, folder, path string) (point, error) {
	var best point
	for i := range max(o.runs, 1) {
		var p point
		if err := o.compile(dnnc, &p, folder, path, "--fill-random"); err != nil {
			return p, err
		}
		if i == 0 || p.seconds < best.seconds {
			p.mb = max(p.mb, best.mb)
			best = p
		}
	}
	return best, nil
}

// exceeds reports whether a network takes more than is allowed.
func (o *options) exceeds(p point) bool {
	return o.mostSeconds > 0 && p.seconds > o.mostSeconds || o.mostMB > 0 && p.mb > o.mostMB
}

func networkName(path string) string { return strings.TrimSuffix(filepath.Base(path), ".onnx") }

// lastLine returns the line with the compiler's error, below the output of --time.
func lastLine(err error) string {
	text := err.Error()
	return text[strings.LastIndex(text, "\n")+1:]
}

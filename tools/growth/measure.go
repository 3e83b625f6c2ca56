package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"google.golang.org/protobuf/proto"

	"rules_dnn/gen/target/chips"
)

// point is what one network took.
type point struct {
	shape       string
	n           int
	seconds     float64 // of the processor
	mb          float64
	pass        string // the slowest
	passSeconds float64
}

// measure compiles one network.
func (o *options) measure(folder string, s shape, n int) (point, error) {
	p := point{shape: s.name, n: n}
	model, err := proto.Marshal(s.make(n))
	if err != nil {
		return p, err
	}
	facts, err := chips.Facts(o.chip)
	if err != nil {
		return p, err
	}
	in := func(name string) string { return filepath.Join(folder, name) }
	if err := errors.Join(os.WriteFile(in("net.onnx"), model, 0o666), os.WriteFile(in("chip.json"), facts, 0o666)); err != nil {
		return p, err
	}
	return p, o.compile(o.dnnc, &p, folder, in("net.onnx"))
}

// compile runs both actions for a network, with options for the first one, in a folder that has the
// chip's facts, and adds what they took.
func (o *options) compile(dnnc string, p *point, folder, src string, graphOptions ...string) error {
	in := func(name string) string { return filepath.Join(folder, name) }
	args := append([]string{"graph", "--src=" + src, "--out=" + in("net.txt"), "--out-consts=" + in("net.consts"), "--time"}, graphOptions...)
	if err := o.command(dnnc, p, args...); err != nil {
		return err
	}
	return o.command(dnnc, p, "compile", "--graph="+in("net.txt"), "--consts="+in("net.consts"), "--src="+src, "--chip="+in("chip.json"),
		"--api=net", "--prefix=net", "--namespace=net", "--out-header="+in("net.h"), "--out-kernels="+in("kernels"), "--out-weights="+in("net.weights"),
		"--out-weights-asm="+in("net.weights.S"), "--out-manifest="+in("net.manifest.json"), "--time")
}

// command runs an action and adds what it took.
func (o *options) command(dnnc string, p *point, args ...string) error {
	ctx, cancel := context.WithTimeout(context.Background(), o.limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, dnnc, args...)
	var log bytes.Buffer
	cmd.Stderr = &log
	err := cmd.Run()
	if ctx.Err() != nil {
		return fmt.Errorf("over %v", o.limit)
	}
	if err != nil {
		return fmt.Errorf("%s", strings.TrimSpace(log.String()))
	}
	p.seconds += (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds()
	p.note(log.String())
	return nil
}

var (
	passLine   = regexp.MustCompile(`(?m)^(\w+) +([0-9.]+) ms$`)
	memoryLine = regexp.MustCompile(`(?m)^memory +([0-9]+) kB$`)
)

// note reads what --time printed.
func (p *point) note(log string) {
	for _, m := range passLine.FindAllStringSubmatch(log, -1) {
		if ms, err := strconv.ParseFloat(m[2], 64); err == nil && ms/1e3 > p.passSeconds {
			p.pass, p.passSeconds = m[1], ms/1e3
		}
	}
	if m := memoryLine.FindStringSubmatch(log); m != nil {
		if kb, err := strconv.ParseFloat(m[1], 64); err == nil {
			p.mb = max(p.mb, kb/1e3)
		}
	}
}

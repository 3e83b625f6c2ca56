package main

import (
	"fmt"
	"os"
	"path/filepath"

	"rules_dnn/gen/selection/measure"
	"rules_dnn/tools/internal/build"
)

// Numbers of measured kernels of each block, and of rounds.
const (
	candidates   = 6
	tuningRounds = 5
)

// tune measures the kernels of a network's blocks in turns, as NAME.tune does, and returns their
// record.
func (t *tools) tune(model, work, disable string) (record string, err error) {
	record = work + ".tune.json"
	if err := os.RemoveAll(record); err != nil {
		return "", err
	}
	var programs []measure.Program
	for k := 1; k <= candidates; k++ {
		dir := fmt.Sprintf("%s_candidate%d", work, k)
		if err := t.build(model, dir, disable, fmt.Sprintf("--candidate=%d", k)); err != nil {
			return "", err
		}
		in := func(name string) string { return filepath.Join(dir, name) }
		programs = append(programs, measure.Program{Program: in("program"), Manifest: in(build.Manifest), Weights: in("model.weights")})
	}
	return record, measure.Run(programs, measure.Options{Record: record, Rounds: tuningRounds, Seconds: t.seconds, Threads: 1}, os.Stderr)
}

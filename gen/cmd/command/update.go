package command

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// updatePlan is what the rule dnn_prune writes for NAME.update. Paths are relative to the working directory, that of outputs to the
// workspace.
type updatePlan struct {
	Name string `json:"name"` // the target
	// Args are those of `admm`, but for its outputs.
	Args    []string `json:"args"`
	Trainer string   `json:"trainer"` // an executable; "": the built-in one
	Out     string   `json:"out"`
	Masks   string   `json:"masks"`
	Log     string   `json:"log"`
}

// update prunes as a plan says, and writes into the workspace. Further arguments are those of `admm`.
func update(c *common, args []string) error {
	f := newPruneFlags(c)
	path := f.String("plan", "", "the file that the rule dnn_prune wrote")
	if err := f.Parse(args); err != nil {
		return err
	}
	rest := f.Args()
	plan, err := readPlan(*path)
	if err != nil {
		return err
	}
	root := os.Getenv("BUILD_WORKSPACE_DIRECTORY")
	if root == "" {
		return errors.New("BUILD_WORKSPACE_DIRECTORY is not set, so the workspace to write is unknown; use `bazel run`, which sets it")
	}
	// The caller's come later, and count.
	own := []string{"-out=" + filepath.Join(root, plan.Out), "-out-masks=" + filepath.Join(root, plan.Masks), "-out-log=" + filepath.Join(root, plan.Log)}
	if err := f.Parse(append(append(own, plan.Args...), args...)); err != nil {
		return err
	}
	// In runfiles the data are a link: what they name lies beside the file itself.
	if f.data, err = filepath.EvalSymlinks(f.data); err != nil {
		return err
	}
	if len(rest) == 0 && plan.Trainer != "" {
		trainer, err := filepath.Abs(plan.Trainer)
		if err != nil {
			return err
		}
		f.planned = []string{trainer}
	}
	if f.folder == "" {
		if f.folder, err = cache(root, plan.Name); err != nil {
			return err
		}
		fmt.Fprintf(c.out, "checkpoints are in %s; a second run continues there\n", f.folder)
	}
	if err := f.run(); err != nil {
		return err
	}
	fmt.Fprintf(c.out, "wrote %s, %s and %s: check them in\n", plan.Out, plan.Masks, plan.Log)
	return nil
}

func readPlan(path string) (*updatePlan, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("-plan: %w", err)
	}
	p := &updatePlan{}
	if err := json.Unmarshal(text, p); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return p, nil
}

// cache is a folder for the checkpoints of a workspace's target.
func cache(root, name string) (string, error) {
	home, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("%w; name a folder for checkpoints with -folder=PATH", err)
	}
	sum := sha256.Sum256([]byte(root + "\x00" + name))
	folder := filepath.Join(home, "rules_dnn", "prune", hex.EncodeToString(sum[:8]))
	return folder, os.MkdirAll(folder, 0o777)
}

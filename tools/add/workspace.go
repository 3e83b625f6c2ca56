package main

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/bazelbuild/buildtools/build"

	"rules_dnn/gen/base/files"
)

// Files by which Bazel knows a workspace's root, and a package; of the latter the first counts.
var (
	rootFiles  = []string{"MODULE.bazel", "REPO.bazel", "WORKSPACE.bazel", "WORKSPACE"}
	buildFiles = []string{"BUILD.bazel", "BUILD"}
)

// workspace is a folder in which Bazel runs.
type workspace struct {
	root string
	repo string // what begins labels of rules_dnn there: "@rules_dnn", or "" in rules_dnn itself
}

// findWorkspace finds the workspace of a file. If Bazel runs this process, it must be Bazel's.
func findWorkspace(file, given string) (*workspace, error) {
	dir := filepath.Dir(file)
	for !hasFile(dir, rootFiles) {
		up := filepath.Dir(dir)
		if up == dir {
			return nil, fmt.Errorf("it is in no Bazel workspace (no folder above it has %s): copy it into one", strings.Join(rootFiles, ", "))
		}
		dir = up
	}
	if given != "" && !sameFolder(given, dir) {
		return nil, fmt.Errorf("it is in the workspace %s, and Bazel runs in %s: run this command in the former, or copy the model", dir, given)
	}
	repo, err := repository(dir)
	return &workspace{dir, repo}, err
}

func sameFolder(a, b string) bool {
	x, err := os.Stat(a)
	if err != nil {
		return false
	}
	y, err := os.Stat(b)
	return err == nil && os.SameFile(x, y)
}

// firstFile returns the first of the names that is a file in a folder, or "".
func firstFile(dir string, names []string) string {
	for _, name := range names {
		if st, err := os.Stat(filepath.Join(dir, name)); err == nil && st.Mode().IsRegular() {
			return name
		}
	}
	return ""
}

func hasFile(dir string, names []string) bool { return firstFile(dir, names) != "" }

// repository returns the workspace's name for rules_dnn.
func repository(root string) (string, error) {
	const ours = "rules_dnn"
	data, err := files.Read(filepath.Join(root, "MODULE.bazel"))
	if os.IsNotExist(err) {
		return "@" + ours, nil
	}
	if err != nil {
		return "", err
	}
	f, err := build.ParseModule("MODULE.bazel", data)
	if err != nil {
		return "", err
	}
	for _, r := range f.Rules("") {
		switch {
		case r.AttrString("name") != ours:
		case r.Kind() == "module":
			return "", nil
		case r.Kind() == "bazel_dep" && r.AttrString("repo_name") != "":
			return "@" + r.AttrString("repo_name"), nil
		}
	}
	return "@" + ours, nil
}

// packageOf returns the package folder that contains or would contain a file, as a path from the
// root with slashes; ok reports whether there is one.
func (w *workspace) packageOf(file string) (pkg string, ok bool) {
	for dir := filepath.Dir(file); ; dir = filepath.Dir(dir) {
		rel, err := filepath.Rel(w.root, dir)
		if err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
			return "", false
		}
		if rel == "." {
			rel = ""
		}
		if hasFile(dir, buildFiles) {
			return filepath.ToSlash(rel), true
		}
		if rel == "" {
			return "", false
		}
	}
}

// label returns a package's name for a file in its folder or below: a path, or a label if another
// package contains the file.
func (w *workspace) label(file, pkg string) (string, error) {
	rel, err := filepath.Rel(w.root, file)
	if err != nil {
		return "", err
	}
	rel = filepath.ToSlash(rel)
	if in, ok := w.packageOf(file); ok && len(in) > len(pkg) {
		return "//" + in + ":" + strings.TrimPrefix(rel, in+"/"), nil
	}
	if pkg != "" {
		rel = strings.TrimPrefix(rel, pkg+"/")
	}
	if strings.HasPrefix(rel, "@") {
		rel = ":" + rel // else it would begin with a repository
	}
	return rel, nil
}

// resolve returns the package and the name of a label in a package of this workspace; ok reports
// whether the label belongs to this workspace.
func resolve(label, pkg string) (in, name string, ok bool) {
	for _, self := range []string{"@@//", "@//"} {
		if strings.HasPrefix(label, self) {
			label = label[len(self)-2:]
		}
	}
	if strings.HasPrefix(label, "@") {
		return "", "", false
	}
	absolute, isAbsolute := strings.CutPrefix(label, "//")
	if !isAbsolute {
		return pkg, strings.TrimPrefix(label, ":"), true
	}
	in, name, hasName := strings.Cut(absolute, ":")
	if !hasName {
		name = path.Base(in)
	}
	return in, name, true
}

// file returns the path of a source file with a label.
func (w *workspace) file(pkg, name string) string {
	return filepath.Join(w.root, filepath.FromSlash(pkg), filepath.FromSlash(name))
}

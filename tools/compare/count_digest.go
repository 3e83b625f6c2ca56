package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"rules_dnn/gen/base/files"
	"rules_dnn/tools/a64count"
	"rules_dnn/tools/command"
	"rules_dnn/tools/internal/build"
)

// counted reports whether the program has the code of --counted. Then it writes the file of
// --count-json, with the digest alone.
func (o *options) counted(chips library, work string) (bool, error) {
	if o.countedCode == "" {
		return false, nil
	}
	digest, err := codeDigest(o, chips, work)
	if err != nil || digest != o.countedCode {
		return false, err
	}
	return true, writeCounts(command.Path(o.countJSON), a64count.Record{Code: digest})
}

// codeDigest returns the digest of all that determines a program's code besides the C++ compiler's
// version: its sources, the runtime's, and the compiler's options.
func codeDigest(o *options, chips library, work string) (string, error) {
	h := sha256.New()
	fmt.Fprintln(h, o.cxx, build.KernelCopts)
	for _, t := range chips {
		fmt.Fprintln(h, t.Name, t.Copts)
	}
	for _, folder := range []struct{ path, patterns string }{
		{work, "model.h kernels/*.cc kernels/*.h served.cc"},
		{".", "runtime/*.h runtime/*.cc runtime/serve/* runtime/bench/*"},
	} {
		for _, pattern := range strings.Fields(folder.patterns) {
			found, err := filepath.Glob(filepath.Join(folder.path, pattern))
			if err != nil {
				return "", err
			}
			slices.Sort(found)
			for _, path := range found {
				if info, err := os.Stat(path); err != nil || info.IsDir() {
					continue
				}
				text, err := os.ReadFile(path)
				if err != nil {
					return "", err
				}
				name, err := filepath.Rel(folder.path, path)
				if err != nil {
					return "", err
				}
				fmt.Fprintf(h, "%s %d\n%s", filepath.ToSlash(name), len(text), text)
			}
		}
	}
	return hex.EncodeToString(h.Sum(nil)[:16]), nil
}

func writeCounts(path string, r a64count.Record) error {
	data, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		return err
	}
	return files.Write(path, append(data, '\n'))
}

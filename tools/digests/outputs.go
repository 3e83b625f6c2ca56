package main

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"rules_dnn/gen/emit/cppapi"
	"rules_dnn/gen/emit/manifest"
)

// digits are how many of a digest's the record has.
const digits = 16

// digests holds the digests of the outputs for a graph and a chip: three, because they change for
// different reasons.
type digests struct{ sources, weights, manifest string }

// weightsHash is where sources say which weights they are for.
var weightsHash = regexp.MustCompile(`(kWeightsHash\[32\] = )\{[^}]*\}`)

// buffers are the lines of comments that describe a kernel's buffers, which the digest of the
// manifest is of, and those of device code in a string.
var buffers = regexp.MustCompile(`(?m)^ *"?//   \w+: .*\n`)

// cores are the lines that declare the option of that name, in the header and in its check, which
// are the same for all graphs of a chip. The record is older than the option.
var cores = regexp.MustCompile(`(?m)^\n((  //.*\n)+)  const char\* cores;\n|^static_assert\(offsetof\(PublicOptions, cores\).*\n`)

// digest reads the outputs in a folder.
func digest(folder string) (digests, error) {
	var d digests
	names, err := sources(folder)
	if err != nil {
		return d, err
	}
	sum := sha256.New()
	for _, name := range names {
		text, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			return d, err
		}
		text = buffers.ReplaceAll(weightsHash.ReplaceAll(text, []byte("$1{}")), nil)
		text = cores.ReplaceAll(text, nil)
		fmt.Fprintf(sum, "%s %d\n", name, len(text))
		sum.Write(text)
	}
	d.sources = short(sum.Sum(nil))
	if d.weights, err = fileDigest(filepath.Join(folder, weightsFile)); err != nil {
		return d, err
	}
	d.manifest, err = fileDigest(filepath.Join(folder, manifestFile))
	return d, err
}

// sources returns the sorted names of the generated sources.
func sources(folder string) ([]string, error) {
	entries, err := os.ReadDir(folder)
	var out []string
	for _, e := range entries {
		if name := e.Name(); name != weightsFile && name != manifestFile && name != constantsFile {
			out = append(out, name)
		}
	}
	return out, err
}

func fileDigest(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	sum := sha256.New()
	_, err = io.Copy(sum, f)
	return short(sum.Sum(nil)), err
}

func short(sum []byte) string { return fmt.Sprintf("%x", sum)[:digits] }

// constantsFile is what stands for the weights in a folder that is kept: a digest of each constant.
const constantsFile = "weights.txt"

// constant is a part of the weights that begins with a constant.
type constant struct {
	name   string
	offset int64
}

// summarise writes digests of the constants in the place of the weights, which would take many
// gigabytes.
func summarise(folder string) error {
	all, err := constantsOf(filepath.Join(folder, manifestFile))
	if err != nil {
		return err
	}
	path := filepath.Join(folder, weightsFile)
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return err
	}
	var text bytes.Buffer
	for i, c := range all {
		end := st.Size()
		if i+1 < len(all) {
			end = all[i+1].offset
		}
		sum := sha256.New()
		if _, err := io.Copy(sum, io.NewSectionReader(f, c.offset, end-c.offset)); err != nil {
			return err
		}
		fmt.Fprintf(&text, "%s %s\n", short(sum.Sum(nil)), c.name)
	}
	if err := os.WriteFile(filepath.Join(folder, constantsFile), text.Bytes(), 0o666); err != nil {
		return err
	}
	return os.Remove(path)
}

// constantsOf returns the constants that blocks read, by their offsets, after the file's header.
func constantsOf(path string) ([]constant, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var m manifest.Manifest
	if err := json.Unmarshal(text, &m); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	header := int64(len(cppapi.WeightsHeader(cppapi.Weights{})))
	out := []constant{{"(header)", 0}}
	for _, b := range m.Blocks {
		for _, r := range b.Reads {
			place, found := strings.CutPrefix(r.Place, "weights + ")
			if n, err := strconv.ParseInt(place, 10, 64); found && err == nil {
				out = append(out, constant{r.Name, header + n})
			}
		}
	}
	slices.SortStableFunc(out[1:], func(a, b constant) int { return cmp.Compare(a.offset, b.offset) })
	return slices.CompactFunc(out, func(a, b constant) bool { return a.offset == b.offset }), nil
}

// Command ceilings counts the instructions that one inference executes on 64-bit ARM, and fails if
// a network executes more than tests/models/arm_ceilings.txt allows.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"

	"rules_dnn/tools/a64count"
	"rules_dnn/tools/command"
)

const usage = `ceilings counts the instructions that networks execute on 64-bit ARM for one inference, and compares the counts with
tests/models/arm_ceilings.txt: in fp32, and in fp16 on a chip with FEAT_FP16. It fails if a network executes over 0.05 % more
instructions than its line allows, or if its code has over 0.5 % more bytes. It then prints the functions that grew, with the
nodes of their blocks.

Counts have no noise, but they depend on the C++ compiler. Without the version that the file names, ceilings does not count.
Networks whose code has the digest of their line are not counted again.
It needs ./bazelw for the compiler, and a QEMU with plugins, such as qemu-user of Debian 12.

usage: ceilings [options], from the repository's root
  go run ./tools/ceilings [options]

examples, for [options]:
  --models FOLDER/graphs.zip               all networks on all chips: minutes if all code changed
  --models FOLDER --only mobilenet_v2 --chips 'arm64$'
                                           one network on one chip
  --models FOLDER/graphs.zip --update      write the file: the change is worth its growth, or lowers counts
  --models FOLDER/graphs.zip --skip-ok     for CI: exit with status 0 if this machine cannot count

options:
`

// networks are what is counted, slowest first.
var networks = []string{"distilbert", "resnet50", "efficientnet_b0", "mobilenet_v2", "mobilenet_v3_large", "squeezenet1_1"}

// large is how many networks, the first ones, are not counted in f16. QEMU computes f16 by
// software, which takes minutes for each of them.
const large = 2

// chips are of networks in f32 or, with a type after the name, of networks that add in this type.
var chips = []string{"arm64", "arm64_cortex_a78", "arm64_cortex_a55", "arm64_cortex_a76:fp16"}

type options struct {
	models, record string
	only, chips    *regexp.Regexp
	cxx, emulator  string
	update, skipOK bool
	atOnce         int
}

// skip is why this machine cannot count.
type skip struct{ why string }

func (s skip) Error() string { return s.why }

// machine is what the networks are counted with.
type machine struct {
	check func(*options) (versions, error)
	count func(o *options, keys []key, known map[key]string) (map[key]a64count.Record, error)
}

func main() {
	o, err := parse(os.Args[1:], os.Stderr)
	if err == nil {
		err = command.EnterRepository(&o.models)
	}
	if err == nil {
		err = o.run(machine{check, count}, os.Stdout)
	}
	if s := (skip{}); errors.As(err, &s) && o.skipOK {
		fmt.Println("SKIPPED ceilings:", s.why)
		return
	}
	command.Exit("ceilings", err)
}

func parse(args []string, help io.Writer) (*options, error) {
	o := &options{}
	fs := command.Options("ceilings")
	fs.StringVar(&o.models, "models", "", "a folder or zip archive of the networks, without weights")
	fs.StringVar(&o.record, "record", "tests/models/arm_ceilings.txt", "the file of ceilings")
	only := fs.String("only", "", "regular expression of the networks' names; all by default")
	among := fs.String("chips", "", "regular expression of the chips' names; all by default")
	fs.StringVar(&o.cxx, "cxx", "./bazelw exec clang++ --target=aarch64-linux-gnu -fuse-ld=lld -static", "the C++ compiler and its options")
	fs.StringVar(&o.emulator, "emulator", "qemu-aarch64 -cpu cortex-a76", "a QEMU with plugins, and its options; the C library has functions for each processor")
	fs.BoolVar(&o.update, "update", false, "write the file instead of comparing with it")
	fs.BoolVar(&o.skipOK, "skip-ok", false, "if this machine cannot count, print why and exit with status 0")
	fs.IntVar(&o.atOnce, "at-once", 2, "networks at a time")
	err := command.Parse(fs, args, usage, help)
	if err != nil {
		return o, err
	}
	switch {
	case fs.NArg() > 0:
		return o, fmt.Errorf("unexpected argument %q; --help shows examples", fs.Arg(0))
	case o.atOnce < 1:
		return o, fmt.Errorf("--at-once=%d: want a number from 1", o.atOnce)
	}
	if o.only, err = regexp.Compile(*only); err != nil {
		return o, fmt.Errorf("--only: %w", err)
	}
	if o.chips, err = regexp.Compile(*among); err != nil {
		return o, fmt.Errorf("--chips: %w", err)
	}
	return o, nil
}

// allKeys returns every network with its chips.
func allKeys() []key {
	var out []key
	for i, network := range networks {
		for _, chip := range chips {
			if i >= large || !strings.Contains(chip, ":") {
				out = append(out, key{network, chip})
			}
		}
	}
	return out
}

// keys returns what --only and --chips select.
func (o *options) keys() ([]key, error) {
	out := slices.DeleteFunc(allKeys(), func(k key) bool {
		return !o.only.MatchString(k.network) || !o.chips.MatchString(k.chip)
	})
	if len(out) == 0 {
		return nil, fmt.Errorf("--only=%s --chips=%s select none of the networks %q and chips %q", o.only, o.chips, networks, chips)
	}
	return out, nil
}

// run counts the networks, and compares with the file or writes it.
func (o *options) run(m machine, out io.Writer) error {
	keys, err := o.keys()
	if err != nil {
		return err
	}
	old, err := o.readRecord()
	if err != nil {
		return err
	}
	v, err := m.check(o)
	if err != nil {
		return err
	}
	all := len(keys) == len(allKeys())
	if anew := o.update && (all || len(old.entries) == 0); old.compiler != v.compiler && !anew {
		return skip{fmt.Sprintf("%s counts code of the compiler %q, and this machine's is %q: --update of all networks writes the file anew", o.record, old.compiler, v.compiler)}
	}
	counts, err := m.count(o, keys, old.known(v))
	if err != nil {
		return err
	}
	now := record{versions: v, entries: map[key]entry{}}
	for k, c := range counts {
		if now.entries[k] = summary(c); c.Functions == nil {
			now.entries[k] = old.entries[k]
		}
	}
	if o.update {
		if !all {
			now.add(old)
		}
		return now.write(o.record)
	}
	return report(out, keys, old, now)
}

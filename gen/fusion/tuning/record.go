// Package tuning is the record of what kernels of a model's blocks take on chips: a file that `NAME.tune` writes, people
// check in, and `dnnc compile` reads. A build measures nothing.
package tuning

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"rules_dnn/gen/base/jsonfile"
	"rules_dnn/gen/kernel/params"
)

// version is that of the file's form, and oldest the first one that is read: records of version 1 name no parameters. Those of no device are written as
// version 2, which had none.
const version, withoutDevices, oldest = 3, 2, 1

// Record is the content of a tuning record: measurements by chip.
type Record struct {
	Version int    `json:"version"` // the version of the format
	Chips   []Chip `json:"chips"`   // the measurements of each chip and number of threads
}

// Chip holds the measurements on one chip.
type Chip struct {
	// The name of the chip's facts.
	Chip string `json:"chip"`
	// Whether it is a device beside a processor.
	Device bool `json:"device,omitempty"`
	// The number of threads; 1 for a device, which distributes the work itself.
	Threads int     `json:"threads"`
	Blocks  []Block `json:"blocks"` // the measured blocks
}

// Block is a block with given layouts of its operands and results.
type Block struct {
	Key     string   `json:"key"`     // a hash that identifies the block and its layouts
	What    string   `json:"what"`    // a description for people
	Kernels []Kernel `json:"kernels"` // the measured kernels
}

// Kernel is a measured kernel of a block.
type Kernel struct {
	Name   string  `json:"kernel"` // the kernel's name
	Micros float64 `json:"us"`     // the time of a call in microseconds
	// The number of measurements.
	Rounds int `json:"rounds"`
	// The parameters of the kernel (package params); absent if it has none. A kernel that the compiler
	// does not propose by itself is found again by its parameters.
	Params string `json:"params,omitempty"`
}

// Choice is what a block's kernel was chosen from.
type Choice struct {
	Key, What string
	// Kernel is the name of the kernel that was chosen.
	Kernel string
	// Kernels are the names of all that could be measured, the estimates' choice first; nil where nobody asked.
	Kernels []string
	// Params are the parameters of each of them, "" where it has none.
	Params []string
	// Micros is what the record says of the kernel; 0: nothing.
	Micros float64
}

// Parse reads a file and checks it. An empty file is an empty record.
func Parse(data []byte) (*Record, error) {
	r := &Record{Version: version}
	if len(bytes.TrimSpace(data)) == 0 {
		return r, nil
	}
	r.Version = 0
	if err := jsonfile.Parse(data, r); err != nil {
		return nil, fmt.Errorf("tuning record: %w", err)
	}
	if r.Version < oldest || r.Version > version {
		return nil, fmt.Errorf("tuning record: its version is %d; this compiler reads %d to %d. Remove the file and measure again", r.Version, oldest, version)
	}
	if err := r.check(); err != nil {
		return nil, fmt.Errorf("tuning record: %w", err)
	}
	return r, nil
}

func (r *Record) check() error {
	seen := map[identity]bool{}
	for i := range r.Chips {
		c := &r.Chips[i]
		switch {
		case c.Chip == "":
			return fmt.Errorf("chip %d has no name", i)
		case seen[c.identity()]:
			return fmt.Errorf("chip %s is listed twice", c.Chip)
		case c.Threads < 1:
			return fmt.Errorf("chip %s: threads is %d; want a number from 1", c.Chip, c.Threads)
		}
		seen[c.identity()] = true
		if err := c.check(); err != nil {
			return fmt.Errorf("chip %s: %w", c.Chip, err)
		}
	}
	return nil
}

// identity is what a record has one of: a processor and a device may have the same name.
type identity struct {
	name   string
	device bool
}

func (c *Chip) identity() identity { return identity{c.Chip, c.Device} }

func (c *Chip) check() error {
	seen := map[string]bool{}
	for i := range c.Blocks {
		b := &c.Blocks[i]
		switch {
		case b.Key == "":
			return fmt.Errorf("block %d has no key", i)
		case seen[b.Key]:
			return fmt.Errorf("block %q is listed twice", b.Key)
		}
		seen[b.Key] = true
		names := map[string]bool{}
		for _, k := range b.Kernels {
			switch {
			case k.Name == "":
				return fmt.Errorf("block %q: a kernel has no name", b.Key)
			case names[k.Name]:
				return fmt.Errorf("block %q: kernel %q is listed twice", b.Key, k.Name)
			case !(k.Micros > 0) || math.IsInf(k.Micros, 0):
				return fmt.Errorf("block %q: kernel %q takes %g us; want a positive number", b.Key, k.Name, k.Micros)
			case k.Rounds < 1:
				return fmt.Errorf("block %q: kernel %q was measured in %d rounds; want a number from 1", b.Key, k.Name, k.Rounds)
			case k.Params != "":
				if _, err := params.Parse(k.Params); err != nil {
					return fmt.Errorf("block %q: kernel %q: %w", b.Key, k.Name, err)
				}
			}
			names[k.Name] = true
		}
	}
	return nil
}

// On gives what the record has of a processor, with nothing in it where it is new; then what On and OnDevice gave before is the record's no more.
func (r *Record) On(chip string, threads int) *Chip {
	return r.on(Chip{Chip: chip, Threads: threads})
}

// OnDevice gives what the record has of a device, as On does.
func (r *Record) OnDevice(device string) *Chip {
	return r.on(Chip{Chip: device, Device: true, Threads: 1})
}

func (r *Record) on(anew Chip) *Chip {
	for i := range r.Chips {
		if r.Chips[i].identity() == anew.identity() {
			return &r.Chips[i]
		}
	}
	r.Chips = append(r.Chips, anew)
	return &r.Chips[len(r.Chips)-1]
}

// Get is what was measured of a block's kernel, nothing in no rounds where nobody did.
func (c *Chip) Get(key, kernel string) Kernel {
	for _, b := range c.Blocks {
		if b.Key != key {
			continue
		}
		for _, k := range b.Kernels {
			if k.Name == kernel {
				return k
			}
		}
	}
	return Kernel{Name: kernel}
}

// All are the kernels of a block that were measured.
func (c *Chip) All(key string) []Kernel {
	for _, b := range c.Blocks {
		if b.Key == key {
			return b.Kernels
		}
	}
	return nil
}

// Set notes what a block's kernel takes.
func (c *Chip) Set(key, what string, kernel Kernel) {
	i := slices.IndexFunc(c.Blocks, func(b Block) bool { return b.Key == key })
	if i < 0 {
		c.Blocks, i = append(c.Blocks, Block{Key: key}), len(c.Blocks)
	}
	b := &c.Blocks[i]
	b.What = what
	b.Kernels = slices.DeleteFunc(b.Kernels, func(k Kernel) bool { return k.Name == kernel.Name })
	b.Kernels = append(b.Kernels, kernel)
}

// Text is the file: sorted, a line for each kernel, so that what changes is seen.
func (r *Record) Text() []byte {
	var out bytes.Buffer
	form := withoutDevices
	if slices.ContainsFunc(r.Chips, func(c Chip) bool { return c.Device }) {
		form = version
	}
	fmt.Fprintf(&out, "{\n \"version\": %d,\n \"chips\": [", form)
	chips := slices.SortedFunc(slices.Values(r.Chips), func(a, b Chip) int {
		return cmp.Or(strings.Compare(a.Chip, b.Chip), strings.Compare(a.device(), b.device()))
	})
	for i, c := range chips {
		fmt.Fprintf(&out, "%s\n  {\"chip\": %s, %s\"threads\": %d, \"blocks\": [", comma(i), quote(c.Chip), c.device(), c.Threads)
		blocks := slices.SortedFunc(slices.Values(c.Blocks), func(a, b Block) int {
			if n := strings.Compare(a.What, b.What); n != 0 {
				return n
			}
			return strings.Compare(a.Key, b.Key)
		})
		for k, b := range blocks {
			fmt.Fprintf(&out, "%s\n   {\"key\": %s, \"what\": %s, \"kernels\": [", comma(k), quote(b.Key), quote(b.What))
			for n, x := range slices.SortedFunc(slices.Values(b.Kernels), func(a, b Kernel) int { return strings.Compare(a.Name, b.Name) }) {
				fmt.Fprintf(&out, "%s\n    {\"kernel\": %s, %s\"us\": %.4g, \"rounds\": %d}", comma(n), quote(x.Name), x.params(), x.Micros, x.Rounds)
			}
			out.WriteString("]}")
		}
		out.WriteString("]}")
	}
	out.WriteString("\n ]\n}\n")
	return out.Bytes()
}

// device is a field of the chip's line, if it is one.
func (c Chip) device() string {
	if !c.Device {
		return ""
	}
	return "\"device\": true, "
}

// params are a field of the kernel's line, if it has some.
func (k Kernel) params() string {
	if k.Params == "" {
		return ""
	}
	return fmt.Sprintf("\"params\": %s, ", quote(k.Params))
}

func comma(i int) string {
	if i > 0 {
		return ","
	}
	return ""
}

func quote(s string) string {
	text, err := json.Marshal(s)
	if err != nil {
		panic(err) // no string fails
	}
	return string(text)
}

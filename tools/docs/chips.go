package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"sort"
	"strings"

	"rules_dnn/gen/target"
	"rules_dnn/gen/target/chips"
)

// fieldTexts say what fields of facts are. A field without a text, or a text without a field, is an
// error.
var fieldTexts = map[string]string{
	"name":                 "name in manifests, messages and tuning records; `dnn_chip` adds it",
	"sources":              "where the numbers of fields come from, by field names separated by commas; for readers",
	"cpu":                  "`x86_64`, `arm64`, `hexagon` or `opencl`",
	"vector_bits":          "width of a vector register",
	"vector_registers":     "number of vector registers that a kernel may use",
	"integers_only":        "true: vectors hold integers, and floats are computed one by one",
	"instructions":         "instructions of register tiles: rows of `gen/target/instr`, such as `fma_f32x8`. Without any, nothing is tiled",
	"instruction_units":    "for instructions by name: the number of multiplying units that one application needs, if it differs from `gen/target/instr`",
	"fma_per_cycle":        "multiply-adds of vectors that start in a cycle; default: 1",
	"fma_latency":          "cycles until a multiply-add of floats has its sum; default: the instruction's",
	"loads_per_cycle":      "loads of vectors that start in a cycle; default: 2",
	"issue_per_cycle":      "instructions of any kind that start in a cycle; default: 4",
	"in_order":             "true: instructions wait for earlier ones, so kernels load operands a step ahead; default: false",
	"stores_per_cycle":     "stores of vectors that start in a cycle; default: 1",
	"arithmetic_per_cycle": "instructions that compute floats that start in a cycle; default: 2",
	"widen_cycles":         "cost of converting a register of 16-bit floats to f32, in multiply-adds; default: 1",
	"lane_cycles":          "cycles of a lane that is loaded or stored by itself; default: 1",
	"crossing_cycles":      "cycles in which a cache line moves from one core to another; default: 200",
	"cpu_features":         "what `create()` checks the processor for, by the names of `runtime/dnn_cpu.h`; if one is missing: `UNSUPPORTED_CPU`",
	"copts":                "flags of the C++ compiler; `dnn_chip` adds them, for `compare` and `mca`",
	"tasks":                "devices: tasks that keep the whole device busy; default: 64",
	"task_elements":        "devices: neighboring elements of one task; default: 4096",
	"parallel":             "devices: tasks that run at once; default: 1",
	"load_cycles":          "devices: cycles of a load of a vector from a buffer, once it is cached; default: 0.5",
	"images":               "devices: texture memory (below); absent: none",
	"opencl":               "devices: how kernels are started (below)",
	"prefetch_bytes":       "how far ahead kernels fetch weights; 0: not at all",
	"l1d_bytes":            "size of the first-level data cache of a core; default: 32768",
	"l2_bytes":             "size of the second-level cache of a core; default: 524288",
	"l1d_ways":             "associativity of the first-level cache; default: 8",
	"bytes_per_cycle":      "bytes that a core reads from memory in a cycle; default: 4",
	"l2_bytes_per_cycle":   "bytes that a core reads from its second-level cache in a cycle; default: 16",
	"l3_bytes":             "bytes of the shared cache that one core may fill; default: no shared cache",
	"l3_bytes_per_cycle":   "bytes that a core reads from the shared cache in a cycle",
	"runs_on":              "facts of processors that may run the chip's kernels: kernels are chosen to lose little on any of them; default: the chip alone",

	"images.max_width":       "width of the largest image, in texels of four elements",
	"images.max_height":      "height of the largest image",
	"images.load_cycles":     "cycles of a load of a texel",
	"images.bytes_per_cycle": "bytes that the device reads from images in a cycle",

	"opencl.group_items":      "work-items of a work-group, at most; a power of two",
	"opencl.workers":          "work-items that run kernels whose tasks need memory of their own",
	"opencl.local_bytes":      "memory that the items of a group share; 0: kernels use none",
	"opencl.units":            "units that compute groups of their own",
	"opencl.sub_group":        "neighboring items that run in step",
	"opencl.unit_items":       "work-items that a unit has room for",
	"opencl.unit_local_bytes": "local memory of a unit",
	"opencl.unit_registers":   "registers of 32 bits of a unit; 0: they limit nothing",
	"opencl.align_bytes":      "alignment of sub-buffers; default: 128",
	"opencl.clock_mhz":        "clock to which cycles refer; default: 1000",
	"opencl.launch_us":        "time of a launch besides its kernel; default: 5",
	"opencl.transfer_us":      "time of a transfer besides its bytes; default: 10",
	"opencl.link_gb_per_s":    "rate of transfers; default: 12",
	"opencl.winograd":         "results along each axis of Winograd's transforms that may be used; absent: none, because it was not measured whether they gain",
	"opencl.exchange":         "true: items may exchange values within sub-groups; default: false",
}

// field is a field of facts.
type field struct {
	name string // with the object's name and a dot before, if it is in one
	kind reflect.Type
}

// factFields returns the fields of facts in the order of their struct, those of inner objects last.
func factFields() []field {
	var out, inner []field
	t := reflect.TypeFor[target.Target]()
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		if name == "" {
			continue
		}
		out = append(out, field{name, t.Field(i).Type})
		if kind := t.Field(i).Type; kind.Kind() == reflect.Pointer {
			for k := range kind.Elem().NumField() {
				f := kind.Elem().Field(k)
				tag, _, _ := strings.Cut(f.Tag.Get("json"), ",")
				inner = append(inner, field{name + "." + tag, f.Type})
			}
		}
	}
	return append(out, inner...)
}

// checkFields reports fields without a text, and texts without a field.
func checkFields(fields []field) error {
	known := map[string]bool{}
	for _, f := range fields {
		known[f.name] = true
		if fieldTexts[f.name] == "" {
			return fmt.Errorf("the field %s of facts is not described in tools/docs/chips.go", f.name)
		}
	}
	for name := range fieldTexts {
		if !known[name] {
			return fmt.Errorf("tools/docs/chips.go describes the field %s, which facts do not have", name)
		}
	}
	return nil
}

// chipsPages writes the page of chips and devices, the facts file of each chip, and their schema.
func chipsPages(r *repository) (map[string]string, error) {
	fields := factFields()
	if err := checkFields(fields); err != nil {
		return nil, err
	}
	all, err := chips.All()
	if err != nil {
		return nil, err
	}
	devices, err := deviceRows(r.root)
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	p := newPage("Chips and devices", "`platforms` and `gen/target`")
	p.text("Kernels are made for a chip. The platform chooses it by its constraints.")
	p.heading(2, "Chips")
	p.text("`platforms` lists targets of `@rules_dnn//platforms`; `host` is the machine that builds. " +
		"Timings of `hexagon_v73` are assumed to equal those of v69.")
	var rows [][]string
	for _, c := range all {
		t, err := target.Parse(c.Facts)
		if err != nil {
			return nil, err
		}
		rows = append(rows, []string{quoted(c.Name), platforms(c), fmt.Sprint(t.VectorBits), quotedList(t.Instructions), quotedList(t.CPUFeatures), quotedList(c.Variants)})
		out["facts/"+c.Name+".json"] = string(c.Facts)
	}
	p.table([]string{"chip", "platforms", "vector bits", "instructions of tiles", "CPU features", "default variants"}, rows)
	p.heading(2, "Devices")
	p.text("Files of `@rules_dnn//platforms/devices`, for `device` of a `dnn_model` with `backend = \"opencl\"`. " +
		"`opencl_nvidia` was fitted to measurements on an H100 and `opencl_pocl` runs in tests; the others are from what is published.")
	p.table([]string{"file", "vector bits", "images", "group items", "local bytes", "units", "winograd"}, devices)
	p.heading(2, "Fields")
	p.text("Facts are a dict of `dnn_chip`, or a JSON file. Fields of inner objects are written with a dot. The [schema](facts/schema.json) is for editors.")
	rows = nil
	for _, f := range fields {
		rows = append(rows, []string{quoted(f.name), kindName(f.kind), fieldTexts[f.name]})
	}
	p.table([]string{"field", "type", "meaning"}, rows)
	p.heading(2, "Facts files")
	p.text("Builds without Bazel pass such a file to `dnnc compile --chip`. Bazel writes the same file: `bazel build @rules_dnn//platforms/chips:NAME`.")
	var links []string
	for _, c := range all {
		links = append(links, fmt.Sprintf("[%s](facts/%s.json)", c.Name, c.Name))
	}
	p.items(links...)
	out["chips.md"] = p.String()
	if out["facts/schema.json"], err = factSchema(fields); err != nil {
		return nil, err
	}
	return out, nil
}

// platforms names the platforms of //platforms that have a chip.
func platforms(c chips.Chip) string {
	cpu := c.Constraints["@platforms//cpu"]
	if !strings.HasPrefix(cpu, "@platforms//") {
		return quoted(c.Name)
	}
	return quotedList([]string{"linux_" + c.Name, "android_" + c.Name})
}

// deviceRows returns a row for each file of platforms/devices.
func deviceRows(root string) ([][]string, error) {
	names, err := filepath.Glob(filepath.Join(root, "platforms/devices/*.json"))
	if err != nil {
		return nil, err
	}
	sort.Strings(names)
	var rows [][]string
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		t, err := target.Parse(data)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		var file struct {
			Images any
			Device map[string]any `json:"opencl"`
		}
		if err := json.Unmarshal(data, &file); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		images := "no"
		if file.Images != nil {
			images = "yes"
		}
		row := []string{quoted(filepath.Base(name)), fmt.Sprint(t.VectorBits), images}
		for _, fact := range []string{"group_items", "local_bytes", "units", "winograd"} {
			if value := file.Device[fact]; value != nil {
				row = append(row, strings.Trim(fmt.Sprint(value), "[]"))
			} else {
				row = append(row, "")
			}
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// kindName names a type in JSON's words.
func kindName(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "string"
	case reflect.Bool:
		return "boolean"
	case reflect.Int, reflect.Int64:
		return "integer"
	case reflect.Float64:
		return "number"
	case reflect.Slice:
		if t == reflect.TypeFor[[]json.RawMessage]() {
			return "array of objects"
		}
		return "array of " + kindName(t.Elem()) + "s"
	}
	return "object"
}

// factSchema writes the JSON schema of facts.
func factSchema(fields []field) (string, error) {
	properties := map[string]any{}
	for _, f := range fields {
		where, name := properties, f.name
		if object, inner, ok := strings.Cut(f.name, "."); ok {
			where, name = properties[object].(map[string]any)["properties"].(map[string]any), inner
		}
		where[name] = property(f)
	}
	schema := map[string]any{
		"$schema":              "https://json-schema.org/draft/2020-12/schema",
		"title":                "Facts of a chip or device of rules_dnn",
		"type":                 "object",
		"additionalProperties": false,
		"properties":           properties,
		"required":             []string{"name", "cpu", "vector_bits", "vector_registers"},
	}
	data, err := json.MarshalIndent(schema, "", "  ")
	return string(data) + "\n", err
}

// property returns a field's schema.
func property(f field) map[string]any {
	kind := kindName(f.kind)
	out := map[string]any{"description": fieldTexts[f.name]}
	if item, ok := strings.CutPrefix(kind, "array of "); ok {
		out["type"], out["items"] = "array", map[string]any{"type": strings.TrimSuffix(item, "s")}
		return out
	}
	out["type"] = kind
	if f.kind.Kind() == reflect.Pointer {
		out["properties"], out["additionalProperties"] = map[string]any{}, false
	}
	return out
}

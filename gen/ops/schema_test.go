package ops

import (
	_ "embed" // the definitions
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"rules_dnn/gen/ir"
)

//go:embed testdata/schemas.txt
var schemas string

// definition is a line of testdata/schemas.txt.
type definition struct {
	op              string
	version         int
	operands        []string // name[?*]
	types           [][]string
	attrs           []string // name[!]:type
	minOuts, maxOut int
}

func definitions(t *testing.T) map[string][]definition {
	out := map[string][]definition{}
	for _, line := range strings.Split(strings.TrimSpace(schemas), "\n") {
		if strings.HasPrefix(line, "#") {
			continue
		}
		f := strings.Split(line, "|")
		require.Len(t, f, 4, line)
		var d definition
		_, err := fmt.Sscan(f[0], &d.op, &d.version)
		require.NoError(t, err, line)
		for _, p := range strings.Fields(f[1]) {
			name, types, _ := strings.Cut(p, ":")
			d.operands = append(d.operands, name)
			d.types = append(d.types, strings.Split(types, ","))
		}
		d.attrs = strings.Fields(f[2])
		_, err = fmt.Sscan(f[3], &d.minOuts, &d.maxOut)
		require.NoError(t, err, line)
		out[d.op] = append(out[d.op], d)
	}
	return out
}

// leftOut are attributes of ONNX that a row refuses, with the reason.
var leftOut = map[string]string{
	"Constant.sparse_value":  "the importer makes dense tensors of it, or refuses it",
	"Constant.value_string":  "strings are no element type",
	"Constant.value_strings": "strings are no element type",
}

// TestSchemas compares the rows with ONNX's own definitions, so that no version,
// operand, type or attribute is missing or invented.
func TestSchemas(t *testing.T) {
	all := definitions(t)
	for _, r := range Table() {
		t.Run(r.Name, func(t *testing.T) {
			defs := all[r.Name]
			require.NotEmpty(t, defs, "run python gen/ops/testdata/schemas.py %s", r.Name)
			var versions []int
			most := 0
			for _, d := range defs {
				versions = append(versions, d.version)
				require.Equal(t, d.operands, operandNames(r, d), "operands of version %d", d.version)
				require.Equal(t, attrsOf(d), attrNames(r, d.version), "attributes of version %d", d.version)
				require.Equal(t, r.MinOutputs, d.minOuts)
				most = max(most, d.maxOut)
			}
			require.Equal(t, versions, r.Versions)
			if r.MaxOutputs >= 0 {
				require.Equal(t, most, r.MaxOutputs)
			}
			require.Equal(t, typeUnion(defs), rowTypes(r, defs[len(defs)-1]))
		})
	}
	for op := range all {
		require.NotNil(t, Lookup(op), "%s is in testdata/schemas.txt, not in the table", op)
	}
}

// operandNames gives a row's operands as the definition spells them, whose names are
// its own where only those differ.
func operandNames(r *Row, d definition) []string {
	c := &Ctx{Row: r, Version: d.version}
	var out []string
	for i, p := range c.params() {
		name := p.Name
		if i < len(d.operands) {
			name = strings.TrimRight(d.operands[i], "?*")
		}
		switch {
		case p.Optional:
			name += "?"
		case p.Variadic:
			name += "*"
		}
		out = append(out, name)
	}
	return out
}

func attrsOf(d definition) []string {
	out := []string{}
	for _, a := range d.attrs {
		name, _, _ := strings.Cut(a, ":")
		if leftOut[d.op+"."+strings.TrimSuffix(name, "!")] == "" {
			out = append(out, a)
		}
	}
	return out
}

func attrNames(r *Row, version int) []string {
	kinds := map[string]string{
		"int64": "INT", "[]int64": "INTS", "float32": "FLOAT", "[]float32": "FLOATS",
		"string": "STRING", "[]string": "STRINGS", "*ir.Tensor": "TENSOR", "ir.RegionRef": "GRAPH",
	}
	out := []string{}
	for _, a := range r.Attrs {
		if !exists(a.Since, a.Until, version) {
			continue
		}
		name := a.Name
		if a.Required {
			name += "!"
		}
		out = append(out, name+":"+kinds[fmt.Sprintf("%T", a.Zero)])
	}
	slices.Sort(out)
	return out
}

// typeUnion is the types of each operand of the newest version, in any version.
func typeUnion(defs []definition) [][]string {
	newest := defs[len(defs)-1]
	out := make([][]string, len(newest.operands))
	for i, name := range newest.operands {
		for _, d := range defs {
			if k := slices.Index(d.operands, name); k >= 0 {
				out[i] = append(out[i], d.types[k]...)
			} else if i < len(d.types) {
				out[i] = append(out[i], d.types[i]...)
			}
		}
		slices.Sort(out[i])
		out[i] = slices.Compact(out[i])
	}
	return out
}

func rowTypes(r *Row, d definition) [][]string {
	ps := (&Ctx{Row: r, Version: d.version}).params()
	out := make([][]string, len(ps))
	for i, p := range ps {
		for _, t := range p.Types {
			out[i] = append(out[i], t.String())
		}
		slices.Sort(out[i])
	}
	return out
}

func TestTable(t *testing.T) {
	for i, r := range Table() {
		require.Equal(t, r.Form == Control || r.Form == Composition, r.Build == nil, r.Name)
		require.Equal(t, r.Form == Composition, r.Compose != nil, r.Name)
		require.NotEmpty(t, r.Versions, r.Name)
		require.True(t, slices.IsSorted(r.Versions), r.Name)
		if i > 0 {
			require.Less(t, Table()[i-1].Name, r.Name)
		}
		require.Same(t, r, Lookup(r.Name))
		for _, p := range r.Inputs {
			require.NotContains(t, p.Types, ir.Invalid, r.Name)
		}
	}
	require.Nil(t, Lookup("NoSuchOperator"))
}

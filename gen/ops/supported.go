package ops

import (
	"fmt"
	"slices"
)

// Supported reports why an operator of a definition's version is not supported; nil where it is.
func Supported(op string, version int) error {
	row := Lookup(op)
	if row == nil && (slices.Contains(drawn, op) || sequences[op].operands != 0 || op == SequenceEmpty) {
		return nil
	}
	if row == nil {
		return fmt.Errorf("the operator is not supported")
	}
	if v := row.newest(); version > v {
		return fmt.Errorf("version %d of the operator is newer than the newest supported one, %d", version, v)
	}
	return nil
}

// Names are the operators of the table and those that the importer, or package inline, makes others of, sorted.
func Names() []string {
	var out []string
	for _, r := range Table() {
		out = append(out, r.Name)
	}
	out = append(append(out, drawn...), sequenceNames()...)
	slices.Sort(out)
	return out
}

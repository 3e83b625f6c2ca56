package ops

import (
	"fmt"
	"slices"
)

// random are operators that no two programs compute alike.
var random = []string{"Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike"}

// Supported reports why an operator of a definition's version is not supported; nil where it is.
func Supported(op string, version int) error {
	row := Lookup(op)
	if row == nil && slices.Contains(random, op) {
		return fmt.Errorf("the operator draws random numbers, which no two programs draw alike: make what it gives an input of the network")
	}
	if row == nil {
		return fmt.Errorf("the operator is not supported")
	}
	if v := row.newest(); version > v {
		return fmt.Errorf("version %d of the operator is newer than the newest supported one, %d", version, v)
	}
	return nil
}

// Names are the operators of the table, sorted.
func Names() []string {
	var out []string
	for _, r := range Table() {
		out = append(out, r.Name)
	}
	return out
}

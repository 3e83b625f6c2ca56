package loop

import (
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/lex"
	"rules_dnn/gen/ir/sym"
)

// What a name may be besides a *Buffer.
type (
	symbol   struct{}
	index    struct{ loop bool } // a loop's or a loaded integer, or a value
	variable struct{ t ir.DType }
)

// name is what a name is, and how deep the block lies that declares it.
type name struct {
	what  any
	depth int
	value *sym.Expr // of an index variable, by symbols, loops' variables and loaded integers
}

// declare puts a name in scope.
func (v *verifier) declare(n string, what any) {
	all := v.names[n]
	switch {
	case len(all) > 0 && all[len(all)-1].depth == v.depth:
		v.fail("%q is declared twice in one block", n)
	case len(all) > 0 && !hides(what, all[len(all)-1].what):
		v.fail("%q is declared in a block where another %q is in scope", n, n)
	case !isName(n):
		v.fail("%q is not a name", n)
	case n == "_" && isBuffer(what): // which stands for none among a call's operands
		v.fail("%q is not a buffer's name", n)
	}
	v.here = append(v.here, n)
	v.names[n] = append(all, name{what, v.depth, nil})
	delete(v.values, n)
}

// hides reports whether a name may be declared where it has a meaning: a loop over one point is the value 0 in the block around, and
// defines its variables there; a longer loop over the same variable may follow in the block.
func hides(what, around any) bool {
	switch x := around.(type) {
	case index:
		is, ok := what.(index)
		return ok && is.loop && !x.loop
	case variable:
		is, ok := what.(variable)
		return ok && is == x
	}
	return false
}

// undeclare takes a name out of scope.
func (v *verifier) undeclare(n string) {
	all := v.names[n]
	all = all[:len(all)-1]
	v.names[n] = all
	if delete(v.values, n); len(all) > 0 && all[len(all)-1].value != nil {
		v.values[n] = *all[len(all)-1].value
	}
}

func isBuffer(what any) bool {
	_, ok := what.(*Buffer)
	return ok
}

// isName reports whether texts can have the name: a word that means nothing else in index expressions.
func isName(n string) bool {
	for i := range len(n) {
		if c := n[i]; !lex.IsWord(c) || i == 0 && c >= '0' && c <= '9' {
			return false
		}
	}
	return n != "" && n != "min" && n != "max" && n != "overflow"
}

// lookup is what a name is here, nil where it is nothing.
func (v *verifier) lookup(n string) any {
	if all := v.names[n]; len(all) > 0 {
		return all[len(all)-1].what
	}
	return nil
}

package policy

import (
	"fmt"
	"slices"

	"go.starlark.net/syntax"
)

// attributes are those of layers, and methods that take little time and memory.
var attributes = []string{"append", "channels", "connectivity", "count", "depthwise", "endswith", "entries", "filters", "groups", "kernel",
	"macs", "macs_share", "name", "node", "op", "packed", "patterns", "position", "sensitivity", "shape", "share", "startswith", "weights"}

// maxDepth is how deep parts of a file stand in each other.
const maxDepth = 500

// restrict refuses what a policy cannot have, and has the operands of operators checked when they run: so each step takes
// little memory and time, which Starlark itself does not bound.
func restrict(f *syntax.File) error {
	var err error
	depth := 0
	syntax.Walk(f, func(n syntax.Node) bool {
		if n == nil { // the end of one that was walked
			depth--
			return false
		}
		if err == nil {
			err = node(n)
		}
		if err == nil && depth == maxDepth {
			err = refuse(n, "expressions and statements of policies are nested deeper than %d", maxDepth)
		}
		if err == nil {
			depth++
		}
		return err == nil
	})
	return err
}

func refuse(n syntax.Node, format string, args ...any) error {
	start, _ := n.Span()
	return fmt.Errorf("%s: %w", start, fmt.Errorf(format, args...))
}

// node checks one part of the file, without those in it.
func node(n syntax.Node) error {
	switch n := n.(type) {
	case *syntax.LoadStmt:
		return refuse(n, "policies cannot load files")
	case *syntax.SliceExpr:
		return refuse(n, "policies have no slices: use an index, startswith or endswith")
	case *syntax.Literal:
		if n.Token == syntax.BYTES {
			return refuse(n, "policies have no bytes")
		}
	case *syntax.DotExpr:
		if !slices.Contains(attributes, n.Name.Name) {
			return refuse(n.Name, "policies have no attribute or method %s", n.Name.Name)
		}
	case *syntax.UnaryExpr:
		return unary(n)
	case *syntax.IndexExpr:
		n.Y = checked(scalarCheck, n.Y)
	case *syntax.DictEntry:
		n.Key = checked(scalarCheck, n.Key)
	case *syntax.AssignStmt:
		return assign(n)
	case *syntax.BinaryExpr:
		return binary(n)
	}
	return nil
}

func unary(n *syntax.UnaryExpr) error {
	switch n.Op {
	case syntax.NOT:
	case syntax.PLUS, syntax.MINUS:
		n.X = checked(numberCheck, n.X)
	default:
		return refuse(n, "policies do not have the operator %s here", n.Op)
	}
	return nil
}

// assign makes x += y the same as x = x + y.
func assign(n *syntax.AssignStmt) error {
	if n.Op == syntax.EQ {
		return nil
	}
	op, ok := map[syntax.Token]syntax.Token{
		syntax.PLUS_EQ: syntax.PLUS, syntax.MINUS_EQ: syntax.MINUS, syntax.STAR_EQ: syntax.STAR, syntax.SLASH_EQ: syntax.SLASH,
		syntax.SLASHSLASH_EQ: syntax.SLASHSLASH, syntax.PERCENT_EQ: syntax.PERCENT,
	}[n.Op]
	x, isName := n.LHS.(*syntax.Ident)
	if !ok || !isName {
		return refuse(n, "policies do not have %s here: write a plain assignment", n.Op)
	}
	n.Op = syntax.EQ
	n.RHS = &syntax.BinaryExpr{X: &syntax.Ident{NamePos: x.NamePos, Name: x.Name}, OpPos: n.OpPos, Op: op, Y: n.RHS}
	return nil
}

func binary(n *syntax.BinaryExpr) error {
	check := ""
	switch n.Op {
	case syntax.EQ, syntax.AND, syntax.OR: // EQ gives an argument its name
		return nil
	case syntax.PLUS:
		check = addendCheck
	case syntax.MINUS, syntax.STAR, syntax.SLASH, syntax.SLASHSLASH, syntax.PERCENT:
		check = numberCheck
	case syntax.IN, syntax.NOT_IN:
		n.X = checked(scalarCheck, n.X)
		return nil
	case syntax.EQL, syntax.NEQ, syntax.LT, syntax.LE, syntax.GT, syntax.GE:
		check = compareCheck
	default:
		return refuse(n, "policies do not have the operator %s", n.Op)
	}
	n.X, n.Y = checked(check, n.X), checked(check, n.Y)
	return nil
}

// checked is an operand with its check around it.
func checked(check string, x syntax.Expr) syntax.Expr {
	start, end := x.Span()
	return &syntax.CallExpr{Fn: &syntax.Ident{NamePos: start, Name: check}, Lparen: start, Args: []syntax.Expr{x}, Rparen: end}
}

package nodetest

import (
	"regexp"
	"testing"

	"rules_dnn/gen/emit/cpp/cpptest"
)

// ofConversions are the cases that convert, or have what compilers make vectors of by themselves.
var ofConversions = regexp.MustCompile("cast|double|float64|quantize|range|cumsum|_mod_|_pow|clip|where")

// TestCompilers compiles a part of the cases with each release of a C++ compiler that the machine has, without a warning, as kernels of users are.
func TestCompilers(t *testing.T) {
	s, chip := cases(t), hostChip(t)
	n := 0
	b := chooseCases(t, s, chip, false, nil, 1, func(c *Case) bool {
		n++
		return *every || *all || *only != "" || ofConversions.MatchString(c.Name) && n%4 == 0 || n%40 == 0
	})
	atLeast(t, 60, len(b.programs))
	before := *copts
	defer func() { *copts = before }()
	*copts = "-O3" // as the rules do
	cpptest.EachCompiler(t, func(t *testing.T, m *cpptest.Machine) { b.run(t, m) })
}

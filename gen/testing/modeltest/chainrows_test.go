package modeltest

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"rules_dnn/gen/kernel/loop"
)

// TestRowsTogether: stages of short rows are computed for several rows one after the other, where so many divide the rows and enough tasks are left.
func TestRowsTogether(t *testing.T) {
	softmax := func(shape string) string {
		return "input %x f32[" + shape + "]\n%y ?[*] = Softmax.13(%x)\noutput %y\n"
	}
	for name, c := range map[string]struct {
		graph string
		rows  int64 // 0: each by itself
	}{
		"eight":                    {softmax("512, 49"), 8},
		"a divisor":                {softmax("100, 49, 33"), 7},
		"logarithms":               {"input %x f32[640, 21]\n%y ?[*] = LogSoftmax.13(%x)\noutput %y\n", 8},
		"a mean and a variance":    {"input %x f32[520, 96]\ninput %s f32[96]\ninput %b f32[96]\n%y ?[*] = LayerNormalization.17(%x, %s, %b)\noutput %y\n", 8},
		"what comes before":        {"input %z f32[512, 40]\n%x ?[*] = Relu.14(%z)\n%y ?[*] = Softmax.13(%x)\noutput %y\n", 8},
		"a prime number":           {softmax("607, 49"), 0},
		"few":                      {softmax("120, 49"), 0},
		"long ones":                {softmax("512, 129"), 0},
		"of a number that is read": {"symbol N 1..600\n" + softmax("N, 49"), 0},
	} {
		t.Run(name, func(t *testing.T) {
			for _, chip := range Chips {
				p := survivor(t, c.graph, chip)
				rows := int64(0)
				for _, call := range p.Calls() {
					loop.Walk(call.Kernel.Body, func(s loop.Stmt) bool {
						if f, ok := s.(loop.For); ok && f.Var == "s0row" {
							rows, _ = f.Extent.Const()
						}
						return true
					})
				}
				assert.Equal(t, c.rows, rows, chip)
			}
		})
	}
}

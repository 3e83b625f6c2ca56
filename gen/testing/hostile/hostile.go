// Package hostile makes models that no exporter writes, and those at the ends of what ONNX allows, each with what must
// happen: it is refused with an error that says where and why, or it computes what ONNX's specification says, or a
// run gives a status. What must happen is told by constants and by simple code of this package, never by the compiler.
//
// Only tests import this package.
package hostile

import (
	"fmt"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/onnx/onnxtest"
)

// Kind is what must happen to a case.
type Kind int

const (
	// Refused: dnnc gives an error that has the case's words.
	Refused Kind = iota
	// Right: it compiles, and each run is what it must be: results, or a status with words.
	Right
	// Open: ONNX's specification allows it, but it is beyond what a compiler must support, or the specification
	// leaves it undefined: refused with the words, or right.
	Open
	// Rejected: what is wrong is known to the compiler or to the run, which one is not told: refused, or a status.
	Rejected
)

// Case is a model and what must happen.
type Case struct {
	Class, Name string
	Model       []byte            // model.onnx
	Files       map[string][]byte // beside it
	Folders     []string          // beside it
	Flags       []string          // of dnnc graph
	Kind        Kind
	Words       []string // of the error where it is refused, or of the run's explanation where it is rejected
	Runs        []Run
	Limits      Limits
	Flag        bool // what is wrong is a flag, whose error does not name the model
}

// Limits are what the compiler may take for a case: processor time and memory.
type Limits struct {
	Time  time.Duration
	Bytes int64
}

// small is what a model of a few nodes may take, which is far more than it does.
var small = Limits{10 * time.Second, 512 << 20}

// Status is a status of a run, by the name that the header gives it.
type Status string

// Statuses of runs.
const (
	OK       Status = ""
	BadDims  Status = "BAD_DIMS"
	BadValue Status = "BAD_VALUE"
	TooLarge Status = "TOO_LARGE"
	// Any is a status, whichever, for values or dimensions that are wrong.
	Any Status = "any"
)

// Run is one run of a compiled case.
type Run struct {
	Inputs []Value
	// Dims are the values of symbols that the inputs' shapes do not tell, or contradict.
	Dims   map[string]int64
	Status Status
	Words  []string // of the explanation where the status is not OK
	Want   []Want   // results, one for each output
	// KeepDenormals is the option of that name.
	KeepDenormals bool
}

// Value is an input and its elements.
type Value struct {
	Name   string
	Tensor *ir.Tensor
}

// Cases are all cases, the same ones for a seed.
func Cases(seed uint64) ([]*Case, error) {
	var all []*Case
	for _, class := range classes {
		m := &maker{class: class.name, seed: seed}
		if err := class.make(m); err != nil {
			return nil, fmt.Errorf("class %s: %w", class.name, err)
		}
		all = append(all, m.cases...)
	}
	return all, check(all)
}

// classes in the order of the table.
var classes = []struct {
	name string
	make func(*maker) error
}{
	{"floats", floatCases},
	{"chains", chainCases},
	{"zero", zeroCases},
	{"integers", integerCases},
	{"values", valueCases},
	{"names", nameCases},
	{"types", typeCases},
	{"files", fileCases},
	{"order", orderCases},
	{"sparse", sparseCases},
	{"constants", constantCases},
	{"control", controlCases},
	{"opsets", opsetCases},
	{"symbols", symbolCases},
	{"nests", nestCases},
	{"scales", scaleCases},
	{"pads", padCases},
	{"pools", poolCases},
	{"ranges", rangeCases},
	{"declared", declaredCases},
}

// Classes are the classes' names.
func Classes() []string {
	var names []string
	for _, c := range classes {
		names = append(names, c.name)
	}
	return names
}

// check makes sure that each case says what must happen.
func check(all []*Case) error {
	seen := map[string]bool{}
	for _, c := range all {
		name := c.Class + "/" + c.Name
		switch {
		case seen[name]:
			return fmt.Errorf("%s is there twice", name)
		case (c.Kind == Refused || c.Kind == Rejected) && len(c.Words) == 0:
			return fmt.Errorf("%s is refused without words", name)
		case c.Kind == Right && len(c.Runs) == 0:
			return fmt.Errorf("%s is right without a run", name)
		case c.Kind == Refused && len(c.Runs) > 0:
			return fmt.Errorf("%s is refused and has runs", name)
		}
		seen[name] = true
	}
	return nil
}

// maker collects the cases of a class.
type maker struct {
	class string
	seed  uint64
	cases []*Case
}

// add adds a case of a model's message or of its bytes.
func (m *maker) add(kind Kind, name string, model any) *Case {
	c := &Case{Class: m.class, Name: name, Kind: kind, Limits: small}
	switch x := model.(type) {
	case []byte:
		c.Model = x
	case proto.Message:
		c.Model = onnxtest.Bytes(x)
	default:
		panic(fmt.Sprintf("a model is no %T", x))
	}
	m.cases = append(m.cases, c)
	return c
}

// refused adds a case that is refused with words.
func (m *maker) refused(name string, model any, words ...string) *Case {
	c := m.add(Refused, name, model)
	c.Words = words
	return c
}

// rejected adds a case that is refused by the compiler or by the run.
func (m *maker) rejected(name string, model any, words []string, inputs ...Value) *Case {
	c := m.add(Rejected, name, model)
	c.Words = words
	c.Runs = []Run{{Inputs: inputs, Status: Any, Words: words}}
	return c
}

// right adds a case of one run.
func (m *maker) right(name string, model any, r Run) *Case {
	c := m.add(Right, name, model)
	c.Runs = []Run{r}
	return c
}

// open adds a case that is refused with words or right.
func (m *maker) open(name string, model any, words []string, runs ...Run) *Case {
	c := m.add(Open, name, model)
	c.Words, c.Runs = words, runs
	return c
}

// status adds a case that compiles, and whose run gives a status that names a node.
func (m *maker) status(name string, model any, s Status, words []string, inputs ...Value) *Case {
	c := m.add(Right, name, model)
	c.Runs = []Run{{Inputs: inputs, Status: s, Words: words}}
	return c
}

// then adds a run.
func (c *Case) then(r Run) *Case {
	c.Runs = append(c.Runs, r)
	return c
}

// with adds flags of dnnc graph.
func (c *Case) with(flags ...string) *Case {
	c.Flags = append(slices.Clone(c.Flags), flags...)
	return c
}

// within gives the compiler more than a small model takes.
func (c *Case) within(t time.Duration, bytes int64) *Case {
	c.Limits = Limits{t, bytes}
	return c
}

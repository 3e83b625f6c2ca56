package modeltest

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"sync"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/kernel/loop"
	"rules_dnn/gen/ops/opaque"
	"rules_dnn/gen/program/plan"
	"rules_dnn/gen/program/run"
)

// seen are the digests of the kernels' texts that were read back and run.
var seen struct {
	sync.Mutex
	texts map[[sha256.Size]byte]bool
}

// runTexts runs a program on inputs, in the program's order. Where it has a kernel that no program had before, it runs the program
// again with kernels that are read from the text of its own, and reports what differs.
func runTexts(p *plan.Program, in []*ir.Tensor) ([]*ir.Tensor, error) {
	want, refused := run.Program(p, in)
	fresh, err := fromTexts(p)
	if err != nil || fresh == nil {
		return want, firstOf(err, refused)
	}
	own := make([]*loop.Kernel, len(fresh))
	for i, c := range kernelsOf(p) {
		own[i], c.Kernel = c.Kernel, fresh[i]
	}
	got, err := run.Program(p, in)
	for i, c := range kernelsOf(p) {
		c.Kernel = own[i]
	}
	if fmt.Sprint(err) != fmt.Sprint(refused) {
		return nil, fmt.Errorf("kernels that are read from their text fail with %v; want %v", err, refused)
	}
	for i := range want {
		if !bytes.Equal(want[i].Data, got[i].Data) {
			return nil, fmt.Errorf("kernels that are read from their text give other elements of output %d", i)
		}
	}
	return want, refused
}

func firstOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// kernelsOf are the calls of the program's kernels, wherever they run.
func kernelsOf(p *plan.Program) []*plan.Call {
	out := p.Calls()
	for _, l := range p.Launches() {
		out = append(out, l.Call)
	}
	return out
}

// fromTexts are kernels that are read from the text of the calls' kernels; nil where all of these were seen before.
func fromTexts(p *plan.Program) ([]*loop.Kernel, error) {
	seen.Lock()
	defer seen.Unlock()
	if seen.texts == nil {
		seen.texts = map[[sha256.Size]byte]bool{}
	}
	texts, fresh := []string{}, false
	for _, c := range kernelsOf(p) {
		text := c.Kernel.String()
		key := sha256.Sum256([]byte(text))
		fresh = fresh || !seen.texts[key]
		seen.texts[key] = true
		texts = append(texts, text)
	}
	if !fresh {
		return nil, nil
	}
	var out []*loop.Kernel
	for i, c := range kernelsOf(p) {
		k, err := reread(c.Kernel, texts[i])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", c.Block.Label(), err)
		}
		out = append(out, k)
	}
	return out, nil
}

// reread reads a kernel's text, which must say the same of what was read.
func reread(k *loop.Kernel, text string) (*loop.Kernel, error) {
	var calls []*opaque.Call
	loop.Walk(k.Body, func(s loop.Stmt) bool {
		if c, ok := s.(loop.Call); ok {
			calls = append(calls, c.Call)
		}
		return true
	})
	back, err := loop.Parse(text, calls...)
	if err != nil {
		return nil, fmt.Errorf("%w\n%s", err, text)
	}
	if again := back.String(); again != text {
		return nil, fmt.Errorf("a kernel's text is read as another one:\n%s\nwant:\n%s", again, text)
	}
	if err := loop.Verify(back); err != nil {
		return nil, fmt.Errorf("a kernel that was read from its text: %w\n%s", err, text)
	}
	return back, nil
}

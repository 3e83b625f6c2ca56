// Package policy runs pruning policies: files in Starlark with a function that gives each layer its settings.
//
//	def policy(layer):
//	    if layer.op == "Gemm" or layer.macs_share < 0.01:
//	        return dense
//	    if layer.position > layer.count // 2:
//	        return settings(connectivity = 5)
//	    return settings()  # as the rule's attributes say
//
// A layer has name (of its weights), node, op, shape, filters, channels, kernel ("3x3", "1" of a fully connected layer), groups,
// depthwise, position (from 0), count (of layers), weights, macs (0: not known), macs_share, sensitivity (the options' number, or what
// package sensitivity measured; None: not known), and patterns, entries, connectivity, share and packed, which the attributes ask for. settings()
// takes these five, and has the attributes' for those that are left out; dense leaves a layer as it is.
//
// A policy sees nothing but its layer. It is a part of Starlark in which time and memory of every step are bounded, as is the
// number of steps: there is no load, no multiplication or addition of lists, no slices, and few built-in functions. What goes wrong is an
// error with file and line.
package policy

import (
	"errors"
	"fmt"
	"math"

	"go.starlark.net/resolve"
	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"
	"go.starlark.net/syntax"

	"rules_dnn/gen/compress/prune"
)

// Bounds of a policy.
const (
	maxSource = 1 << 16 // bytes
	initSteps = 1 << 17 // of the file
	callSteps = 1 << 15 // for a layer
)

// function is the name of what decides.
const function = "policy"

// Parse reads a policy; name is what messages call the file.
func Parse(name string, source []byte) (prune.Policy, error) {
	if len(source) > maxSource {
		return nil, fmt.Errorf("%s: the policy has %d bytes; at most %d are supported", name, len(source), maxSource)
	}
	f, err := (&syntax.FileOptions{}).Parse(name, source, 0)
	if err != nil {
		return nil, located(err)
	}
	if err := restrict(f); err != nil {
		return nil, err
	}
	names := predeclared()
	program, err := starlark.FileProgram(f, names.Has)
	if err != nil {
		return nil, located(err)
	}
	globals, err := program.Init(newThread(name, initSteps), names)
	if err != nil {
		return nil, located(err)
	}
	globals.Freeze() // layers do not see each other's
	decide, ok := globals[function].(*starlark.Function)
	if !ok {
		return nil, fmt.Errorf("%s: want a function called %s, as in def %s(layer)", name, function, function)
	}
	if decide.NumParams() != 1 {
		return nil, fmt.Errorf("%s: %s takes %d parameters; want one, the layer", decide.Position(), function, decide.NumParams())
	}
	return func(x prune.Facts) (*prune.Wish, error) { return call(name, decide, x) }, nil
}

func newThread(name string, steps uint64) *starlark.Thread {
	t := &starlark.Thread{Name: name, Print: func(*starlark.Thread, string) {}}
	t.SetMaxExecutionSteps(steps)
	t.OnMaxSteps = func(t *starlark.Thread) { t.Cancel(fmt.Sprintf("more than %d steps", steps)) }
	return t
}

// call asks for a layer's settings.
func call(name string, decide *starlark.Function, x prune.Facts) (*prune.Wish, error) {
	thread := newThread(name, callSteps)
	thread.SetLocal(factsKey, x)
	v, err := starlark.Call(thread, decide, starlark.Tuple{layer(x)}, nil)
	if err != nil {
		return nil, fmt.Errorf("%w (layer %q)", located(err), shown(x.Name))
	}
	switch v := v.(type) {
	case *wish:
		w := v.Wish
		return &w, nil
	case denseValue:
		return nil, nil
	}
	return nil, fmt.Errorf("%s: %s returned %s for the layer %q; want settings(...) or dense", decide.Position(), function, v.Type(), shown(x.Name))
}

// shown is a name for messages.
func shown(name string) string { return name[:min(len(name), maxString)] }

// located is an error of Starlark with file and line.
func located(err error) error {
	var list resolve.ErrorList
	if errors.As(err, &list) && len(list) > 0 {
		return list[0]
	}
	var e *starlark.EvalError
	if !errors.As(err, &e) {
		return err
	}
	for i := range len(e.CallStack) {
		if frame := e.CallStack.At(i); frame.Pos.Line > 0 {
			return fmt.Errorf("%s: in %s: %s", frame.Pos, frame.Name, e.Msg)
		}
	}
	return e
}

// layer is what a policy sees.
func layer(x prune.Facts) starlark.Value {
	shape := make(starlark.Tuple, len(x.Shape))
	weights := 1.0
	for i, d := range x.Shape {
		shape[i] = starlark.MakeInt64(d)
		weights *= float64(d)
	}
	var sensitivity starlark.Value = starlark.None
	if x.Sensitivity != nil {
		sensitivity = starlark.Float(*x.Sensitivity)
	}
	return starlarkstruct.FromStringDict(starlark.String("layer"), starlark.StringDict{
		"name":         starlark.String(x.Name),
		"node":         starlark.String(x.Node),
		"op":           starlark.String(x.Op),
		"shape":        shape,
		"filters":      starlark.MakeInt64(x.Shape[x.FilterAxis]),
		"channels":     starlark.MakeInt64(x.Shape[1-x.FilterAxis]),
		"kernel":       starlark.String(prune.KernelSize(x.Layer)),
		"groups":       starlark.MakeInt(x.Groups),
		"depthwise":    starlark.Bool(x.Depthwise()),
		"position":     starlark.MakeInt(x.Position),
		"count":        starlark.MakeInt(x.Count),
		"weights":      starlark.MakeInt64(int64(math.Min(weights, math.MaxInt64/2))),
		"macs":         starlark.MakeInt64(x.MACs),
		"macs_share":   starlark.Float(x.MACsShare),
		"sensitivity":  sensitivity,
		"patterns":     starlark.MakeInt(x.Uniform.Patterns),
		"entries":      starlark.MakeInt(x.Uniform.Entries),
		"connectivity": starlark.Float(x.Uniform.Connectivity),
		"share":        starlark.MakeInt(x.Uniform.Share),
		"packed":       starlark.Bool(x.Uniform.Packed),
	})
}

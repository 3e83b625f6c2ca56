package ops

import (
	"rules_dnn/gen/ir"
)

// results are Y and the last states.
func (r *recurrent) results() []*ir.Value {
	r.masks()
	out := make([][]*ir.Value, r.Row.MaxOutputs)
	for d := range r.directions {
		for i, v := range r.run(d) {
			if r.wants(i) {
				out[i] = append(out[i], r.stackable(v, i))
			}
		}
	}
	results := make([]*ir.Value, len(out))
	for i, vs := range out {
		if r.wants(i) {
			results[i] = r.cast(r.join(r.directionAxis(i), vs...), r.t, r.Type(recurrentX))
		}
	}
	return results
}

// directionAxis is the axis of result i that tells directions apart: of Y after steps and,
// where it comes first, batch; of states before or after the batch.
func (r *recurrent) directionAxis(i int) int64 {
	axis := int64(r.time)
	if i == 0 {
		axis++
	}
	return axis
}

func (r *recurrent) stackable(v *ir.Value, i int) *ir.Value {
	return r.unsqueeze(v, r.directionAxis(i))
}

// masks computes which steps are within their sequences, for all of them.
func (r *recurrent) masks() {
	if !r.Has(recurrentLens) {
		return
	}
	length := r.squeeze(r.dim(r.operands[recurrentX], int64(r.time)), 0)
	lens := r.op(Lengths, nil, r.cast(r.operands[recurrentLens], ir.I32, ir.I64), length)
	steps := r.op("Range", nil, r.integer(0), length, r.integer(1))
	steps, perBatch := r.unsqueeze(steps, int64(r.batch), 2), r.unsqueeze(lens, int64(r.time), 2)
	r.active = r.op("Less", nil, steps, perBatch)
	r.some = r.op("Greater", nil, r.unsqueeze(lens, 1), r.integer(0))
}

// of is the part of an operand that belongs to direction d, in the type that computes.
func (r *recurrent) of(operand, d int, axis int64) *ir.Value {
	v := r.operands[operand]
	if v == nil {
		return nil
	}
	v = r.cast(v, r.Type(operand), r.t)
	return r.squeeze(r.split(v, axis, len(r.directions))[d], axis)
}

// step is what a step's body reads besides its input and the states.
type step struct {
	*scanning
	r         *recurrent
	weights   *ir.Value   // of the recurrent product, the gates' one below the other
	integers  *bytesOf    // the same where they are quantized, or nil
	bias      *ir.Value   // of that product, if it is kept apart
	peepholes []*ir.Value // or nil
	functions []activationOf
}

// run writes one direction: Y and the last states.
func (r *recurrent) run(d int) []*ir.Value {
	x, bias := r.inputs(d)
	s := &step{
		scanning: r.scan(int64(r.time), r.directions[d].backward), r: r, bias: bias,
		functions: r.activations[d*len(r.cell.functions) : (d+1)*len(r.cell.functions)],
	}
	if r.quantized {
		s.integers = r.bytesOf(recurrentR, recurrentRScale, d)
	} else {
		s.weights = r.of(recurrentR, d, 0)
	}
	if p := r.of(recurrentP, d, 0); p != nil {
		s.peepholes = r.split(p, 0, 3)
	}
	var before []*ir.Value
	for i := recurrentH; i < recurrentH+r.Row.MaxOutputs-1; i++ {
		before = append(before, s.state(r.first(i, d)))
	}
	input := s.slice(x)
	var within *ir.Value
	if r.active != nil {
		within = s.slice(r.active)
	}
	after := r.step(s, input, before)
	if within != nil {
		for i := range after {
			after[i] = s.op("Where", nil, within, after[i], before[i])
		}
	}
	var stacked []*ir.Value
	if r.wants(0) {
		x, _ := r.Shape(recurrentX)
		stacked = []*ir.Value{s.stack(after[0], r.t, x[r.batch], r.hidden)}
	}
	return r.finish(s.end(after, stacked))
}

// finish puts Y first and makes zero what is past a sequence's end.
func (r *recurrent) finish(scanned []*ir.Value) []*ir.Value {
	states := scanned[:r.Row.MaxOutputs-1]
	var y *ir.Value
	if r.wants(0) {
		y = scanned[len(states)]
	}
	out := append([]*ir.Value{y}, states...)
	if r.active == nil {
		return out
	}
	zero := r.float(r.t, 0)
	for i, v := range out {
		mask := r.some
		if i == 0 {
			mask = r.active
		}
		if v != nil {
			out[i] = r.op("Where", nil, mask, v, zero)
		}
	}
	return out
}

// inputs is the product of all steps' inputs with the gates' weights, biases added, and the
// bias that is kept apart.
func (r *recurrent) inputs(d int) (x, inside *ir.Value) {
	x = r.cast(r.operands[recurrentX], r.Type(recurrentX), r.t)
	if r.quantized {
		x = r.bytesOf(recurrentW, recurrentWScale, d).product(r.composer, x)
	} else {
		x = r.op("MatMul", nil, x, r.op("Transpose", ir.Attrs{"perm": []int64{1, 0}}, r.of(recurrentW, d, 0)))
	}
	b := r.of(recurrentB, d, 0)
	if b == nil {
		return x, nil
	}
	both := r.split(b, 0, 2)
	if r.biasInside {
		return r.add(x, both[0]), both[1]
	}
	return r.add(x, r.add(both[0], both[1])), nil
}

// first is the state that a direction begins with. One whose batch is not known to be that of X
// takes its shape, so that steps keep the state's; the run checks that it has as many elements.
func (r *recurrent) first(operand, d int) *ir.Value {
	dims := func() []*ir.Value {
		return []*ir.Value{r.dim(r.operands[recurrentX], int64(r.batch)), r.dim(r.operands[recurrentR], int64(r.stateAxis()))}
	}
	v := r.of(operand, d, int64(r.time))
	if v == nil {
		return r.zeros(r.t, dims()...)
	}
	x, _ := r.Shape(recurrentX)
	s, _ := r.Shape(operand) // checkShapes has found both
	if !s[r.batch].Equal(x[r.batch]) {
		v = r.op("Reshape", nil, v, r.join(0, dims()...))
	}
	return v
}

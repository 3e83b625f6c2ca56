package ops

import (
	"math"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
)

// spectralRows make the constants of audio networks; their elements compute in f64.
func spectralRows() []*Row {
	return []*Row{
		windowRow("HannWindow", func(turn te.Expr) te.Expr {
			s := call("sin", mul(turn, num(turn, 0.5)))
			return mul(s, s)
		}),
		windowRow("HammingWindow", func(turn te.Expr) te.Expr {
			return sub(num(turn, 25.0/46), mul(call("cos", turn), num(turn, 21.0/46)))
		}),
		windowRow("BlackmanWindow", func(turn te.Expr) te.Expr {
			second := mul(call("cos", mul(turn, num(turn, 2))), num(turn, 0.08))
			return add(sub(num(turn, 0.42), mul(call("cos", turn), num(turn, 0.5))), second)
		}),
		{
			Name: "MelWeightMatrix", Versions: []int{17}, MinOutputs: 1, MaxOutputs: 1,
			Inputs: []Param{
				structural("num_mel_bins", indexing), structural("dft_length", indexing), {Name: "sample_rate", Types: indexing},
				{Name: "lower_edge_hertz", Types: floats}, {Name: "upper_edge_hertz", Types: floats},
			},
			Attrs: []AttrSpec{intAttr("output_datatype")}, Build: melWeights,
		},
	}
}

// windowRow is a window function of the angle, which makes one turn over the window.
func windowRow(name string, f func(turn te.Expr) te.Expr) *Row {
	return &Row{
		Name: name, Versions: []int{17}, MinOutputs: 1, MaxOutputs: 1,
		Inputs: []Param{structural("size", indexing)},
		Attrs:  []AttrSpec{intAttr("output_datatype"), intAttr("periodic")},
		Build: func(c *Ctx) (*Meaning, error) {
			size, err := c.scalarOperand(0)
			if err != nil {
				return nil, err
			}
			if err := c.require(AtLeast, size, sym.Const(0), "operand 0 (size)"); err != nil {
				return nil, err
			}
			t, err := c.outputType()
			if err != nil {
				return nil, err
			}
			periodic, err := c.flag("periodic", 1)
			if err != nil {
				return nil, err
			}
			period := size
			if !periodic {
				period = sym.Sub(size, sym.Const(1))
			}
			turn := div(mul(te.Float(ir.F64, 2*math.Pi), count(ir.F64, iv(0))), count(ir.F64, period))
			return one(name, axes(ir.Shape{size}), cast(t, f(turn))), nil
		},
	}
}

// outputType reads output_datatype; f32 where absent.
func (c *Ctx) outputType() (ir.DType, error) {
	if !c.Node.Has("output_datatype") {
		return ir.F32, nil
	}
	return c.typeAttr("output_datatype")
}

// melWeights are triangles whose corners are equally far apart on the mel scale.
func melWeights(c *Ctx) (*Meaning, error) {
	bands, err := c.scalarOperand(0)
	if err != nil {
		return nil, err
	}
	length, err := c.scalarOperand(1)
	if err != nil {
		return nil, err
	}
	if err := c.require(AtLeast, bands, sym.Const(0), "operand 0 (num_mel_bins)"); err != nil {
		return nil, err
	}
	if err := c.require(AtLeast, length, sym.Const(0), "operand 1 (dft_length)"); err != nil {
		return nil, err
	}
	t, err := c.outputType()
	if err != nil {
		return nil, err
	}
	scalar := make([]te.Expr, 5)
	for i := 2; i < 5; i++ {
		if scalar[i], err = c.wideScalar(i); err != nil {
			return nil, err
		}
	}
	corners := melCorners(bands, length, scalar[2], scalar[3], scalar[4])
	as := axes(ir.Shape{sym.Add(sym.FloorDiv(length, sym.Const(2), c.Facts), sym.Const(1)), bands})
	corner := func(n int64) te.Expr { return te.FromStage(0, ir.F64, sym.Add(iv(1), sym.Const(n))) }
	low, middle, high, at := corner(0), corner(1), corner(2), count(ir.F64, iv(0))
	zero, unit := num(at, 0), num(at, 1)
	both := func(a, b te.Expr) te.Expr { return te.Fn(ir.Bool, "and", a, b) }
	rise := sel(test("gt", middle, low), div(sub(at, low), sub(middle, low)), unit)
	fall := div(sub(high, at), sub(high, middle))
	e := sel(both(test("ge", at, low), test("le", at, middle)), rise, zero)
	e = sel(both(test("ge", at, middle), test("lt", at, high)), fall, e)
	return stages(corners, &te.Stage{Name: "MelWeightMatrix", Axes: as, Results: []te.Expr{cast(t, e)}}), nil
}

// wideScalar loads the one element of an operand of rank 0 or 1 as f64.
func (c *Ctx) wideScalar(i int) (te.Expr, error) {
	s, err := c.Shape(i)
	if err != nil {
		return nil, err
	}
	if err := c.require(SameDim, product(s...), sym.Const(1), "elements of operand %d, which is a scalar", i); err != nil {
		return nil, err
	}
	return cast(ir.F64, te.Operand(i, c.Type(i), make([]sym.Expr, len(s))...)), nil
}

// melCorners is the stage of the triangles' corners, as numbers of spectrogram bins.
func melCorners(bands, length sym.Expr, rate, lower, upper te.Expr) *te.Stage {
	n := sym.Add(bands, sym.Const(2))
	ln10 := te.Float(ir.F64, math.Ln10)
	mel := func(hertz te.Expr) te.Expr {
		return div(mul(num(hertz, 2595), call("log1p", div(hertz, num(hertz, 700)))), ln10)
	}
	step := div(sub(mel(upper), mel(lower)), count(ir.F64, n))
	at := add(mul(count(ir.F64, iv(0)), step), mel(lower))
	hertz := mul(num(at, 700), call("expm1", mul(div(at, num(at, 2595)), ln10)))
	bin := call("floor", div(mul(count(ir.F64, sym.Add(length, sym.Const(1))), hertz), rate))
	return &te.Stage{Name: "corners", Axes: axes(ir.Shape{n}), Results: []te.Expr{bin}}
}

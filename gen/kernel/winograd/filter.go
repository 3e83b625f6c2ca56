package winograd

// Filter transforms filters of Taps x Taps points to Points x Points.
type Filter struct {
	taps, points int
	g            []float64
	w, half      []float64 // the filter, and a row of what is transformed along one axis
}

// Filter makes a transformer of filters, which serves one after the other.
func (t *Transform) Filter() *Filter {
	f := &Filter{taps: t.Taps, points: t.Points(), w: make([]float64, t.Taps*t.Taps), half: make([]float64, t.Taps)}
	for _, row := range t.G {
		for _, c := range row {
			x, _ := c.Float64()
			f.g = append(f.g, x)
		}
	}
	return f
}

// Apply writes rows of the transform of a filter, from the first up to end, one after the other. Sums are of float64, each operation
// rounded, so that every build host computes the same, whatever rows are asked for.
func (f *Filter) Apply(out, w []float32, first, end int) {
	for i := range f.w {
		f.w[i] = float64(w[i])
	}
	for i := first; i < end; i++ {
		row := out[(i-first)*f.points : (i-first+1)*f.points]
		if f.taps == 3 {
			f.row3(row, (*[3]float64)(f.g[3*i:]))
		} else {
			f.row(row, f.g[i*f.taps:(i+1)*f.taps])
		}
	}
}

// row is the points of one of the first axis.
func (f *Filter) row(row []float32, g []float64) {
	clear(f.half)
	for k, c := range g {
		for j := range f.half {
			f.half[j] += float64(c * f.w[k*f.taps+j])
		}
	}
	for j := range row {
		sum := 0.0
		for k, x := range f.half {
			sum += float64(x * f.g[j*f.taps+k])
		}
		row[j] = float32(sum)
	}
}

// row3 is row of three taps, as networks have them.
func (f *Filter) row3(row []float32, g *[3]float64) {
	w := (*[9]float64)(f.w)
	x, y, z := dot3(g, w[0], w[3], w[6]), dot3(g, w[1], w[4], w[7]), dot3(g, w[2], w[5], w[8])
	for j := range row {
		row[j] = float32(dot3((*[3]float64)(f.g[3*j:]), x, y, z))
	}
}

func dot3(g *[3]float64, x, y, z float64) float64 {
	sum := 0.0 + float64(g[0]*x) // no negative zero
	sum += float64(g[1] * y)
	return sum + float64(g[2]*z)
}

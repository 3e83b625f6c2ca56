package main

import (
	"fmt"
	"html"
	"math"
	"slices"
	"strings"
)

// The plot: both axes logarithmic, so that what is linear is a line of slope 1, as the grey ones
// are.
const (
	width, height = 720.0, 480.0
	left, bottom  = 60.0, 40.0
)

// frame is what the plot shows of the plane, as decimal logarithms.
type frame struct{ x0, x1, y0, y1 float64 }

func (f frame) place(n, seconds float64) (x, y float64) {
	x = left + (math.Log10(n)-f.x0)/(f.x1-f.x0)*(width-left-150)
	y = (height - bottom) * (1 - (math.Log10(seconds)-f.y0)/(f.y1-f.y0))
	return x, y
}

// around returns the frame of whole decades that contains all points.
func around(points []point) frame {
	f := frame{math.Inf(1), math.Inf(-1), math.Inf(1), math.Inf(-1)}
	for _, p := range points {
		x, y := math.Log10(float64(p.n)), math.Log10(max(p.seconds, 1e-3))
		f.x0, f.x1 = min(f.x0, math.Floor(x)), max(f.x1, math.Ceil(x))
		f.y0, f.y1 = min(f.y0, math.Floor(y)), max(f.y1, math.Ceil(y))
	}
	f.x1, f.y1 = max(f.x1, f.x0+1), max(f.y1, f.y0+1)
	return f
}

// page returns a page with the plot of seconds over nodes.
func page(points []point) string {
	var b strings.Builder
	b.WriteString("<!DOCTYPE html>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width\">\n<title>How dnnc's time grows</title>\n<h1>How dnnc's time grows</h1>\n")
	b.WriteString("<p>Seconds of the processor over nodes, both logarithmic; a grey line is linear.</p>\n")
	fmt.Fprintf(&b, "<svg viewBox=\"0 0 %g %g\" style=\"max-width:%gpx;width:100%%\" font-family=\"sans-serif\" font-size=\"11\">\n", width, height, width)
	if len(points) > 0 {
		f := around(points)
		f.axes(&b)
		f.curves(&b, points)
	}
	b.WriteString("</svg>\n")
	return b.String()
}

func (f frame) axes(b *strings.Builder) {
	for x := f.x0; x <= f.x1; x++ {
		px, py := f.place(math.Pow(10, x), math.Pow(10, f.y0))
		fmt.Fprintf(b, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">%g</text>\n", px, py+18, math.Pow(10, x))
	}
	for y := f.y0; y <= f.y1; y++ {
		px, py := f.place(math.Pow(10, f.x0), math.Pow(10, y))
		fmt.Fprintf(b, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"end\">%g s</text>\n", px-6, py+4, math.Pow(10, y))
		top := min(f.x1, f.x0+f.y1-y)
		qx, qy := f.place(math.Pow(10, top), math.Pow(10, y+top-f.x0))
		fmt.Fprintf(b, "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"#ccc\"/>\n", px, py, qx, qy)
	}
}

// curves draws a line for each shape, whose name stands at its end.
func (f frame) curves(b *strings.Builder, points []point) {
	var names []string
	for _, p := range points {
		if !slices.Contains(names, p.shape) {
			names = append(names, p.shape)
		}
	}
	var labels []float64
	for i, name := range names {
		colour := fmt.Sprintf("hsl(%d,70%%,40%%)", i*360/len(names))
		var line []string
		var x, y float64
		for _, p := range points {
			if p.shape == name {
				x, y = f.place(float64(p.n), max(p.seconds, 1e-3))
				line = append(line, fmt.Sprintf("%.1f,%.1f", x, y))
				fmt.Fprintf(b, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3\" fill=\"%s\"><title>%s, %d: %.2f s, %.0f MB</title></circle>\n",
					x, y, colour, html.EscapeString(name), p.n, p.seconds, p.mb)
			}
		}
		at := free(labels, y)
		labels = append(labels, at)
		fmt.Fprintf(b, "<polyline points=\"%s\" fill=\"none\" stroke=\"%s\"/>\n<text x=\"%.1f\" y=\"%.1f\" fill=\"%s\">%s</text>\n",
			strings.Join(line, " "), colour, x+8, at+4, colour, html.EscapeString(name))
	}
}

// free returns the height nearest to y at which a label does not cover another one.
func free(labels []float64, y float64) float64 {
	const line = 12
	for d := 0.0; ; d++ {
		for _, at := range []float64{y - d, y + d} {
			if !slices.ContainsFunc(labels, func(l float64) bool { return math.Abs(l-at) < line }) {
				return at
			}
		}
	}
}

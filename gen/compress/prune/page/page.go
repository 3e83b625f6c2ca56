// Package page prints the result of pruning a network as one HTML file that works offline, with
// patterns as pictures.
package page

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"math"
	"strconv"
	"strings"

	"rules_dnn/gen/compress/prune"
	"rules_dnn/gen/kernel/fkw"
)

//go:embed page.html
var files embed.FS

// picture is a drawn pattern: a square for each tap; kept taps are filled.
type picture struct {
	Width, Height int
	Squares       []square
}

// Taps returns the number of filled squares: "4 of 9".
func (p picture) Taps() string {
	n := 0
	for _, s := range p.Squares {
		if s.Filled {
			n++
		}
	}
	return fmt.Sprintf("%d of %d", n, len(p.Squares))
}

// Text returns the pattern in characters for readers who cannot see it: rows of x for kept taps and
// . for others.
func (p picture) Text() string {
	var b strings.Builder
	for i, s := range p.Squares {
		if i > 0 && s.X == 0 {
			b.WriteByte(' ')
		}
		b.WriteByte(".x"[map[bool]int{true: 1}[s.Filled]])
	}
	return b.String()
}

type square struct {
	X, Y   int
	Filled bool
}

// side is the size of a square with its gap.
const side = 9

// shown is the data of the page.
type shown struct {
	*prune.Report
	Training *Training
	Chosen   *Chosen
}

// HTML prints the page of a report. The training and the chosen kernels may be nil.
func HTML(r *prune.Report, trained *Training, chosen *Chosen) ([]byte, error) {
	all := map[string]int64{} // kept kernels by size: the numbers of different sizes differ widely
	for _, f := range r.Patterns {
		all[f.Kernel] += f.Kernels
	}
	t := template.New("page.html").Funcs(template.FuncMap{
		"picture": draw,
		"points":  func(x float64) string { return fmt.Sprintf("%.2f %%", 100*x) },
		"loss":    func(x float64) string { return fmt.Sprintf("%.4f", x) },
		"percent": func(x float64) string { return fmt.Sprintf("%.1f %%", 100*x) },
		"share":   func(a, b int64) float64 { return float64(a) / float64(max(b, 1)) },
		"times":   times,
		"width":   func(f prune.Frequency) int64 { return 200 * f.Kernels / max(all[f.Kernel], 1) },
		"bar":     func(x float64) int { return int(math.Round(120 * x)) },
		"bytes":   size,
		"shape":   func(d []int64) string { return strings.Trim(strings.ReplaceAll(fmt.Sprint(d), " ", " x "), "[]") },
	})
	t, err := t.ParseFS(files, "page.html")
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	err = t.Execute(&out, shown{r, trained, chosen})
	return out.Bytes(), err
}

// times returns a reduction as a factor.
func times(all, kept int64) string {
	if kept == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1fx", float64(all)/float64(kept))
}

func size(n int64) string {
	switch {
	case n >= 10<<20:
		return fmt.Sprintf("%.1f MB", float64(n)/(1<<20))
	case n >= 10<<10:
		return fmt.Sprintf("%.1f kB", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%d bytes", n)
}

// draw draws a pattern of kernels of a size; slices of dimensions before the last two are side by
// side.
func draw(f prune.Frequency) (picture, error) {
	bits, err := strconv.ParseUint(f.Pattern, 16, 64)
	if err != nil {
		return picture{}, fmt.Errorf("pattern %q: want its taps in hexadecimal", f.Pattern)
	}
	taps, columns, rows := 1, 1, 1
	dims := strings.Split(f.Kernel, "x")
	for i, text := range dims {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > fkw.MaxTaps || taps*n > fkw.MaxTaps {
			return picture{}, fmt.Errorf("kernels of size %q", f.Kernel)
		}
		taps *= n
		switch i {
		case len(dims) - 1:
			columns = n
		case len(dims) - 2:
			rows = n
		}
	}
	panels := taps / (rows * columns)
	p := picture{Width: panels*(columns+1)*side - side, Height: rows * side}
	for t := range taps {
		panel, at := t/(rows*columns), t%(rows*columns)
		p.Squares = append(p.Squares, square{(panel*(columns+1) + at%columns) * side, at / columns * side, bits>>t&1 == 1})
	}
	return p, nil
}

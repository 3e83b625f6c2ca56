package page

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
)

// Training has the parts of the log of `dnntrain admm` that the page shows.
type Training struct {
	Before    Metrics    `json:"before"`
	Projected Metrics    `json:"projected"`
	After     Metrics    `json:"after"`
	Residuals []Residual `json:"residuals"`
	Trained   []Trained  `json:"trained"`
}

// Metrics are the results of a training or of an epoch.
type Metrics struct {
	Epoch    int     `json:"epoch"`
	Loss     float64 `json:"loss"`
	Accuracy float64 `json:"accuracy"`
}

// Residual is the distance of a layer's weights from the constraints in an iteration.
type Residual struct {
	Iteration    int     `json:"iteration"`
	Layer        string  `json:"layer"`
	Rho          float64 `json:"rho"`
	Patterns     float64 `json:"patterns"`
	Connectivity float64 `json:"connectivity"`
}

// Trained has the metrics of a training: an iteration of ADMM, or the final training.
type Trained struct {
	Name   string    `json:"name"`
	Epochs []Metrics `json:"epochs"`
}

// ParseTraining parses a log.
func ParseTraining(text []byte) (*Training, error) {
	t := &Training{}
	if err := json.Unmarshal(text, t); err != nil {
		return nil, fmt.Errorf("the log of training: %w", err)
	}
	for _, r := range t.Residuals {
		if r.Iteration < 1 || r.Iteration > mostPoints || !finite(r.Patterns) || !finite(r.Connectivity) {
			return nil, fmt.Errorf("the log of training: layer %q has iteration %d and residuals %v and %v; want an iteration from 1 to %d and residuals from 0 to 1", r.Layer, r.Iteration, r.Patterns, r.Connectivity, mostPoints)
		}
	}
	points := 0
	for _, x := range t.Trained {
		points += len(x.Epochs)
	}
	if points > mostPoints || len(t.Residuals) > mostPoints {
		return nil, fmt.Errorf("the log of training has %d epochs and %d residuals; at most %d of each are shown", points, len(t.Residuals), mostPoints)
	}
	return t, nil
}

// mostPoints limits the points of a chart.
const mostPoints = 100_000

func finite(x float64) bool { return x >= 0 && x < 1e9 }

// chart is curves in a picture.
type chart struct {
	Width, Height int
	Curves        []curve
	Most          string // the value at the upper edge
	Marks         []mark // below the chart
}

type curve struct {
	Name, Class string
	Points      string // of a polyline
	Last        string
}

type mark struct {
	X    int
	Text string
}

const (
	chartWidth  = 640
	chartHeight = 160
)

// named has the values of a curve by position, from 0 on.
type named struct {
	name, class string
	values      map[int]float64
}

// plot draws curves with n positions.
func plot(n int, curves []named) *chart {
	c := &chart{Width: chartWidth, Height: chartHeight}
	most := 0.0
	for _, k := range curves {
		for _, v := range k.values {
			most = max(most, v)
		}
	}
	if most == 0 {
		most = 1
	}
	c.Most = short(most)
	for _, k := range curves {
		var points []string
		last := ""
		for i := range n {
			v, ok := k.values[i]
			if !ok {
				continue
			}
			points = append(points, fmt.Sprintf("%d,%d", across(i, n), int(math.Round(chartHeight*(1-v/most)))))
			last = short(v)
		}
		c.Curves = append(c.Curves, curve{k.name, k.class, strings.Join(points, " "), last})
	}
	return c
}

// across returns the x coordinate of position i of n.
func across(i, n int) int { return int(math.Round(chartWidth * float64(i) / float64(max(n-1, 1)))) }

func short(x float64) string { return fmt.Sprintf("%.3g", x) }

// ResidualCharts returns charts of the residuals by iteration, with a curve for each layer.
func (t *Training) ResidualCharts() []*chart {
	n := 0
	var layers []string
	for _, r := range t.Residuals {
		n = max(n, r.Iteration)
		if !slices.Contains(layers, r.Layer) {
			layers = append(layers, r.Layer)
		}
	}
	if n == 0 {
		return nil
	}
	sides := [2][]named{}
	for _, layer := range layers {
		patterns, connectivity := named{layer, "patterns", map[int]float64{}}, named{layer, "connectivity", map[int]float64{}}
		for _, r := range t.Residuals {
			if r.Layer == layer {
				patterns.values[r.Iteration-1], connectivity.values[r.Iteration-1] = r.Patterns, r.Connectivity
			}
		}
		sides[0], sides[1] = append(sides[0], patterns), append(sides[1], connectivity)
	}
	out := []*chart{plot(n, sides[0]), plot(n, sides[1])}
	for _, c := range out {
		for i := range n {
			if n <= 12 {
				c.Marks = append(c.Marks, mark{across(i, n), fmt.Sprint(i + 1)})
			}
		}
	}
	return out
}

// LossChart returns a chart of the loss by epoch over all trainings; nil if the log has no epochs.
func (t *Training) LossChart() *chart {
	loss, n := named{"loss", "patterns", map[int]float64{}}, 0
	var marks []mark
	var at []int
	for _, x := range t.Trained {
		at = append(at, n)
		for _, e := range x.Epochs {
			if finite(e.Loss) {
				loss.values[n] = e.Loss
			}
			n++
		}
	}
	if n == 0 {
		return nil
	}
	for i, x := range t.Trained {
		marks = append(marks, mark{across(at[i], n), x.Name})
	}
	c := plot(n, []named{loss})
	c.Marks = marks
	return c
}

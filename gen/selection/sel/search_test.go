package sel

import (
	"cmp"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/fusion/tuning"
	"rules_dnn/gen/kernel/params"
)

// fakeDevice is a machine on which the time of a kernel is a function of its parameters. It measures the candidates of each block.
type fakeDevice struct {
	times tuning.Times
	least map[string]float64 // of a block
}

// takes is least for narrow tiles of four rows, of large tasks: not what estimates say.
func (d *fakeDevice) takes(t *testing.T, text string) float64 {
	if text == "" {
		return 1000
	}
	p, err := params.Parse(text)
	require.NoError(t, err)
	get := func(name string) float64 { n, _ := p.Get(name); return float64(n) }
	us := 50 + 10*math.Abs(get("rows")-4) + 25*math.Abs(get("vectors")-1)
	if p.Algorithm != "contraction" {
		us += 40 + math.Abs(get("tiles")-8)
	}
	return us
}

// measure notes the first kernels of each block.
func (d *fakeDevice) measure(t *testing.T, o Options, most int) *Choice {
	o.Candidate, o.History = 1, d.times
	_, c := run(t, o)
	seen := map[string]bool{}
	for _, k := range c.Kernels {
		if k.Tuning == nil || seen[k.Tuning.Key] || len(k.Tuning.Kernels) < 2 {
			continue
		}
		key := k.Tuning.Key
		seen[key] = true
		for i, name := range k.Tuning.Kernels[:min(most, len(k.Tuning.Kernels))] {
			us := d.takes(t, k.Tuning.Params[i])
			known := false
			for _, x := range d.times[key] {
				known = known || x.Name == name
			}
			require.False(t, known && i > 0, "%s is measured again", name)
			if known {
				continue
			}
			d.times[key] = append(d.times[key], tuning.Kernel{Name: name, Micros: us, Rounds: 1, Params: k.Tuning.Params[i]})
			if least, ok := d.least[key]; !ok || us < least {
				d.least[key] = us
			}
		}
	}
	return c
}

func newFake() *fakeDevice { return &fakeDevice{times: tuning.Times{}, least: map[string]float64{}} }

// TestSearch: a few generations of seven kernels each find ones that take half as long as the best of what is proposed without a search; twice the
// same; and a compilation by the record has them.
func TestSearch(t *testing.T) {
	tune := func() (*fakeDevice, map[string]float64) {
		d := newFake()
		d.measure(t, tuned, 8)
		first := map[string]float64{}
		for key, us := range d.least {
			first[key] = us
		}
		for range 4 {
			d.measure(t, tuned, 8)
		}
		return d, first
	}
	d, first := tune()
	again, _ := tune()
	assert.Equal(t, d.times, again.times)
	require.NotEmpty(t, d.times)
	for key, us := range d.least {
		assert.LessOrEqual(t, us, 0.6*first[key], key)
		assert.LessOrEqual(t, len(d.times[key]), 8+4*7)
		t.Logf("%s: %g us, then %g us, of %d", key, first[key], us, len(d.times[key]))
	}
	o := tuned
	for _, ks := range d.times {
		slices.SortFunc(ks, func(a, b tuning.Kernel) int { return cmp.Compare(a.Micros, b.Micros) })
	}
	o.Times = d.times
	_, c := run(t, o)
	assert.Empty(t, c.Stale)
	for _, k := range c.Kernels {
		if k.Tuning != nil && len(d.times[k.Tuning.Key]) > 0 {
			assert.InDelta(t, d.least[k.Tuning.Key], k.Tuning.Micros, 0.03*k.Tuning.Micros, k.Name)
		}
	}
}

package plots

import (
	"math"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/plot"
)

// Scale is how an axis is divided.
type Scale int

// The scales of an axis.
const (
	AutoScale   Scale = iota // logarithmic if the largest x is at least 16 times the smallest, else linear
	LinearScale              // even steps
	LogScale                 // even doublings or decades
)

// Scales names the scales of an axis.
func Scales() []string { return []string{"auto", "linear", "log"} }

// extent collects the range of the numbers an axis must show.
type extent struct{ lo, hi float64 }

// newExtent returns the extent of nothing.
func newExtent() extent { return extent{math.Inf(1), math.Inf(-1)} }

// add widens the extent to hold the values.
func (e *extent) add(vs ...float64) {
	for _, v := range vs {
		e.lo, e.hi = math.Min(e.lo, v), math.Max(e.hi, v)
	}
}

// empty reports whether nothing was added.
func (e extent) empty() bool { return e.lo > e.hi }

// pad returns the extent widened by fractions of its length; one of no length by half its
// value, so that a single point lies in the middle.
func (e extent) pad(below, above float64) extent {
	d := e.hi - e.lo
	if d <= 1e-12*math.Max(math.Abs(e.lo), math.Abs(e.hi)) {
		d = math.Max(math.Abs(e.hi), 1)
		below, above = 0.5, 0.5
	}
	return extent{e.lo - below*d, e.hi + above*d}
}

// padLog is pad on a logarithmic axis.
func (e extent) padLog(below, above float64) extent {
	p := extent{math.Log(e.lo), math.Log(e.hi)}
	d := p.hi - p.lo
	if d < 1e-9 {
		d, below, above = math.Ln2, 1, 1
	}
	return extent{math.Exp(p.lo - below*d), math.Exp(p.hi + above*d)}
}

// set gives an axis its range, scale and ticks.
func (e extent) set(a *plot.Axis, scale plot.Normalizer, ticks plot.Ticker) {
	a.Min, a.Max, a.Scale, a.Tick.Marker = e.lo, e.hi, scale, ticks
}

// setX sets up a horizontal axis of counts and reports whether it is logarithmic.
func setX(p *plot.Plot, e extent, scale Scale) (log bool) {
	log = scale == LogScale || scale == AutoScale && e.lo > 0 && e.hi/e.lo >= 16
	if log {
		e.padLog(0.05, 0.05).set(&p.X, plot.LogScale{}, powerTicks{})
		return true
	}
	x := e.pad(0.05, 0.05)
	if e.lo <= e.hi/4 { // from zero, where ideal scaling starts
		x = extent{math.Min(0, e.lo), e.hi}.pad(0, 0.05)
	}
	x.set(&p.X, plot.LinearScale{}, linearTicks{want: 10, whole: true})
	return false
}

// setY sets up a vertical axis. A linear one starts at zero if the data come near, to
// compare lengths by eye. Rows of failed points get room below the data.
func setY(p *plot.Plot, e extent, log bool, rows int) {
	below := 0.06 + 0.07*float64(rows)
	if log {
		e.padLog(below, 0.1).set(&p.Y, plot.LogScale{}, decadeTicks{})
		return
	}
	y := e.pad(below, 0.1)
	if e.lo >= 0 && e.lo < 0.5*e.hi || e.lo >= 0 && y.lo < 0 {
		y.lo = 0
	}
	y.set(&p.Y, plot.LinearScale{}, linearTicks{want: 6})
}

// linearTicks divides an axis at about want multiples of 1, 2, 2.5 or 5 times a power of
// ten; at whole numbers only where the axis counts things.
type linearTicks struct {
	want  int
	whole bool
}

func (t linearTicks) Ticks(lo, hi float64) []plot.Tick {
	step := roundStep((hi-lo)/float64(t.want), t.whole)
	var at []float64
	// Multiples of the step, unlike sums of it, keep round numbers exact.
	for k := math.Ceil(lo/step - 1e-9); k*step <= hi*(1+1e-12)+1e-9*step && len(at) < 100; k++ {
		at = append(at, k*step)
	}
	return labelled(at, step)
}

// roundStep returns the smallest round number that is at least d.
func roundStep(d float64, whole bool) float64 {
	if !(d > 0) || whole && d <= 1 {
		return 1
	}
	unit := math.Pow(10, math.Floor(math.Log10(d)))
	for _, f := range []float64{1, 2, 2.5, 5} {
		if whole && f*unit != math.Trunc(f*unit) {
			continue
		}
		if f*unit >= d*(1-1e-9) {
			return f * unit
		}
	}
	return 10 * unit
}

// powerTicks marks 1, 2, 4, 8, … on an axis scaled by log2.
type powerTicks struct{}

func (powerTicks) Ticks(lo, hi float64) []plot.Tick {
	first := math.Ceil(math.Log2(lo) - 1e-9)
	last := math.Floor(math.Log2(hi) + 1e-9)
	every := math.Max(1, math.Ceil((last-first+1)/12))
	var at []float64
	for e := first; e <= last; e += every {
		at = append(at, math.Pow(2, e))
	}
	return labelled(at, 0)
}

// decadeTicks marks 1, 2, 5, 10, …; over more than 3.5 decades only powers of ten.
type decadeTicks struct{}

func (decadeTicks) Ticks(lo, hi float64) []plot.Tick {
	if !(lo > 0) || math.IsInf(hi, 1) {
		return nil // not a logarithmic axis
	}
	mantissas := []float64{1, 2, 5}
	switch span := math.Log10(hi / lo); {
	case span > 3.5:
		mantissas = mantissas[:1]
	case span < 0.5: // less than three of 1, 2, 5 would fit: divide evenly
		return linearTicks{want: 5}.Ticks(lo, hi)
	}
	every := max(1, int(math.Ceil(math.Log10(hi/lo)/9)))
	var at []float64
	for e := int(math.Floor(math.Log10(lo))); e <= int(math.Ceil(math.Log10(hi))); e++ {
		if e%every != 0 {
			continue
		}
		for _, m := range mantissas {
			if v := m * math.Pow10(e); v >= lo*(1-1e-9) && v <= hi*(1+1e-9) {
				at = append(at, v)
			}
		}
	}
	return labelled(at, 0)
}

// labelled turns values into ticks, with the decimals that the step needs, or its own if 0.
func labelled(at []float64, step float64) []plot.Tick {
	ticks := make([]plot.Tick, len(at))
	unit, suffix := prefix(floats.Norm(at, math.Inf(1)))
	for i, v := range at {
		label := Number(v)
		if step > 0 {
			label = strconv.FormatFloat(v/unit, 'f', decimals(step/unit), 64)
			if v != 0 {
				label += suffix
			}
		}
		if v == 0 {
			label = "0"
		}
		ticks[i] = plot.Tick{Value: v, Label: strings.Replace(label, "-", "−", 1)}
	}
	return ticks
}

// prefix returns the unit that keeps numbers up to top short, with its sign.
func prefix(top float64) (unit float64, suffix string) {
	switch {
	case top >= 1e15 || top > 0 && top < 1e-4:
		e := math.Floor(math.Log10(top))
		return math.Pow(10, e), "e" + strconv.Itoa(int(e))
	case top >= 1e12:
		return 1e12, "T"
	case top >= 1e9:
		return 1e9, "G"
	case top >= 1e6:
		return 1e6, "M"
	case top >= 1e4:
		return 1e3, "k"
	}
	return 1, ""
}

// decimals returns how many decimals it takes to write a round step.
func decimals(step float64) int {
	for d := range 8 {
		s := step * math.Pow10(d)
		if math.Abs(s-math.Round(s)) < 1e-6*s {
			return d
		}
	}
	return 8
}

package plots

import (
	"math"

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

// pad returns the extent widened by the fraction of its length on both
// sides; one of no length by half its value, so that a single point lies in
// the middle of its axis.
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

// setX sets up a horizontal axis of counts (workers, ps) and reports whether
// it is logarithmic.
func setX(p *plot.Plot, e extent, scale Scale) (log bool) {
	log = scale == LogScale || scale == AutoScale && e.lo > 0 && e.hi/e.lo >= 16
	if log {
		e.padLog(0.05, 0.05).set(&p.X, plot.LogScale{}, powerTicks{})
		return true
	}
	// From zero, where ideal scaling starts.
	x := extent{math.Min(0, e.lo), e.hi}.pad(0, 0.05)
	x.set(&p.X, plot.LinearScale{}, linearTicks{want: 10, whole: true})
	return false
}

// setY sets up a vertical axis. A linear one starts at zero if the data come
// near it, since lengths above zero can then be compared by eye. Rows of
// failed points along the bottom get room below the data.
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

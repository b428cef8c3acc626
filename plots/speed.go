package plots

import (
	"fmt"

	"knee/data"
)

// SpeedCurve is the speed of a job along one axis while the other is fixed:
// one line of the figures of [NewSpeedByWorkers] and [NewSpeedByPS].
type SpeedCurve struct {
	Fixed  int     // the number of ps, or of workers, that stays the same
	Points []Point // measurements, in any order
	Curve  []Band  // prediction, X ascending; nil for none
}

// SpeedFigure describes a figure of speed under parameter servers.
type SpeedFigure struct {
	Title, Subtitle string
	Curves          []SpeedCurve // drawn and listed in order
	X               Scale
}

// GroupByPS turns the measurements of one job in a parameter-server mode
// into one SpeedCurve without prediction for each number of ps, in order of
// appearance.
func GroupByPS(ms []data.Measurement) ([]SpeedCurve, error) {
	return group(ms, func(m data.Measurement) int { return m.PS }, MeasuredPoints)
}

// GroupByWorkers is [GroupByPS] with the roles of workers and ps exchanged.
func GroupByWorkers(ms []data.Measurement) ([]SpeedCurve, error) {
	return group(ms, func(m data.Measurement) int { return m.Workers }, MeasuredOverPS)
}

func group(ms []data.Measurement, key func(data.Measurement) int,
	points func([]data.Measurement, Quantity) ([]Point, error)) ([]SpeedCurve, error) {
	var curves []SpeedCurve
	index := map[int]int{}
	for _, m := range ms {
		p, err := points([]data.Measurement{m}, Speed)
		if err != nil {
			return nil, err
		}
		k := key(m)
		i, seen := index[k]
		if !seen {
			i = len(curves)
			index[k] = i
			curves = append(curves, SpeedCurve{Fixed: k})
		}
		curves[i].Points = append(curves[i].Points, p...)
	}
	return curves, nil
}

// newSpeed draws speed against xLabel at fixed numbers of what unit names.
func newSpeed(s SpeedFigure, xLabel, unit, units string) (*Chart, error) {
	all := make([]Series, len(s.Curves))
	for i, sc := range s.Curves {
		if sc.Fixed < 1 {
			return nil, bad(fmt.Sprintf("curves[%d].fixed", i), fmt.Sprint(sc.Fixed), "at least 1 "+unit)
		}
		name := fmt.Sprintf("%d %s", sc.Fixed, units)
		if sc.Fixed == 1 {
			name = "1 " + unit
		}
		all[i] = Series{Name: name, Points: sc.Points, Curve: sc.Curve}
	}
	if err := checkSeries(all, positive); err != nil {
		return nil, err
	}
	c := newChart(s.Title, s.Subtitle, xLabel, Speed.label())
	x, y := extents(all)
	setX(c.Plot, x, s.X)
	// Linear in any case: the fall after the peak is what these figures are
	// drawn for, and a logarithm flattens it.
	setY(c.Plot, y, false, failingSeries(all))
	extrapolated := c.addExtrapolated(all)
	for i := range all {
		c.addSeries(all, i)
	}
	c.addCommonEntries(all, extrapolated)
	return c, nil
}

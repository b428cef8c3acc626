package predict

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/stat"

	"knee/data"
	"knee/fit"

	"github.com/dustin/go-humanize/english"
)

// Gain is the expected effect of one more measurement of a GPU type and mode.
type Gain struct {
	Config data.Config `json:"config"` // what to measure
	// Narrowing is the relative decrease of the sum of the widths of the
	// targets' 90 % intervals of ln step time; 0.2 means a fifth narrower.
	Narrowing float64     `json:"narrowing"`
	Target    data.Config `json:"target"`            // whose interval loses most width
	Before    float64     `json:"half_width_before"` // of its interval, relative to the prediction
	After     float64     `json:"half_width_after"`  // the same, expected with the measurement
}

// String formats the gain, such as "2 nodes × 1 a100, batch 64: would narrow
// the prediction for 16 workers from ±45 % to about ±20 %".
func (g Gain) String() string {
	return fmt.Sprintf("%s: would narrow the prediction for %s from %s to about %s",
		inNodes(g.Config), g.target(), within(g.Before), within(g.After))
}

// within formats a relative half-width: as a factor above 1, else in percent.
func within(half float64) string {
	switch {
	case half > 9:
		return fmt.Sprintf("a factor of %.0f", 1+half)
	case half > 1:
		return fmt.Sprintf("a factor of %.2g", 1+half)
	}
	return fmt.Sprintf("±%.0f %%", max(100*half, 1))
}

// target names how the target differs from the measurement.
func (g Gain) target() string {
	s := english.Plural(g.Target.Workers, "worker", "")
	if g.Target.PS > 0 {
		s += fmt.Sprintf(" with %d ps", g.Target.PS)
	}
	sameGlobal := math.Abs(g.Target.GlobalBatch()-g.Config.GlobalBatch()) < 1e-6
	if b := g.Target.LocalBatch; b > 0 && b != g.Config.LocalBatch && !sameGlobal {
		s += fmt.Sprintf(" at batch %.6g", b)
	}
	return s
}

// inNodes formats a configuration with its workers per node: "2 nodes × 1 a100, batch 64",
// and a local batch that is not whole as the global batch, which a user sets.
func inNodes(c data.Config) string {
	global := ""
	if c.LocalBatch != math.Trunc(c.LocalBatch) {
		global = fmt.Sprintf(", global batch %.6g", c.GlobalBatch())
		c.LocalBatch = 0
	}
	n := c.NodeCount()
	if n < 2 || c.Workers%n != 0 {
		return c.String() + global
	}
	per := c
	per.Workers, per.Nodes, per.Placement = c.Workers/n, 0, nil
	return fmt.Sprintf("%d nodes × %s%s", n, strings.Replace(per.String(), " × ", " ", 1), global)
}

// leastNarrowing is the least narrowing worth reporting: ±20 % becomes ±19.6 %.
const leastNarrowing = .02

// Gains returns, for every GPU type and mode of the model, the measurement that narrows
// predictions most per worker, and that which does most in total, by narrowing per worker.
// Narrowings below a fiftieth are left out.
//
// Considered are the likely next ones of a user: twice the workers, a second node, a single
// worker, the counts between, half and twice the batch, more and fewer ps. The targets are
// worker counts from 1 to twice the most measured, in doublings, at the batch measured
// most. A measurement of y leaves var t − cov(t, y)²/var y of the variance of a target t,
// both ln step times, normal in the posterior (Chaloner and Verdinelli, "Bayesian
// Experimental Design: A Review", 1995, section 2.2).
func Gains(m *fit.Model) ([]Gain, error) {
	var gains []Gain
	for _, gpu := range m.GPUTypes() {
		for _, mode := range m.Modes(gpu) {
			around, next := nextOf(m, gpu, mode)
			g, err := gainsFrom(m, next, around.targets())
			if err != nil {
				return nil, fmt.Errorf("gain of one more measurement of %s: %w", data.Config{GPUType: gpu, Mode: mode}.Kind(), err)
			}
			gains = append(gains, g...)
		}
	}
	slices.SortStableFunc(gains, func(a, b Gain) int {
		return -cmp.Compare(a.perWorker(), b.perWorker())
	})
	return gains, nil
}

// GainFor returns what to measure to know the speed of one configuration: that itself, or
// what [Gains] considers, whichever narrows its prediction most per worker; nil if none by
// a fiftieth, or so that the interval reads the same. It fails for one it cannot predict.
func GainFor(m *fit.Model, c data.Config) (*Gain, error) {
	c, err := m.Resolve(c)
	if err != nil {
		return nil, err
	}
	_, next := nextOf(m, c.GPUType, c.Mode)
	gains, err := gainsFrom(m, append(next, c), []data.Config{c})
	if len(gains) == 0 || within(gains[0].Before) == within(gains[0].After) {
		return nil, err
	}
	return &gains[0], nil
}

// nextOf returns what was measured of a GPU type and mode, and the next measurements.
func nextOf(m *fit.Model, gpu string, mode data.Mode) (surroundings, []data.Config) {
	own := m.Measurements(gpu, mode)
	around := surroundingsOf(own)
	around.base.Extra = usualKnobs(m, own[0].Config)
	return around, around.next(own)
}

// usualKnobs are the knobs that were varied with a configuration's GPU type and mode, at
// the values a prediction takes unless told.
func usualKnobs(m *fit.Model, c data.Config) map[string]string {
	c.Extra, c.Architecture = nil, data.Architecture{}
	full, err := m.Resolve(c)
	if err != nil {
		return nil
	}
	varied := map[string]string{}
	for _, k := range m.Knobs(c.GPUType, c.ModeOrDefault()) {
		if len(k.Values) > 1 {
			varied[k.Name] = full.Extra[k.Name]
		}
	}
	return varied
}

// gainsFrom returns the one or two candidates worth measuring, if any.
func gainsFrom(m *fit.Model, candidates, targets []data.Config) ([]Gain, error) {
	predicted, err := m.PredictAll(targets)
	if err != nil {
		return nil, err
	}
	ln, process, run, err := m.Draws(slices.Concat(targets, candidates))
	if err != nil {
		return nil, err
	}
	variance := func(i int) float64 { return stat.Variance(ln[i], nil) + process[i] + run[i] }
	var gains []Gain
	for c := range candidates {
		y := len(targets) + c
		g := Gain{Config: candidates[c]}
		total, most := 0., math.Inf(-1)
		for t, p := range predicted {
			cov := stat.Covariance(ln[t], ln[y], nil)
			if targets[t].Key() == candidates[c].Key() {
				cov += process[t]
			}
			keeps := math.Sqrt(max(1-cov*cov/variance(y)/variance(t), 0))
			width := math.Log(p.StepTime.Hi / p.StepTime.Lo)
			g.Narrowing += width * (1 - keeps)
			total += width
			// The target named loses the most width, not the largest share.
			if d := width * (1 - keeps); d > most {
				most = d
				g.Target, g.Before, g.After = targets[t], halfWidth(p.StepTime), halfWidth(narrowed(p.StepTime, keeps))
			}
		}
		g.Narrowing /= total
		gains = append(gains, g)
	}
	return worthNaming(gains), nil
}

// narrowed multiplies the width of an interval of ln step time by keeps.
func narrowed(e data.Estimate, keeps float64) data.Estimate {
	return data.Estimate{Mean: e.Mean, Lo: e.Mean * math.Pow(e.Lo/e.Mean, keeps), Hi: e.Mean * math.Pow(e.Hi/e.Mean, keeps)}
}

// worthNaming returns the largest gain per worker and the largest gain, if they
// are at least leastNarrowing and differ. Of equals the first counts.
func worthNaming(gains []Gain) []Gain {
	gains = slices.DeleteFunc(slices.Clone(gains), func(g Gain) bool { return !(g.Narrowing >= leastNarrowing) })
	if len(gains) == 0 {
		return nil
	}
	cheap := slices.MaxFunc(gains, func(a, b Gain) int { return cmp.Compare(a.perWorker(), b.perWorker()) })
	large := slices.MaxFunc(gains, func(a, b Gain) int { return cmp.Compare(a.Narrowing, b.Narrowing) })
	if large.Narrowing == cheap.Narrowing {
		return []Gain{cheap}
	}
	return []Gain{cheap, large}
}

func (g Gain) perWorker() float64 { return g.Narrowing / float64(g.Config.Workers) }

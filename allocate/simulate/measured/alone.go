package measured

import (
	"fmt"
	"math"

	"knee/allocate/simulate/agent"
	"knee/data"
)

// Limits are what a job of the application may train with on the table.
func (a *App) Limits(t *Table) agent.Limits {
	return agent.Limits{Initial: a.Initial, Max: a.Max, LocalMin: t.LocalMin, LocalMax: t.LocalMax}
}

// Goodput is the true goodput of a batch on a placement in an epoch, in
// samples/s at initial-batch worth.
func (a *App) Goodput(t *Table, p data.Placement, c agent.Choice, epoch int) (float64, error) {
	step, sync, err := t.Times(p, c.Local)
	if err != nil {
		return 0, err
	}
	batch := c.Batch(p.Workers())
	sqr, vr := a.Gradient(batch, epoch)
	return a.Initial * Gain(sqr, vr, batch/a.Initial) / (step + float64(c.Accum)*(step-sync)), nil
}

// Alone is the seconds that a whole training takes alone on a placement, at the best
// batch in every epoch.
func (a *App) Alone(t *Table, p data.Placement) (float64, error) {
	choices := a.Limits(t).Choices(p.Workers())
	var total float64
	for e := range a.Epochs {
		best := 0.0
		for _, c := range choices {
			if c.Local < t.LocalMin || c.Local > t.LocalMax || c.Batch(p.Workers()) > a.Max {
				continue
			}
			g, err := a.Goodput(t, p, c, e)
			if err != nil {
				return 0, err
			}
			best = math.Max(best, g)
		}
		if best == 0 {
			return 0, fmt.Errorf("no batch of %s may be trained with on %s as %s", a.Name, t.gpuType, p)
		}
		total += (a.target[e+1] - a.target[e]) * a.Initial / best
	}
	return total, nil
}

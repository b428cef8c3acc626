package measured

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"knee/allocate/simulate/agent"
	"knee/data"
)

// App is one application.
type App struct {
	Name    string
	Initial float64           // smallest recorded total batch, samples
	Max     float64           // largest recorded total batch, samples
	Epochs  int               // of every recorded run
	Tables  map[string]*Table // step times by GPU type

	runs   []run     // by rising batch
	target []float64 // progress at the start of every epoch, and at the end
}

// run is one recorded training run.
type run struct {
	batch  float64
	epochs []data.CurvePoint
}

func (a *App) table(gpuType string) *Table {
	t, ok := a.Tables[gpuType]
	if !ok {
		t = &Table{app: a.Name, gpuType: gpuType, rows: map[shape][]point{}, exact: map[[3]float64]row{}}
		a.Tables[gpuType] = t
	}
	return t
}

func (a *App) addRun(batch float64, points []data.CurvePoint, file string) error {
	for i, p := range points {
		if !(min(p.Progress, p.Step, p.GradSqr, p.GradVar) >= 0) { // NaN: missing
			return &data.InputError{Source: data.Source{File: file, Line: i + 2}, Found: "a missing or negative value",
				Want: "progress, iteration, grad_sqr and grad_var in every row"}
		}
	}
	a.runs = append(a.runs, run{batch, points})
	return nil
}

// complete derives the limits and the progress that ends each epoch: the least that any
// recorded run had made by then.
func (a *App) complete() error {
	slices.SortFunc(a.runs, func(x, y run) int { return cmp.Compare(x.batch, y.batch) })
	a.Initial, a.Max = a.runs[0].batch, a.runs[len(a.runs)-1].batch
	a.Epochs = len(a.runs[0].epochs)
	for _, r := range a.runs {
		if len(r.epochs) != a.Epochs || a.Epochs == 0 {
			return &data.InputError{Source: data.Source{File: fmt.Sprintf("%s-batch%g.csv", a.Name, r.batch)},
				Found: fmt.Sprintf("%d epochs", len(r.epochs)), Want: fmt.Sprintf("%d, as at batch %g, at least one", a.Epochs, a.Initial)}
		}
	}
	a.target = make([]float64, a.Epochs+1)
	for e := 1; e <= a.Epochs; e++ {
		a.target[e] = math.Inf(1)
		for _, r := range a.runs {
			a.target[e] = math.Min(a.target[e], r.epochs[e-1].Progress)
		}
		if a.target[e] <= a.target[e-1] {
			return &data.InputError{Source: data.Source{File: a.Name, Column: "progress"}, Found: fmt.Sprintf("no progress in epoch %d", e-1), Want: "progress that rises from epoch to epoch"}
		}
	}
	for _, t := range a.Tables {
		t.complete()
	}
	return nil
}

// Progress is that at the start of epoch e, 0 to Epochs, in steps of the initial batch.
func (a *App) Progress(e int) float64 { return a.target[e] }

// epochAt is the epoch in which a progress lies, at most Epochs − 1.
func (a *App) epochAt(progress float64) int {
	e := 0
	for e < a.Epochs-1 && progress >= a.target[e+1] {
		e++
	}
	return e
}

// Gradient returns the squared norm and the variance of the gradient at a total batch in
// an epoch, linear between the recorded batches.
func (a *App) Gradient(batch float64, epoch int) (sqr, variance float64) {
	lo, hi, w := a.between(batch)
	x, y := &a.runs[lo].epochs[epoch], &a.runs[hi].epochs[epoch]
	return mix(x.GradSqr, y.GradSqr, w), mix(x.GradVar, y.GradVar, w)
}

// Iterations returns the steps at a total batch until the end of an epoch.
func (a *App) Iterations(batch float64, epoch int) float64 {
	lo, hi, w := a.between(batch)
	return mix(a.runs[lo].epochs[epoch].Step, a.runs[hi].epochs[epoch].Step, w)
}

// weights of an interpolation. The published program divides last, which its figures need
// to the last digit.
type weights struct{ lo, hi, span float64 }

func (a *App) between(batch float64) (lo, hi int, w weights) {
	for i, r := range a.runs {
		if r.batch <= batch {
			lo = i
		}
	}
	hi = lo
	if a.runs[lo].batch < batch && lo+1 < len(a.runs) {
		hi = lo + 1
	}
	x, y := a.runs[lo].batch, a.runs[hi].batch
	return lo, hi, weights{lo: batch - x, hi: y - batch, span: y - x}
}

func mix(lo, hi float64, w weights) float64 {
	if w.span == 0 {
		return lo
	}
	return (float64(w.lo*hi) + float64(w.hi*lo)) / w.span
}

// Gain is the progress of one step at a total batch, in steps of the initial
// batch: (variance + sqr) / (variance / scale + sqr), scale = batch / initial.
func Gain(sqr, variance, scale float64) float64 {
	return (variance + sqr) / (variance/scale + sqr)
}

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

// Alone is the seconds that a whole training takes alone on a placement, at the best batch.
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

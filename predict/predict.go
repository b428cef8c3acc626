package predict

import (
	"cmp"
	"errors"
	"math"

	"knee/data"
	"knee/fit"
	"knee/fit/memory"
)

// Answer is the prediction for one configuration.
type Answer struct {
	Config       data.Config        `json:"config"`
	StepTime     data.Estimate      `json:"step_time_s,omitzero"`        // s
	Expected     float64            `json:"-"`                           // s, posterior mean of the step time, which exceeds the median where uncertain
	Throughput   data.Estimate      `json:"throughput,omitzero"`         // samples/s; zero if the batch is not known
	Efficiency   data.Estimate      `json:"efficiency,omitzero"`         // 0..1
	Goodput      data.Estimate      `json:"goodput,omitzero"`            // samples/s, each worth one at the initial batch; zero if no batch is known
	TimeToTarget data.Estimate      `json:"time_to_target_s,omitzero"`   // s; zero if no goal was given
	CostToTarget data.Estimate      `json:"cost_to_target_usd,omitzero"` // US$; zero if no goal or price was given
	Chance       float64            `json:"p_reach,omitempty"`           // probability that a target loss is reached, which the two suppose; zero for other goals
	PricePerHour float64            `json:"price_per_hour,omitempty"`    // US$ for all workers; zero if no price was given
	Extrapolated bool               `json:"extrapolated"`                // outside the measured range, as Why explains
	Support      int                `json:"support"`                     // measurements of the same GPU type and mode
	Why          string             `json:"why,omitempty"`
	Memory       *memory.Prediction `json:"-"` // nil without a memory model
}

// Goal is the remaining work; zero means none. Samples precede Steps, and those TargetLoss.
type Goal struct {
	Steps      float64 // optimizer steps at the initial batch
	Samples    float64 // samples, each worth one at the initial batch
	TargetLoss float64 // if HasTarget; counted from step 0 of the training
	HasTarget  bool
}

// Predictor answers questions about one job; safe for concurrent use while unchanged.
type Predictor struct {
	Model *fit.Model
	Goal  Goal
	Batch data.Batch         // initial and largest global batch, samples; zero: those of the measurements
	Price map[string]float64 // US$ per worker-hour by GPU type
	// GlobalBatch is what [Predictor.BestBatch] divides, samples; 0: of the highest goodput.
	GlobalBatch float64
	// Accumulate allows [Predictor.BestBatch] to accumulate gradients.
	Accumulate bool
	// PerNode is the workers of a node, if nodes are not given; 0: the most measured.
	PerNode int
}

// At predicts one configuration, with unset fields as in [fit.Model.Predict]. It fails as
// that does, with a *[convergence.NeverReachedError] if the goal is a loss never reached,
// and with a *data.InputError if the goal is in steps and no initial batch is known.
func (p *Predictor) At(c data.Config) (Answer, error) {
	c, err := p.resolve(c)
	if err != nil {
		return Answer{}, err
	}
	pred, err := p.Model.Predict(c)
	if err != nil {
		return Answer{}, err
	}
	finish, err := p.Finisher()
	if err != nil {
		return Answer{}, err
	}
	a := p.answer(c, pred)
	return a, finish(&a)
}

func (p *Predictor) resolve(c data.Config) (data.Config, error) {
	if p.Model == nil {
		return c, errors.New("predict: no model")
	}
	if p.PerNode > 0 && c.Nodes == 0 && len(c.Placement) == 0 && c.Workers > 0 {
		c.Nodes = (c.Workers + p.PerNode - 1) / p.PerNode
		c.Placement = data.EvenPlacement(c.Workers, c.Nodes)
	}
	return p.Model.Resolve(c)
}

// RowError is the error of one of many configurations.
type RowError struct {
	Row int // counted from 0
	Err error
}

// Error returns the text of Err alone.
func (e *RowError) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *RowError) Unwrap() error { return e.Err }

// AtAll predicts many configurations in their order, as [Predictor.At] does, in parallel
// and with shared terms once. It fails with a *RowError for one that At refuses, and for a
// goal never reached.
func (p *Predictor) AtAll(cs []data.Config) ([]Answer, error) {
	if len(cs) == 0 {
		return nil, nil
	}
	resolved := make([]data.Config, len(cs))
	for i, c := range cs {
		var err error
		if resolved[i], err = p.resolve(c); err != nil {
			return nil, &RowError{i, err}
		}
	}
	preds, err := p.Model.PredictAll(resolved)
	if err != nil {
		return nil, err
	}
	finish, err := p.Finisher()
	if err != nil {
		return nil, err
	}
	answers := make([]Answer, len(cs))
	for i, c := range resolved {
		answers[i] = p.answer(c, preds[i])
		if err := finish(&answers[i]); err != nil {
			return nil, &RowError{i, err}
		}
	}
	return answers, nil
}

// answer completes the prediction of c, but for what Finisher sets.
func (p *Predictor) answer(c data.Config, pred fit.Prediction) Answer {
	a := Answer{
		Config: c, StepTime: pred.StepTime, Expected: pred.Expected, Efficiency: p.efficiency(c),
		Extrapolated: pred.Extrapolated, Support: pred.Support, Why: pred.Why, Memory: p.memoryOf(c),
	}
	if samples := c.SamplesPerStep(); samples > 0 {
		a.Throughput = a.StepTime.Per(samples)
		a.Goodput = product(a.Throughput, a.Efficiency)
	}
	return a
}

// Finisher returns a function that sets price, time and cost of an answer to those of this
// predictor. It fails if the goal is a loss that is never reached.
func (p *Predictor) Finisher() (finish func(*Answer) error, err error) {
	var steps data.Estimate // to the goal, at the initial batch; zero without one or with one in samples
	var chance float64
	switch {
	case p.Goal.Samples > 0:
	case p.Goal.Steps > 0:
		steps = exactly(p.Goal.Steps)
	case p.Goal.HasTarget:
		to, err := p.Model.ToLoss(p.Goal.TargetLoss)
		if err != nil {
			return nil, err
		}
		steps, chance = to.Steps, to.Chance
	}
	return func(a *Answer) error {
		samples, err := p.work(a.Config, steps)
		if err != nil {
			return err
		}
		a.TimeToTarget, a.Chance = data.Estimate{}, chance
		switch {
		case samples.Mean > 0 && a.Goodput.Mean > 0:
			a.TimeToTarget = product(samples, a.Goodput.Per(1))
		case steps.Mean > 0: // no batch is known: all steps count alike
			a.TimeToTarget = product(steps, a.StepTime)
		}
		a.PricePerHour = p.Price[a.Config.GPUType] * float64(a.Config.Workers)
		a.CostToTarget = a.TimeToTarget.Scale(a.PricePerHour / 3600)
		return nil
	}, nil
}

// work returns the goal in samples at initial-batch worth; zero without a batch or goal.
func (p *Predictor) work(c data.Config, steps data.Estimate) (data.Estimate, error) {
	if p.Goal.Samples > 0 {
		return exactly(p.Goal.Samples), nil
	}
	if p.Goal.Steps <= 0 && !p.Goal.HasTarget {
		return data.Estimate{}, nil
	}
	initial := p.initialBatch(c)
	if initial == 0 && c.SamplesPerStep() > 0 {
		return data.Estimate{}, data.Invalid("batch.initial", "nothing", "the initial global batch in samples (--initial-batch, or batch of a job), which the steps of the goal are counted in")
	}
	if curve := p.Model.Batch().Initial; p.Goal.HasTarget && p.Goal.Steps <= 0 && curve > 0 {
		// At a larger batch than the curve's the same progress takes more samples.
		worth := 1.
		if n := p.Model.NoiseScale(); n != nil && initial > 0 {
			worth = n.From(initial).Efficiency(curve).Mean / n.From(curve).Efficiency(initial).Mean
		}
		return steps.Scale(curve * worth), nil
	}
	return steps.Scale(initial), nil
}

// efficiency is relative to the initial batch; 1 without a noise scale.
func (p *Predictor) efficiency(c data.Config) data.Estimate {
	n := p.Model.NoiseScale()
	if n == nil {
		return exactly(1)
	}
	return n.From(p.initialBatch(c)).Efficiency(c.GlobalBatch())
}

// initialBatch returns the global batch, in samples, of efficiency and steps: the one
// given, else the training curve's, else that of all measurements; 0 if unknown.
func (p *Predictor) initialBatch(c data.Config) float64 {
	if b := p.batch().Initial; b > 0 {
		return b
	}
	if lo, _, fixed := p.Model.GlobalBatch(c.GPUType, c.ModeOrDefault()); fixed {
		return lo
	}
	return 0
}

// batch returns the batch limits given, with unset ones from the model.
func (p *Predictor) batch() data.Batch {
	b, known := p.Batch, p.Model.Batch()
	if b == (data.Batch{}) {
		return known
	}
	b.Initial, b.Max = cmp.Or(b.Initial, known.Initial), cmp.Or(b.Max, known.Max)
	return b
}

// GPUHours returns workers × time to the goal, without parameter servers.
func GPUHours(a Answer) data.Estimate {
	return a.TimeToTarget.Scale(float64(a.Config.Workers) / 3600)
}

func exactly(v float64) data.Estimate { return data.Estimate{Mean: v, Lo: v, Hi: v} }

// product multiplies independent positive estimates.
func product(a, b data.Estimate) data.Estimate {
	mean := a.Mean * b.Mean
	if !(mean > 0) {
		return data.Estimate{}
	}
	below := math.Hypot(math.Log(a.Mean/a.Lo), math.Log(b.Mean/b.Lo))
	above := math.Hypot(math.Log(a.Hi/a.Mean), math.Log(b.Hi/b.Mean))
	return data.Estimate{Mean: mean, Lo: mean * math.Exp(-below), Hi: mean * math.Exp(above)}
}

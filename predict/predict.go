package predict

import (
	"knee/data"
	"knee/fit"
)

// Answer is all that is predicted for one configuration.
type Answer struct {
	Config       data.Config
	StepTime     data.Estimate // s
	Throughput   data.Estimate // samples/s
	Efficiency   data.Estimate // 0..1
	Goodput      data.Estimate // samples/s at initial-batch worth
	TimeToTarget data.Estimate // s; zero if no goal was given
	CostToTarget data.Estimate // US$; zero if no goal or price was given
	PricePerHour float64
	Extrapolated bool
	Support      int
	Why          string
}

// Goal is the work that remains; zero means none was given.
type Goal struct {
	Steps      float64 // optimizer steps at the initial batch
	Samples    float64 // samples at initial-batch worth
	TargetLoss float64 // with HasTarget
	HasTarget  bool
}

// Predictor answers questions about one job.
type Predictor struct {
	Model *fit.Model
	Goal  Goal
	Batch data.Batch         // initial and largest global batch; zero: what the model was measured with
	Price map[string]float64 // US$ per worker-hour by GPU type
}

// At predicts one configuration.
func (p *Predictor) At(c data.Config) (Answer, error) { panic("contract") }

// BestBatch chooses local batch and accumulation steps for the workers, ps, GPU type and mode of c
// (its batch is ignored) to maximise goodput; local batches outside the measured range are not considered.
func (p *Predictor) BestBatch(c data.Config) (Answer, error) { panic("contract") }

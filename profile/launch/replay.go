package launch

import (
	"context"
	"fmt"
	"math"
	"time"

	"knee/data"
)

// Replay answers trials from a table, to compare searches without a cluster.
type Replay struct {
	rows map[string]data.Measurement
	open map[string][]data.Measurement // rows by what they are without their nodes
}

// replaySteps is how many steps a replayed trial reports, enough for any meter.
const replaySteps = 200

// NewReplay replays ms. Two rows for one configuration are a [*data.InputError].
func NewReplay(ms []data.Measurement) (*Replay, error) {
	r := &Replay{rows: make(map[string]data.Measurement, len(ms)), open: map[string][]data.Measurement{}}
	for _, m := range ms {
		if old, ok := r.rows[m.Key()]; ok {
			return nil, &data.InputError{Source: m.Source, Found: "a second row for " + m.Config.String(),
				Want: "one row per configuration in a table to replay; the first is at " + old.Source.String()}
		}
		r.rows[m.Key()] = m
		key := anywhere(m.Config)
		r.open[key] = append(r.open[key], m)
	}
	return r, nil
}

// anywhere is the key of a configuration wherever its workers are.
func anywhere(c data.Config) string {
	c.Placement, c.Nodes = nil, 0
	return c.Key()
}

// Launch alternates between mean plus and minus standard deviation, which gives both. A
// trial that leaves its nodes open is that of the only row that has it.
func (r *Replay) Launch(ctx context.Context, t Trial, obs chan<- Observation) error {
	m, ok := r.rows[t.Config.Key()]
	if of := r.open[t.Config.Key()]; !ok && len(of) == 1 {
		m, ok = of[0], true
	}
	if !ok {
		return &Failure{Status: data.Failed, Detail: fmt.Sprintf("the replayed table has no row for %s", t.Config)}
	}
	if t.Used != nil {
		t.Used(m.PeakMemory, m.GPUMemory)
	}
	if m.Status != data.OK {
		return &Failure{Status: m.Status, Detail: m.Error, Bound: m.StepTime}
	}
	at := time.Now()
	for i := range replaySteps {
		o := unseen()
		o.Step = float64(i + 1)
		o.StepTime = m.StepTime + math.Copysign(m.StepTimeSD, float64(i%2)-.5)
		if m.SyncTime > 0 {
			o.SyncTime = m.SyncTime
		}
		o.At = at
		at = at.Add(time.Duration(o.StepTime * float64(time.Second)))
		select {
		case obs <- o:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

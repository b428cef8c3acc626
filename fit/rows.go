package fit

import (
	"errors"
	"fmt"
	"math"

	"knee/data"
)

// mergeRepeats makes one row of the measurements of one configuration: the
// geometric mean of their times, and a spread such that
// StepTimeSD/StepTime/√Steps is the relative standard error of that mean.
// Order of first appearance is kept. It also returns how many measurements
// went into each row.
func mergeRepeats(ms []data.Measurement) (rows []data.Measurement, runs []float64) {
	type sums struct {
		step, sync, weight, inverse float64
		synced                      int
	}
	at := map[string]int{}
	var acc []sums
	for _, m := range ms {
		key := m.Key()
		i, ok := at[key]
		if !ok {
			i = len(rows)
			at[key] = i
			rows = append(rows, slim(m))
			acc = append(acc, sums{})
		}
		a := &acc[i]
		a.weight++
		a.step += math.Log(m.StepTime)
		a.inverse += relVariance(m)
		if m.SyncTime > 0 {
			a.sync += math.Log(m.SyncTime)
			a.synced++
		}
	}
	for i, a := range acc {
		runs = append(runs, a.weight)
		if a.weight == 1 {
			continue
		}
		r := &rows[i]
		r.StepTime = math.Exp(a.step / a.weight)
		r.SyncTime = 0
		if a.synced > 0 {
			r.SyncTime = math.Min(math.Exp(a.sync/float64(a.synced)), r.StepTime)
		}
		// relVariance of the merged row must be Σ variance / count².
		r.Steps = 1
		r.StepTimeSD = r.StepTime * math.Sqrt(a.inverse) / a.weight
	}
	return rows, runs
}

// slim keeps what a fit uses.
func slim(m data.Measurement) data.Measurement {
	c := m.Config
	c.Job, c.GPUType, c.Mode, c.Extra = "", "", "", nil // held by the model and the group
	return data.Measurement{
		Config: c, StepTime: m.StepTime, SyncTime: m.SyncTime, StepTimeSD: m.StepTimeSD, Steps: m.Steps, Status: data.OK, Source: m.Source,
	}
}

// relVariance is the squared relative standard error of a mean step time,
// zero if its spread was not recorded.
func relVariance(m data.Measurement) float64 {
	if m.StepTimeSD <= 0 || m.StepTime <= 0 {
		return 0
	}
	r := m.StepTimeSD / m.StepTime
	return math.Min(r*r/float64(max(m.Steps, 1)), 1)
}

// checkRow refuses measurements no fit can use.
func checkRow(m data.Measurement) error {
	bad := func(column string, v float64, want string) error {
		src := m.Source
		src.Column = column
		return &data.InputError{Source: src, Found: fmt.Sprint(v), Want: want}
	}
	switch {
	case !(m.StepTime > 0) || math.IsInf(m.StepTime, 0):
		return bad("step_time_s", m.StepTime, "seconds > 0 in a measurement with status ok")
	case !(m.SyncTime >= 0) || m.SyncTime > m.StepTime*1.0001:
		return bad("sync_time_s", m.SyncTime, "seconds from 0 to the step time")
	}
	var in *data.InputError
	if err := checkConfig(m.Config); errors.As(err, &in) {
		in.File, in.Line = m.Source.File, m.Source.Line
		return in
	}
	return nil
}

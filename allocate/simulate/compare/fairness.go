package compare

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"knee/allocate/place"
	"knee/allocate/simulate"
	"knee/internal/list"
	"knee/internal/quantile"
)

// Fairness is how jobs fared beside how they would have alone.
type Fairness struct {
	FTFMean      float64 `json:"ftf_mean"` // finish-time fairness: completion time over that alone on an equal share
	FTFP99       float64 `json:"ftf_p99"`
	SlowdownMean float64 `json:"slowdown_mean"` // completion time over that alone on the GPUs asked for
	SlowdownP99  float64 `json:"slowdown_p99"`
	Worse        float64 `json:"worse_than_share"` // share of jobs that would have been better off with a share of their own
}

// fairnessOf sums up jobs, of which 0 is not known; it sorts.
func fairnessOf(ftf, slowdown []float64) (f Fairness) {
	unknown := func(x float64) bool { return x == 0 }
	ftf, slowdown = slices.DeleteFunc(ftf, unknown), slices.DeleteFunc(slowdown, unknown)
	worse := list.Count(ftf, func(x float64) bool { return x > 1+1e-9 }) // but for rounding
	f.Worse = float64(worse) / math.Max(1, float64(len(ftf)))
	f.FTFMean, f.FTFP99 = summary(ftf)
	f.SlowdownMean, f.SlowdownP99 = summary(slowdown)
	return f
}

// Tenant is how the jobs of one tenant fared.
type Tenant struct {
	Name string // empty for jobs that name none
	simulate.Summary
	Fairness
}

// fairness fills in the finish-time fairness and the slowdown of the jobs.
func (s *Settings) fairness(c Case, row *Row) error {
	alone, err := s.alone(c)
	if err != nil {
		return err
	}
	ftf, err := overAlone(row.Outcomes, equalShares(row.Outcomes, c.Cluster.Slots()), alone)
	if err != nil {
		return err
	}
	asked := list.Map(c.Jobs, func(j simulate.Job) float64 { return max(1, float64(j.Workers)) })
	slowdown, err := overAlone(row.Outcomes, asked, alone)
	if err != nil {
		return err
	}
	by := map[string][]int{} // jobs of a tenant
	for i, o := range row.Outcomes {
		by[o.Tenant] = append(by[o.Tenant], i)
	}
	for _, name := range slices.Sorted(maps.Keys(by)) {
		outcomes := list.Map(by[name], func(i int) simulate.Outcome { return row.Outcomes[i] })
		its := func(of []float64) []float64 { return list.Map(by[name], func(i int) float64 { return of[i] }) }
		fair := fairnessOf(its(ftf), its(slowdown))
		row.Tenants = append(row.Tenants, Tenant{name, simulate.Summarize(outcomes, 0), fair})
	}
	row.Fairness = fairnessOf(ftf, slowdown)
	return nil
}

// summary is the mean and the 99 % quantile, 0 of nothing. It sorts.
func summary(v []float64) (mean, p99 float64) {
	if len(v) == 0 {
		return 0, 0
	}
	slices.Sort(v)
	for _, x := range v {
		mean += x / float64(len(v))
	}
	return mean, quantile.Sorted(v, 0.99)
}

func (s *Settings) alone(c Case) (aloneTime, error) {
	switch {
	case s.Models != nil:
		jobs, err := s.Models.Jobs(c.Jobs, c.Cluster, false, false)
		return whole(func(i, gpus int) (float64, error) { return s.Models.Alone(jobs, i, gpus) }), err
	case s.measured(c):
		return s.measuredAlone(c), nil
	}
	return s.gangAlone(c)
}

// gangAlone is for jobs whose duration on the GPUs they ask for is known: on fewer they
// share time. Of several GPU types with measured speeds it takes the first of the
// cluster.
func (s *Settings) gangAlone(c Case) (aloneTime, error) {
	jobs, err := s.rigid(c)
	return func(i int, gpus float64) (float64, error) {
		j := &jobs[i]
		t := j.Work * math.Max(1, float64(max(1, j.Workers))/gpus)
		if len(j.Options) > 0 { // else a gang larger than any GPU type, by the rules of Tiresias
			t /= j.Options[0].Answer.Goodput.Mean
		}
		return t, nil
	}, err
}

// measuredAlone asks the measured tables, on the first GPU type of the cluster that the
// application was measured on, packed on few nodes.
func (s *Settings) measuredAlone(c Case) aloneTime {
	type key struct {
		app  string
		gpus int
	}
	known, fits := map[key]float64{}, place.Fits(c.Cluster)
	return whole(func(i, gpus int) (float64, error) {
		app, err := s.Profiles.App(c.Jobs[i].Application)
		if err != nil {
			return 0, err
		}
		for _, gpuType := range c.Cluster.GPUTypes() {
			t := app.Tables[gpuType]
			if t == nil || len(fits[gpuType]) == 0 {
				continue
			}
			k := key{app.Name, min(gpus, t.MaxWorkers, int(app.Max/t.LocalMin))}
			if _, ok := known[k]; !ok {
				if known[k], err = app.Alone(t, fits[gpuType].Packed(min(k.gpus, fits[gpuType].Total()))); err != nil {
					return 0, err
				}
			}
			return known[k] * cmp.Or(c.Jobs[i].EndsAt, 1), nil
		}
		return 0, nil
	})
}

// aloneTime is the seconds that job i of a case would take alone on so many GPUs, or on a
// share of one.
type aloneTime func(i int, gpus float64) (float64, error)

// whole is an aloneTime that knows whole GPUs only.
func whole(alone func(i, gpus int) (float64, error)) aloneTime {
	return func(i int, gpus float64) (float64, error) {
		t, err := alone(i, max(1, int(math.Round(gpus))))
		return t / math.Min(1, gpus), err
	}
}

// overAlone is the completion time of every job ÷ the time alone on so many GPUs, 0
// where that is not known or the job was cancelled.
func overAlone(outcomes []simulate.Outcome, gpus []float64, alone aloneTime) ([]float64, error) {
	out := make([]float64, len(outcomes))
	for i, o := range outcomes {
		t, err := alone(i, gpus[i])
		if err != nil {
			return nil, err
		}
		if t > 0 && o.Fate != simulate.Cancelled {
			out[i] = o.JCT() / t
		}
	}
	return out, nil
}

// equalShares are the shares of the cluster by which finish-time fairness is counted
// (Themis, Mahajan et al., NSDI 2020, section 3): the GPUs ÷ the mean number of jobs
// during the life of each, itself included.
func equalShares(outcomes []simulate.Outcome, gpus int) []float64 {
	type event struct{ at, delta float64 }
	var events []event
	for _, o := range outcomes {
		events = append(events, event{o.Submit, 1}, event{o.End, -1})
	}
	slices.SortStableFunc(events, func(a, b event) int { return cmp.Compare(a.at, b.at) })
	// The integral of the number of jobs present, at every event.
	at, sum := make([]float64, len(events)), make([]float64, len(events))
	var present float64
	for i, e := range events {
		at[i] = e.at
		if i > 0 {
			sum[i] = sum[i-1] + present*(e.at-at[i-1])
		}
		present += e.delta
	}
	integral := func(t float64) float64 {
		i, _ := slices.BinarySearch(at, t)
		return sum[min(i, len(sum)-1)]
	}
	out := make([]float64, len(outcomes))
	for i, o := range outcomes {
		crowd := 1.0
		if o.JCT() > 0 {
			crowd = math.Max(1, (integral(o.End)-integral(o.Submit))/o.JCT())
		}
		out[i] = float64(gpus) / crowd
	}
	return out
}

package simulate

import (
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"

	"knee/data"
	"knee/internal/list"
)

// Weight is one possible value and how often it is drawn, relative to the others.
type Weight struct {
	Value  string
	Weight float64
}

// ParseWeights reads value=weight pairs; a value alone has weight 1.
func ParseWeights(pairs []string) ([]Weight, error) {
	var out []Weight
	for _, p := range pairs {
		value, weight, given := strings.Cut(p, "=")
		w := Weight{Value: strings.TrimSpace(value), Weight: 1}
		if given {
			x, err := strconv.ParseFloat(strings.TrimSpace(weight), 64)
			if err != nil || !(x > 0) || math.IsInf(x, 0) {
				return nil, fmt.Errorf("found weight %q of %q, want a number > 0", weight, value)
			}
			w.Weight = x
		}
		if w.Value == "" {
			return nil, fmt.Errorf("found %q, want value=weight", p)
		}
		out = append(out, w)
	}
	return out, nil
}

// Generator draws workloads. The same fields give the same jobs.
type Generator struct {
	Count         int     // jobs, ≥ 1
	Hours         float64 // over which they arrive on average, > 0
	Diurnal       float64 // swing of the rate of arrival over 24 hours, 0 (even) to 1 (none at night)
	MedianSeconds float64 // of durations, > 0
	Sigma         float64 // standard deviation of their logarithm, ≥ 0
	TailShare     float64 // share of jobs whose duration is Pareto (index 1.1) above the 95 % quantile
	Mix           []Weight
	GPUs          []Weight // whole numbers
	Failing       float64  // share of jobs that fail, at a share of their work that is uniform
	Unconverged   float64  // share of jobs that do all of their work and do not converge
	Tenants       int      // number of tenants, drawn evenly; 0: jobs have none
	Seed          int64
}

// Jobs draws the workload: arrivals are a Poisson process, thinned to the hour of the day;
// durations are log-normal with a Pareto tail, as in traces of GPU clusters (Jeon et al.,
// USENIX ATC 2019, section 2).
func (g Generator) Jobs() ([]Job, error) {
	switch {
	case g.Count < 1 || g.Count > 10_000_000 || !(g.Hours > 0 && g.Hours <= 1e6) || !(g.MedianSeconds > 0 && g.MedianSeconds <= 1e9):
		return nil, errors.New("a workload wants at least one job, at most a million hours, and a median of up to 32 years")
	case !(g.Diurnal >= 0 && g.Diurnal <= 1) || !(g.TailShare >= 0 && g.TailShare <= 1) || !(g.Sigma >= 0 && g.Sigma <= 10):
		return nil, errors.New("swing and tail want a share from 0 to 1, and sigma a number from 0 to 10")
	case !(g.Failing >= 0 && g.Unconverged >= 0 && g.Failing+g.Unconverged <= 1) || g.Tenants < 0:
		return nil, errors.New("jobs that fail and that never converge want shares from 0 to 1 together, and tenants a number")
	case len(g.Mix) == 0 || len(g.GPUs) == 0:
		return nil, errors.New("a workload wants at least one application and one size")
	}
	r := rand.New(rand.NewPCG(uint64(g.Seed), 0x6b6e6565))
	rate := float64(g.Count) / (g.Hours * 3600) // jobs/s, on average
	now := 0.0
	var jobs []Job
	for i := range g.Count {
		now = g.arrival(r, now, rate)
		app := draw(r, g.Mix)
		size := draw(r, g.GPUs)
		gpus, err := strconv.Atoi(size)
		if err != nil || gpus < 1 {
			return nil, fmt.Errorf("found size %q, want a whole number of GPUs ≥ 1", size)
		}
		j := Job{Name: fmt.Sprintf("%s-%d", app, i), Application: app, Submit: math.Round(now), Workers: gpus, Work: math.Round(g.duration(r)), Seconds: true}
		g.ending(&j, r)
		jobs = append(jobs, j)
	}
	return jobs, nil
}

// ending draws how a job ends, and its tenant.
func (g Generator) ending(j *Job, r *rand.Rand) {
	if g.Failing+g.Unconverged > 0 {
		switch x := r.Float64(); {
		case x < g.Failing:
			j.Fate, j.EndsAt = Fails, math.Max(0.001, math.Round(1000*r.Float64())/1000)
		case x < g.Failing+g.Unconverged:
			j.Fate, j.EndsAt = Unconverged, 1
		default:
			j.Fate, j.EndsAt = Completes, 1
		}
	}
	if g.Tenants > 0 {
		j.Tenant = fmt.Sprintf("tenant-%d", 1+r.IntN(g.Tenants))
	}
}

// arrival is the time of the next arrival. Candidates arrive at the highest rate and are
// accepted in proportion to the rate of their hour, which is lowest at the start.
func (g Generator) arrival(r *rand.Rand, now, rate float64) float64 {
	top := rate * (1 + g.Diurnal)
	for {
		now += r.ExpFloat64() / top
		if r.Float64()*top <= rate*(1-g.Diurnal*math.Cos(2*math.Pi*now/86400)) {
			return now
		}
	}
}

func (g Generator) duration(r *rand.Rand) float64 {
	const normal95, index = 1.6449, 1.1
	if r.Float64() < g.TailShare {
		start := g.MedianSeconds * math.Exp(normal95*g.Sigma)
		return math.Min(start*math.Pow(1-r.Float64(), -1/index), 1000*start)
	}
	return math.Max(1, g.MedianSeconds*math.Exp(g.Sigma*r.NormFloat64()))
}

func draw(r *rand.Rand, weights []Weight) string {
	x := r.Float64() * list.Sum(weights, func(w Weight) float64 { return w.Weight })
	for _, w := range weights {
		if x -= w.Weight; x < 0 {
			return w.Value
		}
	}
	return weights[len(weights)-1].Value
}

// WriteWorkload writes jobs as [ReadWorkload] reads them, work as a duration in seconds.
func WriteWorkload(w io.Writer, jobs []Job) error {
	rows := list.Map(jobs, func(j Job) workloadRow {
		return workloadRow{Name: j.Name, Submit: j.Submit, Application: j.Application, Workers: j.Workers, Duration: j.Work, Tenant: j.Tenant, Fate: j.Fate, EndsAt: j.EndsAt}
	})
	return data.WriteTable(w, "workload", rows, ReadWorkload)
}

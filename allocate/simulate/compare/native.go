package compare

import (
	"cmp"
	"fmt"
	"slices"

	"knee/allocate"
	"knee/allocate/policy"
	"knee/allocate/simulate"
	"knee/allocate/simulate/measured"
)

// Defaults where models are fitted as jobs run: those of the simulator published with
// Pollux.
const (
	restartSeconds = 30
	roundSeconds   = 60
)

// native sets up a replay by the rules of this project, with failures until a time in
// seconds.
func (s *Settings) native(c Case, name string, until float64) (jobs []simulate.Job, set simulate.Settings, err error) {
	set = simulate.Settings{Cluster: c.Cluster, Interval: cmp.Or(s.Interval, policy.Round(name)), Unvalued: policy.Gang(name),
		RestartSeconds: s.Restart, StopFree: s.StopFree, RescaleSeconds: s.Rescale, Checkpoint: s.CheckpointEvery, Survival: s.Survival, Packed: s.Packed}
	if set.Policy, err = policy.New(name); err != nil {
		return nil, set, err
	}
	switch {
	case s.Models != nil:
		set.Truth = s.Models.Truth
		jobs, err = s.Models.Jobs(c.Jobs, c.Cluster, policy.Gang(name), s.Alone)
	case s.measured(c):
		set.Truth, set.Interval = s.Profiles.Truth, cmp.Or(set.Interval, roundSeconds)
		jobs, err = s.Profiles.Jobs(c.Jobs, c.Cluster, policy.Gang(name), &measured.History{Alone: s.Alone})
	default:
		jobs, err = s.rigid(c)
	}
	if err != nil {
		return nil, set, err
	}
	if s.Restart > 0 {
		for i := range jobs {
			jobs[i].RestartSeconds = 0
		}
	}
	if set.Truth != nil && set.RestartSeconds == 0 {
		set.RestartSeconds = restartSeconds
	}
	if s.NodeMTBF > 0 {
		if n := float64(len(c.Cluster.Nodes)) * until / (s.NodeMTBF + s.NodeRepair); n > mostFailures {
			return nil, set, fmt.Errorf("failures of a node every %g s on average would be %.1g in %.3g s; want at most %g", s.NodeMTBF, n, until, float64(mostFailures))
		}
		set.Failures = simulate.RandomFailures(c.Cluster, s.NodeMTBF, s.NodeRepair, until, s.Seed)
	}
	return jobs, set, nil
}

// mostFailures bounds the failures of a replay: each is an event with a decision.
const mostFailures = 1e6

// measured reports whether the jobs of a case advance as their applications were
// measured. A trace of durations without measured applications does not use profiles.
func (s *Settings) measured(c Case) bool {
	if s.Profiles == nil || s.Models != nil || s.Semantics == Tiresias {
		return false
	}
	if s.Semantics == Pollux {
		return true
	}
	return slices.ContainsFunc(c.Jobs, func(j simulate.Job) bool {
		_, known := s.Profiles.Apps[j.Application]
		return known || !(j.Work > 0)
	})
}

// span is the seconds for which failures are drawn at first: twice the arrivals, ten days
// at least.
func span(jobs []simulate.Job) float64 {
	last := 5 * 86400.0
	for _, j := range jobs {
		last = max(last, j.Submit)
	}
	return 2 * last
}

// rigid gives the jobs of a trace their options: the size they ask for, at the measured
// steps/s if the profiles have them, else at the speed that the trace implies.
func (s *Settings) rigid(c Case) ([]simulate.Job, error) {
	jobs := slices.Clone(c.Jobs)
	var rates *measured.Rates // of a workload whose work is in steps
	if s.Profiles != nil && s.Profiles.Rates != nil &&
		slices.ContainsFunc(jobs, func(j simulate.Job) bool { return j.Steps && s.Profiles.Rates.Knows(j.Application) }) {
		rates = s.Profiles.Rates
	}
	offers := map[string][]allocate.Option{} // jobs of a kind share their table
	for i := range jobs {
		j := &jobs[i]
		w := max(1, j.Workers)
		if j.WorkersMin > 0 && j.WorkersMin < w || j.WorkersMax > w {
			return nil, j.Bad("", fmt.Sprintf("%d to %d workers", j.WorkersMin, j.WorkersMax), "profiles of its application: a duration does not say how fast it is on other sizes")
		}
		key := fmt.Sprint(w, " ", j.Application)
		if _, known := offers[key]; !known {
			offer := simulate.RigidOptions(*j, c.Cluster)
			if rates != nil {
				var err error
				if offer, err = rates.Options(*j, offer); err != nil {
					return nil, err
				}
			}
			offers[key] = offer
		}
		j.Options = offers[key]
	}
	return jobs, nil
}

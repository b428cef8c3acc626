package compare

import (
	"slices"

	"knee/allocate"
	"knee/allocate/policy"
	"knee/allocate/simulate"
	"knee/allocate/simulate/elastic"
)

// restartSeconds and roundSeconds are the defaults where models are fitted as
// jobs run: those of the simulator published with Pollux.
const (
	restartSeconds = 30
	roundSeconds   = 60
)

// native replays event by event.
func (s *Settings) native(c Case, name string, progress func(done, of int) error) ([]simulate.Outcome, error) {
	p, err := policy.New(name)
	if err != nil {
		return nil, err
	}
	set := simulate.Settings{Cluster: c.Cluster, Policy: p, Interval: s.Interval, Unvalued: policy.Gang(name),
		StartSeconds: s.Restart, RestartSeconds: s.Restart, Checkpoint: s.CheckpointEvery, Progress: progress}
	jobs := rigid(c)
	if s.measured(c) {
		if jobs, err = elastic.Jobs(c.Jobs, s.Profiles, c.Cluster, policy.Gang(name)); err != nil {
			return nil, err
		}
		set.Truth = elastic.Truth(s.Profiles)
		if set.Interval == 0 {
			set.Interval = roundSeconds
		}
		if set.RestartSeconds == 0 {
			set.StartSeconds, set.RestartSeconds = restartSeconds, restartSeconds
		}
	}
	if s.NodeMTBF > 0 {
		set.Failures = simulate.RandomFailures(c.Cluster, s.NodeMTBF, s.NodeRepair, span(jobs), s.Seed)
	}
	r, err := simulate.Run(jobs, set)
	if err != nil {
		return nil, err
	}
	return r.Jobs, nil
}

// measured reports whether the jobs of a case advance as their applications
// were measured. A trace of durations whose applications nobody measured is
// taken as it is, profiles or not.
func (s *Settings) measured(c Case) bool {
	if s.Profiles == nil || s.Semantics == Tiresias {
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

// rigid gives the jobs of a trace the options they have: what they ask for.
func rigid(c Case) []simulate.Job {
	jobs := slices.Clone(c.Jobs)
	offers := map[int][]allocate.Option{} // by workers: jobs of a size share their table
	for i := range jobs {
		w := max(1, jobs[i].Workers)
		if offers[w] == nil {
			offers[w] = simulate.RigidOptions(jobs[i], c.Cluster)
		}
		jobs[i].Options = offers[w]
	}
	return jobs
}

// span is how long, in seconds, failures are drawn for: twice the time over
// which jobs come, and ten days at least.
func span(jobs []simulate.Job) float64 {
	last := 5 * 86400.0
	for _, j := range jobs {
		last = max(last, j.Submit)
	}
	return 2 * last
}

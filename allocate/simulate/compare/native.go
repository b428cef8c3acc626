package compare

import (
	"slices"

	"knee/allocate"
	"knee/allocate/policy"
	"knee/allocate/simulate"
)

// native replays event by event.
func (s *Settings) native(c Case, name string, progress func(done, of int) error) ([]simulate.Outcome, error) {
	p, err := policy.New(name)
	if err != nil {
		return nil, err
	}
	jobs := slices.Clone(c.Jobs)
	offers := map[int][]allocate.Option{} // by workers: jobs of a size share their table
	for i := range jobs {
		w := max(1, jobs[i].Workers)
		if offers[w] == nil {
			offers[w] = simulate.RigidOptions(jobs[i], c.Cluster)
		}
		jobs[i].Options = offers[w]
	}
	r, err := simulate.Run(jobs, simulate.Settings{
		Cluster: c.Cluster, Policy: p, Interval: s.Interval, Unvalued: policy.Gang(name),
		StartSeconds: s.Restart, RestartSeconds: s.Restart, Progress: progress,
	})
	if err != nil {
		return nil, err
	}
	return r.Jobs, nil
}

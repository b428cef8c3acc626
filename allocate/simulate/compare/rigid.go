package compare

import (
	"fmt"
	"slices"

	"knee/allocate"
	"knee/allocate/simulate"
	"knee/allocate/simulate/measured"
)

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

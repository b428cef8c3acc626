package allocate

import (
	"fmt"

	"knee/data"

	"github.com/dustin/go-humanize/english"
)

// Policy chooses an option for every job. It neither places nor changes jobs, and
// gives the same answer for the same state. It may keep records between states.
type Policy interface {
	Allocate(State) (Assignment, error)
}

// PolicyFunc is a policy without records.
type PolicyFunc func(State) (Assignment, error)

// Allocate implements [Policy].
func (f PolicyFunc) Allocate(s State) (Assignment, error) { return f(s) }

// State is the input of a policy.
type State struct {
	Now     float64       // seconds since the start of the workload; 0 for a single plan
	Cluster *data.Cluster // capacity
	Jobs    []JobState    // in order of submission
	// Tenants are the owners of jobs by name. A child divides the share and the quota of
	// its parent with its siblings. One that is not listed has weight 1, no quota and no
	// parent, a GPU type without a quota no limit.
	Tenants map[string]data.Tenant
	// Beside is the speed of job i if it shares GPUs of a type with another of as many
	// workers, relative to alone: measured or observed, else expected. nil: GPUs are not
	// shared.
	Beside func(i, other int, gpuType string, workers int) float64
}

// JobState is one job of a State.
type JobState struct {
	Name          string
	Options       []Option // empty if nothing can be placed
	Idle          float64  // value of getting nothing
	Opportunistic bool     // it only gets GPUs that others leave idle
	Current       int      // index in Options of its running allocation, −1 if not running
	Requested     int      // workers its owner asked for; 0 if the owner left it open
	Weight        float64  // 1 if not set
	Submitted     float64  // seconds, on the clock of State.Now
	Attained      float64  // GPU-seconds it has used so far
	Remaining     float64  // seconds of work left at its smallest option; 0 if not known
	History       History  // zero if not known
	Host          string   // the job on whose GPUs it is a guest; empty: none
}

// None is the choice of a job that gets nothing.
const None = -1

// Assignment maps every job to an option.
type Assignment struct {
	Choice []int         // parallel to State.Jobs: index in Options, −1 for nothing
	Guests map[int]Guest // by job: those that get nothing of their own, but share GPUs of another
	// Wake is when the policy is to be asked again if nothing happens before, such as at the
	// end of a lease, on the clock of State.Now; 0 or +Inf: when something happens.
	Wake float64
}

// Guest is what a guest runs: its option, on the GPUs of the job that is its host.
type Guest struct{ Host, Option int }

// Check returns an error if a choice does not exist, or a resource or quota is exceeded.
func (a Assignment) Check(s State) error {
	if len(a.Choice) != len(s.Jobs) {
		return fmt.Errorf("assignment has %s, want one for each of %s", english.Plural(len(a.Choice), "choice", ""), english.Plural(len(s.Jobs), "job", ""))
	}
	tally := s.Tally()
	for i, c := range a.Choice {
		switch {
		case c < None || c >= len(s.Jobs[i].Options):
			return fmt.Errorf("job %q: choice %d, want −1 to %d", s.Jobs[i].Name, c, len(s.Jobs[i].Options)-1)
		case c == None:
			continue
		}
		if d := tally.Add(i, &s.Jobs[i].Options[c].Use, 1); d >= 0 {
			return fmt.Errorf("assignment uses %g of %s, want at most %g", tally.Used[d], tally.names[d], tally.Limit[d])
		}
	}
	return nil
}

// History is the past of a job, zero if the scheduler keeps no records.
type History struct {
	Tenant   string             // owner of the job; empty: itself
	Restart  float64            // seconds without progress that a change of allocation costs
	Restarts int                // changes of allocation so far
	Progress float64            // share of the declared work that is done, 0 to 1
	Ran      float64            // seconds it has held workers
	ByType   map[string]float64 // GPU-seconds by GPU type
}

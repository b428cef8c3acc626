package data

import (
	"strings"
	"time"
)

// Operate is how a queue is operated: the contents of operate.yaml.
type Operate struct {
	Scheduler  string   // slurm or kubernetes
	Namespaces []string // of Kubernetes; empty: that of the context; "*": all
	Folder     string   // where turns, the audit log and the state lie; relative to the file
	Interval   time.Duration
	Rules      []JobRule
	Allow      []Match // a job is changed only if it matches one of these

	Tenants []Tenant // whose jobs the queue has; empty: none has a quota or another weight than the rest

	MaxChanges   int           // per turn
	BetweenMoves time.Duration // least time between two changes of a running job
	Deadline     time.Duration // for the scheduler to show what it was asked for
	Horizon      time.Duration // a reservation that begins within it closes its nodes
	Maintenance  []Window      // in which nothing is changed
	PauseFile    string        // while it is there nothing is changed; relative to the file
	Profile      bool          // a job may be grown onto idle GPUs to be measured there
	Metrics      string        // address to serve /metrics at; empty: none

	Objective, Policy, Sizes string
	Risk, Hysteresis         float64
	Source                   Source
}

// Window is a time from From until before To.
type Window struct {
	From, To time.Time
}

// JobRule says what jobs that match it train.
type JobRule struct {
	Match          Match
	Model          string    // path of its model.json, relative to the file; empty: one is made of what is measured of the job
	Remaining      Remaining // at the start of the job; what its log tells of is taken off
	Workers        IntRange
	GPUTypes       []string
	Batch          Batch
	Weight         float64 // 1 if not given
	RestartSeconds float64
	RestartGiven   bool
	Resources      Resources
	Checkpoint     bool    // it goes on from a checkpoint when it is started again
	Log            string  // file of its output, with {id}, {name}, {namespace}, {user}; empty: what the scheduler knows
	Metrics        Metrics // how its lines are read; zero: every known pattern is tried
}

// LogOf is the file of a job's output, empty if the rule names none. A slash
// in a value would lead elsewhere and is written as an underscore.
func (r *JobRule) LogOf(values map[string]string) string {
	var pairs []string
	for k, v := range values {
		pairs = append(pairs, "{"+k+"}", strings.ReplaceAll(v, "/", "_"))
	}
	return strings.NewReplacer(pairs...).Replace(r.Log)
}

// Match is what a job must have, as patterns of [path.Match]; empty: anything.
type Match struct {
	Name, Namespace, User, Account, Partition, Queue, Kind string
	Labels                                                 map[string]string // equal to these
}

// Everything reports whether every job of a queue matches.
func (m Match) Everything() bool {
	for _, p := range []string{m.Name, m.Namespace, m.User, m.Account, m.Partition, m.Queue, m.Kind} {
		if strings.Trim(p, "*") != "" {
			return false
		}
	}
	return len(m.Labels) == 0
}

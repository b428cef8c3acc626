package data

import (
	"io"
	"slices"
	"strings"
	"time"
)

// Operate is the contents of operate.yaml: how a queue is operated.
type Operate struct {
	Scheduler  string        `yaml:"scheduler,required" of:"slurm,kubernetes" want:"slurm or kubernetes"`
	Namespaces []string      `yaml:"namespaces" want:"a list of namespaces, or [\"*\"] for all"` // of Kubernetes; empty: that of the context; "*": all
	Folder     string        `yaml:"folder"`                                                     // of turns, the audit log and the state; relative to the file
	Interval   time.Duration `yaml:"interval"`
	Rules      []JobRule     `yaml:"rules" want:"a list of rules"`
	Allow      []Match       `yaml:"allow" want:"a list of what may be changed"` // a job is changed only if it matches one of these

	Tenants []Tenant `yaml:"tenants" want:"a list of tenants"` // owners of the jobs; empty: no quotas, equal weights

	MaxChanges   int           `yaml:"max_changes" min:"1"`                // per turn
	BetweenMoves time.Duration `yaml:"between_moves"`                      // least time between two changes of a running job
	Deadline     time.Duration `yaml:"deadline"`                           // for the scheduler to show a requested change
	Horizon      time.Duration `yaml:"horizon"`                            // a reservation that begins within it closes its nodes
	Maintenance  []Window      `yaml:"maintenance" want:"a list of times"` // in which nothing is changed
	PauseFile    string        `yaml:"pause_file"`                         // while it exists nothing is changed; relative to the file
	Profile      bool          `yaml:"profile"`                            // jobs may be grown onto idle GPUs to measure them
	Metrics      string        `yaml:"metrics"`                            // address that serves /metrics; empty: none

	Objective  string  `yaml:"objective"`
	Policy     string  `yaml:"policy"`
	Sizes      string  `yaml:"sizes"`
	Risk       float64 `yaml:"risk" is:"share" of:"a number from 0 to 1"`
	Hysteresis float64 `yaml:"hysteresis" is:"seconds"`
	Source     Source
}

// defaults: few changes limit the cost of a mistake; half an hour between two changes of a
// job keeps restarts, of minutes, a small part of its time.
func (c *Operate) defaults() {
	c.Interval, c.MaxChanges, c.BetweenMoves = 5*time.Minute, 2, 30*time.Minute
	c.Deadline, c.Horizon = 5*time.Minute, time.Hour
}

func (c *Operate) validate(o *object) { checkTenants(o, c.Tenants) }

// Window is the time from From (included) to To (excluded).
type Window struct {
	From time.Time `yaml:"from"`
	To   time.Time `yaml:"to"`
}

func (w *Window) validate(o *object) {
	if !w.From.Before(w.To) {
		o.fail("to", w.To.Format(time.RFC3339), "a point in time after from")
	}
}

// JobRule describes the training of jobs that match.
type JobRule struct {
	Match          Match     `yaml:"match,required" want:"what the job must have, such as {name: \"resnet-*\"}"`
	Model          string    `yaml:"model"`     // path of its model.json, relative to the file; empty: fitted to measurements of the job
	Remaining      Remaining `yaml:"remaining"` // at the start of the job; progress in its log is subtracted
	Workers        IntRange  `yaml:"workers"`
	GPUTypes       []string  `yaml:"gpu_types" is:"gpu types"`
	Batch          Batch     `yaml:"batch"`
	Weight         float64   `yaml:"weight" is:"positive" of:"a number"` // 1 if not given
	RestartSeconds float64   `yaml:"restart_seconds" is:"seconds" given:"RestartGiven"`
	RestartGiven   bool
	Resources      Resources `yaml:"resources"`
	Checkpoint     bool      `yaml:"checkpoint"` // after a restart it continues from a checkpoint
	Log            string    `yaml:"log"`        // file of its output, with {id}, {name}, {namespace}, {user}; empty: the scheduler's
	Metrics        Metrics   `yaml:"metrics"`    // how its lines are read; zero: every known pattern is tried
}

func (r *JobRule) defaults() { r.Weight = 1 }

func (r *JobRule) validate(o *object) { r.Remaining.check(o) }

// LogOf returns the file of a job's output, empty if the rule names none. Slashes in values
// become underscores, so that they lead to no other folder.
func (r *JobRule) LogOf(values map[string]string) string {
	var pairs []string
	for k, v := range values {
		pairs = append(pairs, "{"+k+"}", strings.ReplaceAll(v, "/", "_"))
	}
	return strings.NewReplacer(pairs...).Replace(r.Log)
}

// Match selects jobs by patterns of [path.Match]; an empty field matches any.
type Match struct {
	Name      string            `yaml:"name" is:"pattern"`
	Namespace string            `yaml:"namespace" is:"pattern"`
	User      string            `yaml:"user" is:"pattern"`
	Account   string            `yaml:"account" is:"pattern"`
	Partition string            `yaml:"partition" is:"pattern"`
	Queue     string            `yaml:"queue" is:"pattern"`
	Kind      string            `yaml:"kind" is:"pattern"`
	Labels    map[string]string `yaml:"labels" want:"the name of a label"` // equal to these
}

// Everything reports whether every job matches.
func (m Match) Everything() bool {
	patterns := []string{m.Name, m.Namespace, m.User, m.Account, m.Partition, m.Queue, m.Kind}
	return len(m.Labels) == 0 && !slices.ContainsFunc(patterns, func(p string) bool { return strings.Trim(p, "*") != "" })
}

// ReadOperate reads operate.yaml from r. Paths stay relative to the file.
func ReadOperate(r io.Reader, name string) (*Operate, error) {
	return readYAML(r, name, &Operate{Source: Source{File: name}})
}

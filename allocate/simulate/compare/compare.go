package compare

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"gonum.org/v1/gonum/stat"

	"knee/allocate"
	"knee/allocate/policy"
	"knee/allocate/simulate"
	"knee/allocate/simulate/measured"
	"knee/allocate/simulate/modelled"
	"knee/allocate/simulate/pollux"
	"knee/allocate/simulate/tiresias"
	"knee/data"
	"knee/internal/list"
)

// Semantics are the rules a workload is replayed by.
const (
	Native   = "native"   // event by event, any cluster, see package simulate
	Pollux   = "pollux"   // those of the simulator published with Pollux
	Tiresias = "tiresias" // those of the simulator published with Tiresias
)

// AllSemantics lists the known rules, the default first.
func AllSemantics() []string { return []string{Native, Pollux, Tiresias} }

// Policies lists the policies that can be replayed by some rules.
func Policies(semantics string) []string {
	switch semantics {
	case Tiresias:
		return tiresias.Policies()
	case Pollux:
		return pollux.Policies()
	}
	return policy.Names()
}

// Case is one workload on one cluster.
type Case struct {
	Name    string // of the workload, for the results
	Jobs    []simulate.Job
	Cluster *data.Cluster
}

// AtLoad returns the case with jobs that arrive load times as fast, which the name then says.
func (c Case) AtLoad(load float64) Case {
	if load == 1 {
		return c
	}
	c.Name, c.Jobs = fmt.Sprintf("%s@load=%g", c.Name, load), slices.Clone(c.Jobs)
	for i := range c.Jobs {
		c.Jobs[i].Submit = math.Round(c.Jobs[i].Submit / load)
	}
	return c
}

// Settings says what to compare.
type Settings struct {
	Cases     []Case
	Policies  []string
	Semantics string             // default: [Native]
	Profiles  *measured.Profiles // true speeds of jobs; nil if the workload has their durations
	Models    *modelled.Models   // fitted models of jobs, native rules only; nil for none
	Alone     bool               // see [measured.History]
	Service   []int64            // GPU-seconds that jobs need, for the Gittins index under [Tiresias]
	Seed      int64
	Parallel  int // runs at a time; default 1

	// Rules of native replays. An Interval of 0 takes that of the policy, or a minute where
	// models are fitted; RestartSeconds of 0 those of the models, else 30 where jobs have models.
	simulate.Rules
	NodeMTBF   float64 // mean seconds between failures of a node, native rules only; 0 = none fail
	NodeRepair float64 // seconds until a failed node is back, > 0 where nodes fail

	Usage bool // record the use over time

	// Progress, if not nil, is called with the share of all runs that is done, 0 to 1.
	Progress func(share float64)
}

// Row is one policy on one case.
type Row struct {
	simulate.Replayed
	simulate.Summary
	Fairness
	Tenants []Tenant `json:"-"`
	Seed    int64    `json:"seed"`
	Wall    float64  `json:"wall_s"` // seconds the replay took
	// Milliseconds that the policy took per decision, mean and 99 % quantile.
	DecisionMean float64 `json:"decision_mean_ms"`
	DecisionP99  float64 `json:"decision_p99_ms"`
}

// Run replays every case under every policy; the rows are in that order. The first error
// ends it.
func Run(ctx context.Context, s Settings) ([]Row, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	rows := make([]Row, len(s.Cases)*len(s.Policies))
	tell := s.meter(len(rows))
	g, within := errgroup.WithContext(ctx)
	g.SetLimit(max(1, s.Parallel))
	for i := range rows {
		c, name := s.Cases[i/len(s.Policies)], s.Policies[i%len(s.Policies)]
		g.Go(func() (err error) {
			if within.Err() != nil {
				return within.Err()
			}
			rows[i], err = s.replay(c, name, func(done, of int) error {
				tell(i, float64(done)/float64(max(of, 1)))
				return within.Err()
			})
			if err != nil {
				return fmt.Errorf("policy %s, workload %s: %w", name, c.Name, err)
			}
			return nil
		})
	}
	err := g.Wait()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return rows, err
}

func (s *Settings) check() error {
	s.Semantics = cmp.Or(s.Semantics, Native)
	if !slices.Contains(AllSemantics(), s.Semantics) {
		return &data.UnknownError{What: "semantics", Name: s.Semantics, Known: AllSemantics()}
	}
	if len(s.Policies) == 0 || len(s.Cases) == 0 {
		return data.Invalid("policy", "nothing to compare", "at least one policy and one workload")
	}
	if s.Semantics == Pollux && s.Profiles == nil {
		return errors.New("the rules of Pollux want profiles: jobs advance at measured speeds")
	}
	for i, name := range s.Policies {
		if slices.Contains(s.Policies[:i], name) {
			return data.Invalid("policy", name+" twice", "each once")
		}
		ok := slices.Contains(Policies(s.Semantics), name)
		if s.Semantics == Tiresias {
			_, ok = tiresias.Canonical(name)
		}
		if !ok {
			return &data.UnknownError{What: "policy", Name: name, Known: Policies(s.Semantics), Hint: ", under the rules " + s.Semantics}
		}
	}
	if s.Models != nil && (s.Semantics != Native || s.Profiles != nil) {
		return errors.New("fitted models want the rules native, and no profiles beside them")
	}
	if (s.StopFree || s.RescaleSeconds != 0 || s.Packed != nil) && s.Semantics != Native {
		return errors.New("scaling without a restart and packed jobs want the rules native; the published ones know neither")
	}
	for _, c := range s.Cases {
		if len(c.Jobs) == 0 {
			return &data.InputError{Source: data.Source{File: "workload " + c.Name}, Found: "no jobs", Want: "at least one"}
		}
		for i := range c.Jobs {
			j := &c.Jobs[i]
			switch {
			case len(j.GPUTypes(c.Cluster)) == 0:
				return j.Bad("gpu_type", strconv.Quote(j.GPUType), "a type of the cluster: "+strings.Join(c.Cluster.GPUTypes(), ", "))
			case s.Semantics == Native:
			case j.Bounded():
				return j.Bad("", "bounds on the size or the GPU type", "none, or the rules native: the published ones know no such jobs")
			case j.Unfinished():
				return j.Bad("", "an end otherwise than declared", "jobs that complete, or the rules native: the published ones know no others")
			}
		}
	}
	return nil
}

// replay runs one policy on one case.
func (s *Settings) replay(c Case, name string, progress func(done, of int) error) (Row, error) {
	start := time.Now()
	row := Row{Replayed: simulate.Replayed{Policy: name, Workload: c.Name, GPUs: c.Cluster.Slots()}, Seed: s.Seed}
	var took []float64
	for until, ended := span(c.Jobs), false; !ended; {
		jobs, set, err := s.prepare(c, name, until)
		if err != nil {
			return Row{}, err
		}
		took, row.History = nil, nil
		set.Progress = progress
		set.Decided = func(t time.Duration) { took = append(took, float64(t)/float64(time.Millisecond)) }
		if s.Usage {
			set.Used = func(u simulate.Usage) { row.History = simulate.Record(row.History, u) }
		}
		r, err := simulate.Run(jobs, set)
		if err != nil && len(set.Failures) > 0 {
			err = fmt.Errorf("%w; a node fails every %g s: check --node-mtbf and --checkpoint-every", err, s.NodeMTBF)
		}
		if err != nil {
			return Row{}, err
		}
		row.Outcomes, row.Summary, row.Wall = r.Jobs, r.Summary, time.Since(start).Seconds()
		last := slices.Max(list.Map(r.Jobs, func(o simulate.Outcome) float64 { return o.End }))
		ended = len(set.Failures) == 0 || last <= until
		until = 2 * last
	}
	row.DecisionMean, row.DecisionP99 = summary(took)
	return row, s.fairness(c, &row)
}

// prepare sets up a replay, with failures until a time in seconds.
func (s *Settings) prepare(c Case, name string, until float64) (jobs []simulate.Job, set simulate.Settings, err error) {
	switch s.Semantics {
	case Native:
		return s.native(c, name, until)
	case Pollux:
		return pollux.Prepare(c.Jobs, pollux.Settings{Cluster: c.Cluster, Profiles: s.Profiles, Policy: name, Alone: s.Alone})
	}
	if set.Policy, err = tiresias.New(name, s.Service); err != nil {
		return nil, set, err
	}
	set.Unvalued = true
	jobs, set.Cluster, err = tiresias.Prepare(c.Jobs, c.Cluster.Slots())
	return jobs, set, err
}

// meter returns what takes the share done of one of n runs and calls Progress with the mean.
func (s *Settings) meter(n int) func(i int, share float64) {
	if s.Progress == nil {
		return func(int, float64) {}
	}
	var mu sync.Mutex
	shares := make([]float64, n)
	return func(i int, share float64) {
		mu.Lock()
		defer mu.Unlock()
		shares[i] = share
		s.Progress(stat.Mean(shares, nil))
	}
}

// Defaults where models are fitted as jobs run: those of the simulator published with
// Pollux.
const (
	restartSeconds = 30
	roundSeconds   = 60
)

// native sets up a replay by the rules of this project, with failures until a time in
// seconds.
func (s *Settings) native(c Case, name string, until float64) (jobs []simulate.Job, set simulate.Settings, err error) {
	set = simulate.Settings{Rules: s.Rules, Cluster: c.Cluster, Unvalued: policy.Gang(name)}
	set.Interval = cmp.Or(s.Interval, policy.Round(name))
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
	if s.RestartSeconds > 0 {
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
	if s.Profiles == nil || s.Semantics != Native {
		return s.Semantics == Pollux
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
		if err := j.InSeconds(); err != nil {
			return nil, err
		}
		w := max(1, j.Workers)
		if j.WorkersMin > 0 && j.WorkersMin < w || j.WorkersMax > w {
			return nil, j.Bad("", fmt.Sprintf("%d to %d workers", j.WorkersMin, j.WorkersMax), "profiles of its application: a duration does not say how fast it is on other sizes")
		}
		key := fmt.Sprint(w, " ", j.GPUType, " ", j.Application)
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
